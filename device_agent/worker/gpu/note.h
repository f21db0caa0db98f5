#pragma once
// Owns: what a runner tells its supervisor. Does not know: either.

#include <cstdint>

#include "device_agent/worker/sandbox/job.h"

namespace tf::worker::gpu_worker {

enum class NoteKind : uint32_t {
  kOpen = 1,        // the device is open: jobs may come
  kCannotOpen = 2,  // `detail` says why; the runner ends
  kPrepared = 3,    // it waits for its turn, which is one byte
  kDone = 4,        // the result says how the job ended
};

// One datagram.
struct Note {
  NoteKind kind;
  uint32_t is_lost;  // of kDone: the device is of no use to this process any more, which ends
  char detail[sandbox::kDetailChars];
};

// A runner's arguments, and the descriptor on which it is told and tells.
constexpr char kRunnerFlag[] = "--runner";
constexpr int kRunnerSocket = 3;

}  // namespace tf::worker::gpu_worker
