#pragma once
// Owns: the process that has the device open and runs one job after another on it. It is started anew for that, never forked from
// a process with an open device: drivers do not survive a fork. Does not know: deadlines, other runners.

namespace tf::worker::gpu_worker {

// Opens the device ("opencl:0"), then serves what comes on `socket` until that closes, or the device is lost. The exit code.
int serve_runner(int socket, const char* device);

}  // namespace tf::worker::gpu_worker
