#pragma once
// Owns: the caller's side of a running tuner's jobs. Does not know: what is printed.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "database/record.h"
#include "proto/tune/v1/tune.pb.h"
#include "tuner/service/jobs/job_spec.h"

namespace tf::rpc {
class Credentials;
}

namespace tf::service {

// A job as its tuner tells of it.
using tunefarm::tune::v1::JobUpdate;
inline database::JobState state_of(const JobUpdate& job) {
  return static_cast<database::JobState>(job.state());  // the numbers are the same
}

// What a caller does about a tuner that is busy with other uploads.
struct BusyWait {
  absl::Duration longest;  // until the submission is given up; zero: at once
  // Called once, when the wait begins, with what the tuner said.
  std::function<void(const absl::Status&)> begins = nullptr;
};

// Thread-safe.
class JobClient {
 public:
  virtual ~JobClient() = default;
  // Sends the model's bytes; the job's id once both are durable at the tuner. UNAVAILABLE: no tuner answers,
  // it has no tracker, or it was busy for longer than `wait` allows. A submission that may have arrived is
  // not repeated.
  virtual absl::StatusOr<int64_t> submit(const JobSpec& spec, std::string_view model,
                                         const BusyWait& wait) = 0;
  absl::StatusOr<int64_t> submit(const JobSpec& spec, std::string_view model) {
    return submit(spec, model, {});
  }
  virtual absl::StatusOr<std::vector<JobUpdate>> list() = 0;
  // Whether a tuner answers, and this caller.
  virtual absl::Status check_answers() = 0;
  // Calls `see` with the job as it is and with each change until it is final; the last of them. Goes on after a
  // restart of the tuner: UNAVAILABLE only when none has answered for `grace_period`. `away` is called once
  // each time that none has for two seconds; when one does again, `see` is. CANCELLED when `see` returns
  // false.
  virtual absl::StatusOr<JobUpdate> watch(int64_t id, absl::Duration grace_period,
                                          const std::function<bool(const JobUpdate&)>& see,
                                          const std::function<void()>& away = nullptr) = 0;
  virtual absl::StatusOr<JobUpdate> cancel(int64_t id) = 0;
  virtual absl::StatusOr<JobUpdate> pause(int64_t id) = 0;
  virtual absl::StatusOr<JobUpdate> resume(int64_t id) = 0;
};

// Connects at the first call. `submitter` is whose jobs are submitted, as a plain-text tuner is told; a
// secured one knows. INVALID_ARGUMENT: no endpoint, or plain text beyond loopback.
absl::StatusOr<std::unique_ptr<JobClient>> make_job_client(
    const std::string& host_port, const std::shared_ptr<rpc::Credentials>& credentials = nullptr,
    const std::string& submitter = "");

}  // namespace tf::service
