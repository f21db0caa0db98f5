#include "tuner/measure/counted_runner.h"

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"
#include "proto/farm/v1/trial.pb.h"
#include "rpc/clock.h"

namespace tf::measure {

namespace pb = tunefarm::farm::v1;

std::vector<rpc::MetricFamily> TrialTally::families() const {
  std::vector<rpc::MetricFamily> families =
      trials_.families("tunefarm_tuner_trial", "trials (from sending to the reply)");
  families.push_back(rpc::counter("tunefarm_tuner_results_durable_total", "results stored in the database",
                                  static_cast<double>(durable_.load())));
  return families;
}

absl::StatusOr<pb::TrialResult> CountedRunner::run(const MeasureRequest& request) {
  const rpc::Instant began = rpc::real_clock().now();
  tally_.trials_.begin();
  absl::StatusOr<pb::TrialResult> result = runner_.run(request);
  const std::string outcome =
      result.ok() ? absl::AsciiStrToLower(absl::StripPrefix(pb::Outcome_Name(result->outcome()), "OUTCOME_"))
                  : "not_measured";
  tally_.trials_.end(outcome, rpc::real_clock().now() - began);
  return result;
}

void CountedRunner::acknowledge(const pb::TrialResult& result) {
  ++tally_.durable_;
  runner_.acknowledge(result);
}

absl::StatusOr<pb::DeviceState> CountedRunner::device() {
  return runner_.device();
}

}  // namespace tf::measure
