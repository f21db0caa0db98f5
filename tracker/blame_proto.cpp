#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/farm/v1/farm.pb.h"
#include "tracker/blame.h"

namespace tf::tracker {
namespace {

namespace pb = tunefarm::farm::v1;

}  // namespace

std::string convicted_reply(const Conviction& conviction, const std::string& candidate,
                            const std::string& lease_id, uint64_t epoch, uint64_t sequence) {
  pb::MeasureReply reply;
  reply.set_sequence(sequence);
  pb::TrialResult& result = *reply.mutable_result();
  result.set_outcome(conviction.end == TrialEnd::kTimedOut ? pb::OUTCOME_TIMED_OUT : pb::OUTCOME_CRASHED);
  result.set_signal(conviction.signal);
  result.set_artifact_digest(candidate);
  result.set_detail(absl::StrCat("blocked, not run: it failed on ",
                                 absl::StrJoin(conviction.devices, " and "),
                                 conviction.detail.empty() ? "" : "; the last failure: ", conviction.detail));
  result.set_lease_id(lease_id);
  result.set_epoch(epoch);
  result.set_sequence(sequence);
  return reply.SerializeAsString();
}

}  // namespace tf::tracker
