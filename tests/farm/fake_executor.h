#pragma once
// Owns: a TrialExecutor for tests of the farm: it runs nothing, answers from the candidate's bytes, and
// appends every run to a log file, so that a test can count what was run across processes.

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>

#include "base/digest.h"
#include "device_agent/agent/trials/executor.h"
#include "proto/farm/v1/trial.pb.h"

namespace tf::farm_test {

class FakeExecutor final : public agent::TrialExecutor {
 public:
  // Each trial takes so long. log_path: a line for each that has run, and in log_path.begun for each that has
  // begun; empty: no log.
  FakeExecutor(std::chrono::milliseconds duration, std::string log_path)
      : duration_(duration), log_path_(std::move(log_path)) {}

  absl::Status begin_lease(std::string_view) override { return absl::OkStatus(); }
  // Candidates that start with "bad:" cannot be measured, "refused:" are malformed, "garbled:" get a
  // result that is no valid message, "loud:" print 200,000 bytes, "endless:" run for a minute.
  absl::StatusOr<tunefarm::farm::v1::TrialResult> run(const tunefarm::farm::v1::Trial& trial,
                                                      std::string_view candidate, std::string_view reference,
                                                      std::stop_token end) override {
    ++begun_;
    log(".begun", trial.artifact_digest());
    if (!run_for(candidate.starts_with("endless:") ? std::chrono::minutes(1) : duration_, end)) {
      ++ended_;
      return absl::CancelledError("ended");
    }
    if (sha256(candidate).hex() != trial.artifact_digest())
      return absl::InternalError("wrong candidate bytes");
    if (!trial.reference_digest().empty() && sha256(reference).hex() != trial.reference_digest()) {
      return absl::InternalError("wrong reference bytes");
    }
    log("", trial.artifact_digest());
    if (candidate.starts_with("bad:")) return absl::ResourceExhaustedError("no memory for the worker");
    if (candidate.starts_with("refused:")) return absl::InvalidArgumentError("malformed");
    tunefarm::farm::v1::TrialResult result;
    result.set_outcome(tunefarm::farm::v1::OUTCOME_OK);
    result.set_artifact_digest(trial.artifact_digest());
    result.set_detail(std::string(candidate.substr(0, 64)));
    if (candidate.starts_with("garbled:")) result.set_printed("\xff");
    if (candidate.starts_with("loud:")) result.set_printed(std::string(200'000, 'p'));
    auto& sample = *result.add_samples();
    sample.set_total_ns(static_cast<int64_t>(candidate.size()) * 1000);
    sample.set_iterations(1);
    return result;
  }

  bool has_reference(std::string_view, uint64_t) const override { return false; }

  // So many runs have begun, and so many were ended before they came to their end.
  int begun() const { return begun_; }
  int ended() const { return ended_; }

 private:
  // False: `end` came first.
  static bool run_for(std::chrono::milliseconds duration, const std::stop_token& end) {
    std::mutex mutex;
    std::condition_variable_any ended;
    std::unique_lock lock(mutex);
    ended.wait_for(lock, end, duration, [] { return false; });
    return !end.stop_requested();
  }

  // One write of a short line with O_APPEND is atomic.
  void log(const std::string& suffix, const std::string& line) const {
    if (log_path_.empty()) return;
    const int fd = open((log_path_ + suffix).c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    const std::string text = line + "\n";
    if (write(fd, text.data(), text.size()) < 0) _exit(1);
    close(fd);
  }

  const std::chrono::milliseconds duration_;
  const std::string log_path_;
  std::atomic<int> begun_ = 0, ended_ = 0;
};

}  // namespace tf::farm_test
