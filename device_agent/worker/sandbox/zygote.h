#pragma once
// Owns: the process that forks a child for each request, watches its time, and cleans up its whole process
// tree. Does not know: what children do (harness.h). Single-threaded, so that fork is safe, and small, so
// that it is quick.

namespace tf::worker::sandbox {

// Takes a Setup from `socket` (SOCK_SEQPACKET), enters the sandbox, tries whether it holds, and says so in a
// Hello; ends if it does not. Then serves requests (a Request with descriptors in, a Reply out), one after
// another, until the socket's other end closes; then kills what still runs. Returns the exit code.
int serve_zygote(int socket);

}  // namespace tf::worker::sandbox
