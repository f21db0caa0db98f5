#pragma once
// Owns: what the tuner needs from a place that measures candidates. Implementations: LocalRunner (this
// machine), FarmRunner (devices behind a tracker). Does not know: search, schedules, or how an artifact is
// built.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace tunefarm::farm::v1 {
class Trial;
class TrialResult;
class DeviceState;
}  // namespace tunefarm::farm::v1

namespace tf::measure {

// A serialized kernel.v1.Artifact and its content address. The bytes are shared: one reference serves many
// requests.
struct ArtifactBytes {
  std::string digest;  // SHA-256 of *bytes, hexadecimal
  std::shared_ptr<const std::string> bytes;
};

// The artifact with its digest computed.
ArtifactBytes make_artifact_bytes(std::string serialized);

struct MeasureRequest {
  ArtifactBytes candidate;
  ArtifactBytes reference;  // digest empty: answers are not checked
  // Seed, threads, options and limits; its digests are filled in from the two artifacts above by the runner.
  const tunefarm::farm::v1::Trial* trial = nullptr;  // borrowed until run() returns, never null
  // Requests of one bench are measured on one device, where there are several, so that they compare closely;
  // on another one once that is gone. 0: on any device.
  uint64_t bench = 0;
};

// Whether trying the same again may help: the candidate is as good as before, the way to the device was not.
bool may_retry(const absl::Status& status);

// Of results that are not acknowledged, a place that measures keeps so many at least before it measures no
// more.
inline constexpr size_t kMostUnacknowledged = 256;

// Thread-safe. run() blocks; to keep N slots busy, call it from N threads (a few more hide a farm's latency).
class Runner {
 public:
  virtual ~Runner() = default;

  // Measures one candidate. A TrialResult is a property of the candidate, to be recorded, whatever its
  // outcome. A status means "could not measure": UNAVAILABLE, DEADLINE_EXCEEDED, ABORTED and
  // RESOURCE_EXHAUSTED may be retried, CANCELLED after cancel(), any other code will not get
  // better.
  virtual absl::StatusOr<tunefarm::farm::v1::TrialResult> run(const MeasureRequest& request) = 0;

  // The result of an earlier run() is durable: the farm may forget it now. Until then it is kept, and sent
  // again after a lost connection. Every result must be acknowledged in the end, and before
  // kMostUnacknowledged wait for it: beyond them the farm gives this runner no more. Twice is as good as
  // once. Decorators pass this on.
  virtual void acknowledge(const tunefarm::farm::v1::TrialResult& /*result*/) {}

  // How many run() calls make progress at the same time; at least 1. May change as devices come and go.
  virtual int slots() const = 0;

  // A device that serves this runner, as it is now; for records' keys and for people. Blocks until one is
  // known.
  virtual absl::StatusOr<tunefarm::farm::v1::DeviceState> device() = 0;

  // Highest fp32 FMA rate of one thread of that device, or of a whole GPU, in GFLOP/s; 0 if it is not known.
  virtual double peak_gflops() { return 0; }
  // Of a GPU: its multiprocessors; 0 if they are not known.
  virtual uint32_t gpu_units() { return 0; }

  // Makes running and later run() calls return CANCELLED soon. For the second Ctrl-C.
  virtual void cancel() = 0;
};

}  // namespace tf::measure
