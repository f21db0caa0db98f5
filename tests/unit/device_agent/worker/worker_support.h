#pragma once
// Owns: what tests of workers share.

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "device_agent/worker/worker.h"
#include "proto/farm/v1/trial.pb.h"
#include "tests/support/candidates/candidates.h"

namespace tf::worker {

// Options of tests that are not about the sandbox: they pass on a machine that lacks a part of it.
inline WorkerOptions anywhere(WorkerOptions options = {}) {
  options.sandbox.without_missing = true;
  return options;
}

// One worker, and trials of the product 17x31 of 13 in the code of its device.
class DeviceWorkerTest : public ::testing::Test {
 protected:
  void start(WorkerOptions options) {
    absl::StatusOr<std::unique_ptr<Worker>> started = Worker::start(anywhere(std::move(options)));
    ASSERT_TRUE(started.ok()) << started.status();
    worker_ = *std::move(started);
  }

  static tunefarm::kernel::v1::Artifact artifact_of(std::string target, tunefarm::kernel::v1::BlobKind kind,
                                                    std::string code) {
    return test::device_candidate({.target = std::move(target),
                                   .kind = kind,
                                   .code = std::move(code),
                                   .grid = {4, 17},
                                   .block = {8, 1}});
  }

  static tunefarm::farm::v1::Trial trial_of(const std::string& artifact,
                                            absl::Duration timeout = absl::Seconds(20)) {
    tunefarm::farm::v1::Trial trial = test::trial_of(artifact, reference());
    trial.mutable_limits()->set_run_timeout_ns(absl::ToInt64Nanoseconds(timeout));
    trial.mutable_limits()->set_memory_bytes(uint64_t{1} << 30);
    return trial;
  }
  static std::string reference() { return test::serialized(test::candidate("reference")); }

  tunefarm::farm::v1::TrialResult run(const std::string& artifact,
                                      absl::Duration timeout = absl::Seconds(20)) {
    absl::StatusOr<tunefarm::farm::v1::TrialResult> result =
        worker_->run(trial_of(artifact, timeout), artifact, reference());
    EXPECT_TRUE(result.ok()) << result.status();
    return result.value_or(tunefarm::farm::v1::TrialResult());
  }

  std::unique_ptr<Worker> worker_;
};

}  // namespace tf::worker

#define EXPECT_OUTCOME(result, expected)                                    \
  EXPECT_EQ(tunefarm::farm::v1::Outcome_Name((result).outcome()),           \
            tunefarm::farm::v1::Outcome_Name(tunefarm::farm::v1::expected)) \
      << (result).detail() << (result).printed()
