#include <spdlog/spdlog.h>

#include <atomic>
#include <deque>
#include <mutex>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/access/call_guard.h"
#include "rpc/clock.h"
#include "rpc/connection/call_pool.h"
#include "rpc/connection/peer_address.h"
#include "rpc/connection/protocol.h"
#include "rpc/connection/unary_call.h"
#include "rpc/transfer/artifact_store.h"
#include "rpc/transfer/transfer.h"
#include "rpc/transfer/transfer_budget.h"
#include "tracker/leases/clock_lead.h"
#include "tracker/leases/device_wire.h"
#include "tracker/service/duplex_stream.h"
#include "tracker/service/services.h"

namespace tf::tracker {
namespace {

namespace pb = tunefarm::farm::v1;

void to_proto(const DesiredSlot& desired, pb::DesiredSlot& message) {
  message.set_slot(desired.slot);
  message.set_golden_wanted(desired.golden_wanted);
  if (!desired.lease) return;
  message.mutable_lease()->set_lease_id(desired.lease->id.text);
  message.mutable_lease()->set_epoch(desired.lease->epoch);
  message.set_user(user_of(desired.lease->holder));
  message.set_remaining_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(desired.remaining)));
  for (const QueuedTrial& trial : desired.window) {
    pb::Assignment& assignment = *message.add_window();
    assignment.set_sequence(trial.sequence);
    assignment.mutable_trial()->ParseFromString(trial.trial);
  }
  message.mutable_acknowledged()->Add(desired.acknowledged.begin(), desired.acknowledged.end());
}

TrialEnd end_of(pb::FailureKind failure) {
  return failure == pb::FAILURE_KIND_DEVICE ? TrialEnd::kNotMeasured : TrialEnd::kOther;
}

TrialEnd end_of(pb::Outcome outcome) {
  switch (outcome) {
    case pb::OUTCOME_CRASHED:
      return TrialEnd::kCrashed;
    case pb::OUTCOME_TIMED_OUT:
      return TrialEnd::kTimedOut;
    case pb::OUTCOME_OK:
    case pb::OUTCOME_STOPPED_EARLY:
    case pb::OUTCOME_WRONG_OUTPUT:
    case pb::OUTCOME_OUT_OF_MEMORY:
      return TrialEnd::kMeasured;
    default:
      return TrialEnd::kOther;
  }
}

TrialEnd end_of(const pb::MeasureReply& reply) {
  return reply.has_failure() ? end_of(reply.failure().kind()) : end_of(reply.result().outcome());
}

LeaseOutcome from_proto(const pb::TrialOutcome& message) {
  return {.lease = {message.lease_id()},
          .outcome = {.candidate = message.candidate_digest(),
                      .user = "",
                      .end = message.has_failure() ? end_of(message.failure()) : end_of(message.outcome()),
                      .run_timeout = absl::Nanoseconds(message.run_timeout_ns()),
                      .signal = 0,
                      .detail = ""}};
}

DirectWork from_proto(const pb::DirectWork& message, const std::string& device_id) {
  return {.slot = {device_id, message.slot()},
          .lease = {message.lease().lease_id()},
          .epoch = message.lease().epoch(),
          .queued = message.queued(),
          .unacknowledged = message.unacknowledged(),
          .acknowledged = message.acknowledged(),
          .number = message.number()};
}

// They are kept, 64 a slot: so much of their texts, cut between characters, since half of one would make each
// reply that it stands in unreadable.
constexpr size_t kLongestSampleText = 64;
constexpr size_t kLongestDetail = 200;

GoldenSample from_proto(const pb::GoldenSample& message) {
  const pb::DeviceState& device = message.device();
  return {.slot = message.slot(),
          .kernel = printable(message.kernel(), kLongestSampleText),
          .time_ns = message.time_ns(),
          .spread = message.spread(),
          .temperature_c = device.temperature_c(),
          .clock_mhz = device.clock_mhz(),
          .governor = printable(device.governor(), kLongestSampleText),
          .load_1min = device.load_1min(),
          .throttled = device.throttled(),
          .taken_at = rpc::real_clock().now() - absl::Milliseconds(message.age_ms()),
          .detail = printable(message.detail(), kLongestDetail)};
}

class SynchronizeStream final : public DuplexStream<pb::AgentMessage, pb::TrackerMessage> {
 public:
  // `agent`: who calls; nothing on plain text. `address`: from where.
  SynchronizeStream(Farm& farm, std::optional<rpc::Identity> agent, std::string address)
      : farm_(farm), agent_(std::move(agent)), address_(std::move(address)) {}

 private:
  absl::Status received(const pb::AgentMessage& message) override {
    if (message.has_hello() != (session_ == 0)) {
      return absl::InvalidArgumentError("a Synchronize stream begins with one hello and has no other");
    }
    if (hear_clock(message) && session_ != 0) farm_.tell_again(session_);
    if (message.has_hello()) return greet(message.hello());
    if (!message.has_pong()) return report(message.report());
    farm_.pong(session_, message.pong().number());
    return absl::OkStatus();
  }

  // True: what the agent was told looked older to it than it was.
  bool hear_clock(const pb::AgentMessage& message) {
    if (message.clock_ns() == 0) return false;
    const std::scoped_lock lock(lead_mutex_);
    return agent_lead_.hear(absl::Nanoseconds(message.clock_ns()), rpc::real_clock().now());
  }

  // What the agent's clock showed then, at the least; 0: not known.
  int64_t agent_clock_ns(rpc::Instant then) {
    const std::scoped_lock lock(lead_mutex_);
    const std::optional<absl::Duration> lead = agent_lead_.at_least(then);
    return lead ? absl::ToInt64Nanoseconds(then + *lead) : 0;
  }

  absl::Status greet(const pb::AgentHello& hello) {
    const absl::Status version = rpc::check_protocol("the agent", hello.protocol_version(), "this tracker");
    if (!version.ok()) {
      spdlog::warn(absl::StrCat("agent ", printable(hello.agent_id()), " was refused: ", version.message()));
      return version;
    }
    absl::StatusOr<DeviceInfo> device = device_from_proto(hello);
    if (!device.ok()) return device.status();
    if (agent_) {
      const absl::Status may = rpc::check_may_serve(*agent_, device->id);
      if (!may.ok()) return may;
    }
    absl::StatusOr<Farm::SessionId> session =
        farm_.attach(*device, hello.agent_run(), shared_from_this(), address_);
    if (!session.ok()) return session.status();
    device_id_ = device->id;
    session_ = *session;
    return absl::OkStatus();
  }

  absl::Status report(const pb::AgentReport& report) {
    std::vector<AgentReply> replies;
    for (const pb::SlotReply& reply : report.replies()) {
      replies.push_back({.slot = {device_id_, reply.slot()},
                         .lease = {reply.lease().lease_id()},
                         .epoch = reply.lease().epoch(),
                         .sequence = reply.reply().sequence(),
                         .reply = reply.reply().SerializeAsString(),
                         .end = end_of(reply.reply()),
                         .signal = reply.reply().result().signal(),
                         .detail = reply.reply().result().detail()});
    }
    if (!report.outcomes().empty()) {
      std::vector<LeaseOutcome> outcomes;
      for (const pb::TrialOutcome& outcome : report.outcomes()) outcomes.push_back(from_proto(outcome));
      farm_.report_outcomes(session_, outcomes);
    }
    if (!report.direct().empty()) {
      std::vector<DirectWork> work;
      for (const pb::DirectWork& slot : report.direct()) work.push_back(from_proto(slot, device_id_));
      farm_.report_direct(session_, work);
    }
    if (!report.golden().empty()) {
      std::vector<GoldenSample> samples;
      for (const pb::GoldenSample& sample : report.golden()) samples.push_back(from_proto(sample));
      farm_.report_golden(session_, samples);
    }
    farm_.report(session_, replies, report.stopping());
    return absl::OkStatus();
  }

  bool next(pb::TrackerMessage& message) override {
    if (session_ == 0) return false;
    if (!greeted_) {
      if (!farm_.is_attached(session_)) return false;  // another agent has its device
      greeted_ = true;
      message.mutable_hello()->set_protocol_version(rpc::kProtocolVersion);
      return true;
    }
    if (const std::optional<uint64_t> ping = farm_.take_ping(session_)) {
      message.mutable_ping()->set_number(*ping);
      return true;
    }
    // Before what it dates, so that a lease may look shorter than it is, never longer. By what the agent's
    // clock is known to show afterwards: what is told again is told by that.
    const rpc::Instant then = rpc::real_clock().now();
    const std::vector<DesiredSlot> desired = farm_.take_desired(session_);
    if (desired.empty()) return false;
    message.mutable_desired()->set_agent_clock_ns(agent_clock_ns(then));
    for (const DesiredSlot& slot : desired) to_proto(slot, *message.mutable_desired()->add_slots());
    return true;
  }

  void ended() override { farm_.detach(session_); }

  Farm& farm_;
  const std::optional<rpc::Identity> agent_;
  const std::string address_;
  std::string device_id_;
  // Written by received(), read by next(): two threads when the farm wakes the stream right after attach.
  std::atomic<Farm::SessionId> session_ = 0;
  std::mutex lead_mutex_;  // as session_
  ClockLead agent_lead_;
  bool greeted_ = false;
};

// Sends one stored artifact in chunks.
class FetchStream final : public grpc::ServerWriteReactor<pb::ArtifactChunk> {
 public:
  // `name`: the digest in hexadecimal.
  FetchStream(grpc::CallbackServerContext& context, std::string name, rpc::ArtifactStore& artifacts,
              rpc::CallPool& transfers)
      : context_(context),
        artifacts_(artifacts),
        transfer_(artifacts.transfers().begin([this] { context_.TryCancel(); })),
        name_(std::move(name)) {
    const absl::Status taken = transfers.run([this] {
      const absl::Status loaded = load();
      if (loaded.ok()) {
        write_next();
      } else {
        finish(loaded);
      }
    });
    if (!taken.ok()) finish(taken);
  }

 private:
  absl::Status load() {
    // Whoever waited for too long asks again, and on a slow disk all would: those who are there still are
    // served.
    if (context_.IsCancelled()) return absl::CancelledError("its caller disconnected");
    TF_ASSIGN_OR_RETURN(const Digest digest, Digest::from_hex(name_));
    const std::optional<rpc::Identity> caller = rpc::caller(context_);
    TF_RETURN_IF_ERROR(transfer_.take(artifacts_.size_of(digest).value_or(0), caller ? caller->name : ""));
    TF_ASSIGN_OR_RETURN(bytes_, artifacts_.get(digest));
    rpc::send_chunks(digest, bytes_, [this](const rpc::Chunk& chunk) {
      chunks_.push_back(chunk);
      if (!chunk.digest.empty()) chunks_.back().digest = name_;  // which lives as long
      return true;
    });
    return absl::OkStatus();
  }

  void write_next() {
    if (chunks_.empty()) return finish(absl::OkStatus());
    const rpc::Chunk chunk = chunks_.front();
    chunks_.pop_front();
    message_.Clear();
    message_.set_digest(std::string(chunk.digest));
    message_.set_size_bytes(chunk.size_bytes);
    message_.set_content(chunk.content.data(), chunk.content.size());
    transfer_.wait();
    StartWrite(&message_);
  }

  // The end of what was written may still wait for its reader.
  void finish(const absl::Status& status) {
    transfer_.wait();
    Finish(rpc::to_grpc(status));
  }

  void OnWriteDone(bool ok) override {
    if (!ok) return finish(absl::CancelledError("its reader disconnected or stopped reading"));
    if (const absl::Status moved = transfer_.moved(message_.content().size()); !moved.ok()) {
      context_.TryCancel();  // or what is written already would hold all for as long again
      return finish(moved);
    }
    write_next();
  }

  void OnDone() override { delete this; }

  grpc::CallbackServerContext& context_;
  rpc::ArtifactStore& artifacts_;
  rpc::TransferBudget::Transfer transfer_;
  const std::string name_;
  std::string bytes_;
  std::deque<rpc::Chunk> chunks_;
  pb::ArtifactChunk message_;
};

class AgentService final : public pb::Agents::CallbackService {
 public:
  AgentService(Farm& farm, rpc::ArtifactStore& artifacts, rpc::CallPool& transfers)
      : farm_(farm), artifacts_(artifacts), transfers_(transfers) {}

  grpc::ServerBidiReactor<pb::AgentMessage, pb::TrackerMessage>* Synchronize(
      grpc::CallbackServerContext* context) override {
    return std::make_shared<SynchronizeStream>(farm_, rpc::caller(*context),
                                               rpc::peer_address(context->peer()))
        ->begin(artifacts_.transfers());
  }

  grpc::ServerWriteReactor<pb::ArtifactChunk>* FetchArtifact(
      grpc::CallbackServerContext* context, const pb::FetchArtifactRequest* request) override {
    return new FetchStream(*context, request->digest(), artifacts_, transfers_);
  }

  grpc::ServerUnaryReactor* Describe(grpc::CallbackServerContext* context, const pb::DescribeRequest*,
                                     pb::Description* reply) override {
    reply->set_protocol_version(rpc::kProtocolVersion);
    reply->set_unix_time_ns(absl::ToUnixNanos(absl::Now()));
    return rpc::finished(context, absl::OkStatus());
  }

 private:
  Farm& farm_;
  rpc::ArtifactStore& artifacts_;
  rpc::CallPool& transfers_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_agent_service(Farm& farm, rpc::ArtifactStore& artifacts,
                                                  rpc::CallPool& transfers) {
  return std::make_unique<AgentService>(farm, artifacts, transfers);
}

}  // namespace tf::tracker
