#pragma once
// Owns: the process that forks a child for each request, enforces its deadline, and cleans up its whole
// process tree. Does not know: what children do (harness.h). It has a single thread, so that fork is safe,
// and is small, so that fork is fast.

namespace tf::worker::sandbox {

// Receives a Setup from `socket` (SOCK_SEQPACKET), enters the sandbox, tests whether it works, and reports
// that in a Hello; exits if it does not work. Then serves requests (a Request with descriptors in, a Reply
// out), one after another, until the other end of the socket closes. Then kills running children. Returns the
// exit code.
int serve_zygote(int socket);

}  // namespace tf::worker::sandbox
