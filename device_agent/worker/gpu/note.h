#pragma once
// Owns: the messages from a runner to its supervisor. Does not know: either of them.

#include <cstdint>

#include "device_agent/worker/sandbox/job.h"

namespace tf::worker::gpu_worker {

enum class NoteKind : uint32_t {
  kOpen = 1,        // the device is open, and the runner accepts jobs
  kCannotOpen = 2,  // `detail` says why; the runner exits
  kPrepared = 3,    // the job waits for its turn, which one byte announces
  kDone = 4,        // the result says how the job ended
};

// One datagram.
struct Note {
  NoteKind kind;
  uint32_t is_lost;  // for kDone: the process cannot use the device any more and exits
  char detail[sandbox::kDetailChars];
};

// A runner's command-line flag, and the descriptor of its socket to the supervisor.
constexpr char kRunnerFlag[] = "--runner";
constexpr int kRunnerSocket = 3;

}  // namespace tf::worker::gpu_worker
