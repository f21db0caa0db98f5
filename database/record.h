#pragma once
// Owns: what the database keeps, as plain values: workloads, measurements, attempts, jobs. All texts
// (workload, binding, layouts, target, schedule) are the canonical forms of the modules that own them; here
// they are only compared for equality. Does not know: SQL, gRPC, protobuf, what a schedule means.

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/digest.h"
#include "compiler/tensor/kernel_key.h"

namespace tf::database {

struct Workload {
  std::string text;  // canonical
  std::string op;    // label for people: "conv2d+bias+relu"
  double flops = 0;  // of the computation under the binding it was first seen with; for display
  Digest key() const { return sha256(text); }  // the computation's key everywhere
};

enum class Outcome : uint8_t {
  kOk = 1,
  kStoppedEarly,  // samples are a lower bound; never best
  kCompileError,
  kWrongOutput,
  kImplausible,
  kCrashed,
  kTimedOut,
  kOutOfMemory,
};
// Neither a time nor a bound came of it.
bool is_failure(Outcome outcome);
std::string_view outcome_name(Outcome outcome);  // "ok", "stopped_early", …
absl::StatusOr<Outcome> outcome_from_name(std::string_view name);

// Where a kernel found its operands while it was timed.
enum class CacheMode : uint8_t { kUnknown = 0, kRotate, kWarm };
std::string_view cache_mode_name(CacheMode mode);
absl::StatusOr<CacheMode> cache_mode_from_name(std::string_view name);

struct Sample {
  int64_t total_ns = 0;
  uint32_t iterations = 1;
  bool operator==(const Sample&) const = default;
};

// Of each sample of at least one iteration, the time of one run.
std::vector<double> runs_ns(const std::vector<Sample>& samples);
// Median over the samples of total_ns / iterations (the mean of the middle two for an even count); nothing
// without a sample of at least one iteration.
std::optional<double> median_ns(const std::vector<Sample>& samples);

// 95% bounds of the median, as base/statistics/race.h estimates them.
struct Interval {
  double low_ns = 0, high_ns = 0;
  bool operator==(const Interval&) const = default;
};
std::optional<Interval> interval_ns(const std::vector<Sample>& samples);

// How a measurement stands beside those that were timed in turns with it: by the ratios of times of one
// round, because what the machine does meanwhile is the same for all.
struct Interleaved {
  int64_t began_unix_ns = 0;  // which ones they were, among those of its problem
  double ns = 0;              // one run's time, on one scale for all of them
  // On that scale, 95% bounds of the ratio to the time of the fastest of them, whose own bounds are its time.
  Interval interval_ns;
  bool operator==(const Interleaved&) const = default;
};

// What the device was like while it measured; 0 or empty where its OS does not tell.
struct DeviceState {
  std::string device_class;  // the farm's device key, or "local"
  std::string fingerprint;
  std::string model;
  double clock_mhz = 0;
  double temperature_c = 0;
  bool throttled = false;
  std::string governor;
  double load_1min = 0;
  bool operator==(const DeviceState&) const = default;
};

// Where a farm result came from. (lease_id, epoch, sequence) is unique: sending a result again changes
// nothing. `slot` is what the lease fences: a result whose epoch is below the highest seen of its slot is
// refused.
struct LeaseStamp {
  std::string slot;  // empty: no fence is checked
  std::string lease_id;
  uint64_t epoch = 0;
  uint64_t sequence = 0;
  bool operator==(const LeaseStamp&) const = default;
};

struct Measurement {
  int64_t id = 0;  // row in this database, in order of insertion; 0 before it is inserted
  tensor::KernelKey problem;
  std::string schedule;  // canonical text
  uint32_t semantics_version = 0;
  std::string sketch_hash;
  std::vector<int64_t> choices;
  std::vector<std::string> numerics;  // what beyond reassociation it used, sorted: "bf16", "winograd", …
  bool untuned = false;               // it is the schedule of a build without tuning, as of who measured it
  Outcome outcome = Outcome::kOk;
  std::string detail;  // one line for people
  std::vector<Sample> samples;
  CacheMode cache_mode = CacheMode::kUnknown;
  double max_error = 0;
  DeviceState device;
  std::string artifact_digest;
  std::string code_digest;  // equal digests are equal programs
  std::optional<LeaseStamp> lease;
  std::optional<Interleaved> interleaved;  // the samples are then those of all its rounds
  // These two belong to one database: they are neither exported nor part of the digest.
  int64_t job_id = 0;  // 0: none
  // Of an imported record: the last row of this database that was measured before it, 0 if there is none. The
  // store sets it. Nothing: this database's own tuner measured the record. See which_count.h.
  std::optional<int64_t> imported_after = std::nullopt;
  int64_t finished_unix_ns = 0;
  // The time of one run, by which records are ranked: as the interleaved trials tell, or else the median of
  // its samples.
  std::optional<double> median_ns() const;
  std::optional<Interval> interval_ns() const;  // its bounds, as wide as those of the samples
};

// Whether they were interleaved with each other.
bool met(const Measurement& one, const Measurement& other);
// By the ratios of their interleaved trials, if they met, or else by the 95% bounds of both.
bool is_surely_faster(const Measurement& one, const Measurement& other);

// Whether a record can be what it says: a store takes no other, and what reads records from a file, which
// anybody may have written, asks first. INVALID_ARGUMENT with what is wrong. What a schedule says is not
// read.
absl::Status check(const Measurement& measurement);

// Whether an imported record's time is possible: a core can be that fast, and the record is not dated in the
// future. What a device itself reports is kept as it is. INVALID_ARGUMENT with what is wrong.
absl::Status check_time(const Measurement& measurement, absl::Time now);

// Whether a record of that date is later than `now` by more than clocks of different machines differ (5 min).
bool is_in_future(int64_t unix_ns, absl::Time now);

// Names one record independently of the database that holds it (tuning.lock): SHA-256 of its canonical JSON
// line, that is of everything but `id`, `job_id` and `imported_after`.
Digest record_digest(const Measurement& measurement);

// What the network comparison said of a network, and what its builds take from then on.
struct NetworkVerdict {
  Digest key;  // of the network, the three below and the numerics (compiler/records/plan.h)
  std::string device_class, target;
  uint32_t threads = 1;
  enum class Takes : uint8_t { kFastest = 1, kUntuned };  // of each kernel, the schedule
  Takes takes = Takes::kUntuned;
  std::string name;                   // of the network's file, for people
  std::string why;                    // one line for people
  std::vector<std::string> numerics;  // that were allowed, sorted
  std::set<Digest> kernels;           // of the builds that were compared
  int64_t decided_unix_ns = 0;
  bool operator==(const NetworkVerdict&) const = default;
};
std::string_view takes_name(NetworkVerdict::Takes takes);  // "fastest", "untuned"

// "Could not measure": the candidate's worth stays unknown and it is tried again. Never a measurement.
struct Attempt {
  tensor::KernelKey problem;
  std::string schedule;
  std::string artifact_digest;
  std::string status_code;  // "UNAVAILABLE", "DEADLINE_EXCEEDED", …
  std::string detail;
  std::string lease_id;
  uint64_t epoch = 0;
  int64_t job_id = 0;
  int64_t time_unix_ns = 0;
};

// queued → running → done | failed | cancelled; running ↔ paused; running → queued when its process died.
enum class JobState : uint8_t { kQueued = 1, kRunning, kPaused, kDone, kFailed, kCancelled };
std::string_view job_state_name(JobState state);  // "queued", …
// Done, failed and cancelled jobs stay so; how far one came may be told later.
bool is_final(JobState state);

struct Job {
  int64_t id = 0;            // given by the store
  std::string model_name;    // for people: the file's name
  std::string model_digest;  // SHA-256 of the model's bytes, hexadecimal
  std::string model_path;    // where the bytes are kept, until the job is over
  std::string target;
  std::string device;     // device key it asks for; empty: embedded
  std::string submitter;  // who asked; empty: not known
  std::string options;    // whatever the submitter needs to start it again, as JSON
  JobState state = JobState::kQueued;
  std::string detail;       // why it failed, or how far it came; one line
  int32_t status_code = 0;  // of a failed job: its absl::StatusCode
  int64_t created_unix_ns = 0;
  int64_t started_unix_ns = 0;
  int64_t finished_unix_ns = 0;
};

// One tuning task of a job and what is needed to go on with it in another process.
struct JobTask {
  int64_t job_id = 0;
  int32_t index = 0;  // order in the job; with job_id the key
  tensor::KernelKey problem;
  std::string label;
  double weight = 1;  // occurrences in the network
  int64_t trials = 0;
  double best_ns = 0;  // 0: nothing ok yet
  std::string state;   // opaque to the database
};

// Whether a core can reach so many operations or bytes a second, of whatever kind it is: what says otherwise
// was made up, or is damaged.
bool is_rate(double per_s);

}  // namespace tf::database
