#include "tracker/health/blocklist_wire.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/farm/v1/farm.pb.h"

namespace tf::tracker {
namespace {

namespace pb = tunefarm::farm::v1;

}  // namespace

std::string blocked_reply(const BlockedCandidate& blocked_candidate, const std::string& candidate,
                          const std::string& lease_id, uint64_t epoch, uint64_t sequence) {
  pb::MeasureReply reply;
  reply.set_sequence(sequence);
  pb::TrialResult& result = *reply.mutable_result();
  result.set_outcome(blocked_candidate.end == TrialEnd::kTimedOut ? pb::OUTCOME_TIMED_OUT
                                                                  : pb::OUTCOME_CRASHED);
  result.set_signal(blocked_candidate.signal);
  result.set_artifact_digest(candidate);
  result.set_detail(
      absl::StrCat("blocked, not run: it failed on ", absl::StrJoin(blocked_candidate.devices, " and "),
                   blocked_candidate.detail.empty() ? "" : "; the last failure: ", blocked_candidate.detail));
  result.set_lease_id(lease_id);
  result.set_epoch(epoch);
  result.set_sequence(sequence);
  return reply.SerializeAsString();
}

}  // namespace tf::tracker
