#include "device_agent/agent/trials/counted_executor.h"

#include <spdlog/spdlog.h>

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "proto/farm/v1/trial.pb.h"
#include "rpc/clock.h"

namespace tf::agent {

namespace pb = tunefarm::farm::v1;

absl::StatusOr<pb::TrialResult> CountedExecutor::run(const pb::Trial& trial, std::string_view candidate,
                                                     std::string_view reference, std::stop_token end) {
  const rpc::Instant began = rpc::real_clock().now();
  tally_.begin();
  absl::StatusOr<pb::TrialResult> result = executor_.run(trial, candidate, reference, end);
  const std::string outcome =
      result.ok() ? absl::AsciiStrToLower(absl::StripPrefix(pb::Outcome_Name(result->outcome()), "OUTCOME_"))
                  : "not_measured";
  tally_.end(outcome, rpc::real_clock().now() - began);
  log_trouble(result.status());
  return result;
}

// Once for each reason: a device that cannot run anything is asked again and again.
void CountedExecutor::log_trouble(const absl::Status& status) {
  const bool is_devices = !status.ok() && !absl::IsCancelled(status) && !absl::IsInvalidArgument(status) &&
                          !absl::IsFailedPrecondition(status);
  const std::string trouble = is_devices ? std::string(status.message()) : "";
  const std::scoped_lock lock(told_mutex_);
  if (!trouble.empty() && trouble != told_)
    spdlog::warn(absl::StrCat("this device could not run a kernel: ", trouble));
  told_ = trouble;
}

}  // namespace tf::agent
