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
  pb::MeasureReply known;
  const bool has_result = known.ParseFromString(conviction.reply) && known.has_result();
  pb::MeasureReply reply;
  reply.set_sequence(sequence);
  pb::TrialResult& result = *reply.mutable_result();
  if (has_result) result = known.result();
  // A candidate that takes whole devices down has never been answered.
  if (!has_result) {
    result.set_outcome(conviction.end == TrialEnd::kTimedOut ? pb::OUTCOME_TIMED_OUT : pb::OUTCOME_CRASHED);
  }
  result.set_artifact_digest(candidate);
  result.set_detail(absl::StrCat("not run: it failed on ", absl::StrJoin(conviction.devices, " and "),
                                 result.detail().empty() ? "" : ", at last: ", result.detail()));
  result.set_lease_id(lease_id);
  result.set_epoch(epoch);
  result.set_sequence(sequence);
  return reply.SerializeAsString();
}

}  // namespace tf::tracker
