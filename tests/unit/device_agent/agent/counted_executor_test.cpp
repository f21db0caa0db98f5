#include "device_agent/agent/trials/counted_executor.h"

#include <gtest/gtest.h>

#include "proto/farm/v1/trial.pb.h"
#include "tests/support/captured_log.h"

namespace tf::agent {
namespace {

class AnsweringExecutor final : public TrialExecutor {
 public:
  absl::Status begin_lease(std::string_view) override { return absl::OkStatus(); }
  absl::StatusOr<tunefarm::farm::v1::TrialResult> run(const tunefarm::farm::v1::Trial&, std::string_view,
                                                      std::string_view, std::stop_token) override {
    if (!answer.ok()) return answer;
    return tunefarm::farm::v1::TrialResult();
  }
  bool has_reference(std::string_view, uint64_t) const override { return false; }
  absl::Status answer;
};

TEST(CountedExecutor, LogsOnceWhyTheDeviceCouldRunNothing) {
  const CapturedLog log;
  AnsweringExecutor executor;
  rpc::WorkTally tally;
  CountedExecutor counted(executor, tally);
  const auto run = [&](absl::Status answer) {
    executor.answer = std::move(answer);
    (void)counted.run({}, "", "", {});
  };
  run(absl::InvalidArgumentError("malformed"));
  run(absl::CancelledError("its lease has ended"));
  EXPECT_EQ(log.text(), "") << "these say nothing of the device";
  for (int i = 0; i < 3; ++i) run(absl::InternalError("cannot make a pipe: Too many open files"));
  EXPECT_EQ(log.count("Too many open files"), 1) << log.text();
  run(absl::OkStatus());
  run(absl::InternalError("cannot make a pipe: Too many open files"));
  EXPECT_EQ(log.count("Too many open files"), 2) << "it had gone meanwhile";
}

}  // namespace
}  // namespace tf::agent
