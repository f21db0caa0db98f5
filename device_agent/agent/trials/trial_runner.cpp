#include "device_agent/agent/trials/trial_runner.h"

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "device_agent/agent/slots/exclusive_execution.h"
#include "device_agent/agent/trials/artifact_fetcher.h"
#include "device_agent/agent/trials/executor.h"
#include "proto/farm/v1/farm.pb.h"
#include "rpc/identity/artifact_signature.h"

namespace tf::agent {
namespace {

namespace pb = tunefarm::farm::v1;

// A reply that fits into no message would be told again in each session, before anything else is: nothing
// that a trial or an artifact says may make one.
constexpr size_t kLongestText = 4096;
constexpr size_t kMostReplyBytes = 1 << 20;

std::string failure(uint64_t sequence, pb::FailureKind kind, const absl::Status& why) {
  pb::MeasureReply reply;
  reply.set_sequence(sequence);
  reply.mutable_failure()->set_kind(kind);
  reply.mutable_failure()->set_message(printable(std::string(why.message()), kLongestText));
  return reply.SerializeAsString();
}

bool is_transient(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) || absl::IsCancelled(status);
}

pb::FailureKind kind_of_fetch(const absl::Status& status) {
  return absl::IsNotFound(status)          ? pb::FAILURE_KIND_ARTIFACT_MISSING
         : absl::IsInvalidArgument(status) ? pb::FAILURE_KIND_REFUSED
                                           : pb::FAILURE_KIND_DEVICE;
}

pb::FailureKind kind_of_run(const absl::Status& status) {
  const bool hopeless = absl::IsInvalidArgument(status) || absl::IsFailedPrecondition(status);
  return hopeless ? pb::FAILURE_KIND_REFUSED : pb::FAILURE_KIND_DEVICE;
}

absl::Status check_signatures(const pb::Trial& trial, rpc::ArtifactVerifier& verifier) {
  const pb::Signatures& signatures = trial.signatures();
  TF_RETURN_IF_ERROR(
      verifier.check(trial.artifact_digest(), signatures.artifact(), signatures.certificate()));
  if (trial.reference_digest().empty()) return absl::OkStatus();
  return verifier.check(trial.reference_digest(), signatures.reference(), signatures.certificate());
}

std::string success(const StartedTrial& started, pb::TrialResult result) {
  result.set_lease_id(started.lease.id);
  result.set_epoch(started.lease.epoch);
  result.set_sequence(started.trial.sequence);
  result.set_detail(printable(result.detail(), kLongestText));
  pb::MeasureReply reply;
  reply.set_sequence(started.trial.sequence);
  reply.mutable_result()->Swap(&result);
  std::string bytes = reply.SerializeAsString();
  if (bytes.size() > kMostReplyBytes) {
    return failure(started.trial.sequence, pb::FAILURE_KIND_DEVICE,
                   absl::InternalError(absl::StrCat("the trial's result takes ", bytes.size(),
                                                    " bytes; at most ", kMostReplyBytes, " are accepted")));
  }
  // What nobody can read would never be answered, and be sent again for ever: its holder hears of it instead.
  if (reply.ParseFromString(bytes)) return bytes;
  return failure(started.trial.sequence, pb::FAILURE_KIND_DEVICE,
                 absl::InternalError("the trial's result cannot be parsed"));
}

struct Artifacts {
  const std::string& candidate;
  const std::string& reference;
};

absl::StatusOr<pb::TrialResult> run(TrialExecutor& executor, const LeaseRef& lease, const pb::Trial& trial,
                                    const Artifacts& artifacts, const std::stop_token& end) {
  TF_RETURN_IF_ERROR(executor.begin_lease(lease.id));
  return executor.run(trial, artifacts.candidate, artifacts.reference, end);
}

}  // namespace

std::optional<std::string> measure(const StartedTrial& started, const TrialMeans& means,
                                   const std::stop_token& end) {
  const uint64_t sequence = started.trial.sequence;
  pb::Trial trial;
  if (!trial.ParseFromString(started.trial.trial)) {
    return failure(sequence, pb::FAILURE_KIND_REFUSED,
                   absl::InvalidArgumentError("the trial cannot be parsed"));
  }
  if (means.verifier) {
    const absl::Status trusted = check_signatures(trial, *means.verifier);
    if (!trusted.ok()) return failure(sequence, pb::FAILURE_KIND_REFUSED, trusted);
  }
  std::vector<rpc::ArtifactStore::Pin> pins;
  pin(started.trial, means.fetcher, pins);
  const absl::StatusOr<std::string> candidate = means.fetcher.get(trial.artifact_digest(), end);
  absl::StatusOr<std::string> reference = "";
  if (!trial.reference_digest().empty() &&
      !means.executor.has_reference(trial.reference_digest(), trial.input_seed())) {
    reference = means.fetcher.get(trial.reference_digest(), end);
  }
  for (const absl::Status& fetched : {candidate.status(), reference.status()}) {
    if (is_transient(fetched)) return std::nullopt;
    if (!fetched.ok()) return failure(sequence, kind_of_fetch(fetched), fetched);
  }
  if (!means.exclusive_execution.begin_trial(end)) return std::nullopt;
  absl::StatusOr<pb::TrialResult> result =
      run(means.executor, started.lease, trial, {*candidate, *reference}, end);
  means.exclusive_execution.end_trial();
  if (!result.ok() && end.stop_requested()) return std::nullopt;
  if (!result.ok()) return failure(sequence, kind_of_run(result.status()), result.status());
  return success(started, *std::move(result));
}

std::string outcome_of(const StartedTrial& started, const std::string& bytes) {
  pb::Trial trial;
  pb::MeasureReply reply;
  trial.ParseFromString(started.trial.trial);
  reply.ParseFromString(bytes);
  pb::TrialOutcome outcome;
  outcome.set_lease_id(started.lease.id);
  if (Digest::from_hex(trial.artifact_digest()).ok()) outcome.set_candidate_digest(trial.artifact_digest());
  outcome.set_run_timeout_ns(trial.limits().run_timeout_ns());
  if (reply.has_result()) {
    outcome.set_outcome(reply.result().outcome());
  } else {
    outcome.set_failure(reply.failure().kind());
  }
  return outcome.SerializeAsString();
}

void prefetch(const QueuedTrial& queued, ArtifactFetcher& fetcher, const std::stop_token& end) {
  pb::Trial trial;
  if (!trial.ParseFromString(queued.trial)) return;
  fetcher.prefetch(trial.artifact_digest(), end);
  if (!trial.reference_digest().empty()) fetcher.prefetch(trial.reference_digest(), end);
}

void pin(const QueuedTrial& queued, ArtifactFetcher& fetcher, std::vector<rpc::ArtifactStore::Pin>& pins) {
  pb::Trial trial;
  if (!trial.ParseFromString(queued.trial)) return;
  for (const std::string& name : {trial.artifact_digest(), trial.reference_digest()}) {
    const absl::StatusOr<Digest> digest = Digest::from_hex(name);
    if (digest.ok()) pins.push_back(fetcher.cache().pin(*digest));
  }
}

}  // namespace tf::agent
