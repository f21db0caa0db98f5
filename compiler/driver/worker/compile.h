#pragma once
// Owns: from the text of a workload and a schedule to an artifact (manifest, blobs, launch plan), in this
// process. Does not know: child processes, devices, the tuner. LLVM keeps process-wide state: only build
// workers and tests call this, from one thread; everybody else goes through build_pool.h.

namespace tunefarm::kernel::v1 {
class BuildReply;
class BuildRequest;
}  // namespace tunefarm::kernel::v1

namespace tf::driver {

// Answers a request of any kind. Every text of it is checked: errors are INVALID_ARGUMENT or FAILED_PRECONDITION (an illegal
// schedule), in the reply, with a line for people.
//
// A kernel is parsed, verified, bound, scheduled, lowered and compiled; the reply's phases are "parse", "lower", "emit",
// "optimize", "machine", "link". With `reference` set the schedule must be empty: the artifact computes the outputs and then
// their magnitudes, by plain loops over row-major buffers. A model is linked, and one kernel shown to people, as its loop IR or
// its assembly, without an artifact; LLVM runs only for assembly.
tunefarm::kernel::v1::BuildReply build(const tunefarm::kernel::v1::BuildRequest& request);

}  // namespace tf::driver
