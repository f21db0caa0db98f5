#pragma once
// Owns: the process that opens the device and runs jobs on it, one after another. It is always started as a
// new program, and never forked from a process with an open device, because drivers do not survive a fork.
// Does not know: deadlines, other runners.

namespace tf::worker::gpu_worker {

// Opens the device ("opencl:0"), then serves requests on `socket` until it closes or the device is lost.
// Returns the exit code.
int serve_runner(int socket, const char* device);

}  // namespace tf::worker::gpu_worker
