#pragma once
// Owns: receiving a request: one datagram with descriptors. Does not know: what happens with it.

#include "device_agent/worker/sandbox/job.h"

namespace tf::worker::sandbox {

struct Received {
  Request request;
  int fds[kMaxFds];
  uint32_t fd_count = 0;
};

// Waits for what comes next, and drops it if it is a Go: one for a child that has ended without it. False for a request, which
// is left, and at the end of the stream.
bool drops_go(int socket);
// The next request. False at the end of the stream.
bool receive(int socket, Received* received);
// Hands the same on to another process.
bool pass_on(int socket, const Received& received);
void close_all(const Received& received);

// All of a file; null if that is impossible.
void* map_whole(int fd, int protection);
uint64_t file_bytes(int fd);

}  // namespace tf::worker::sandbox
