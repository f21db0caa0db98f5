#include "tests/bench/farm/simulated_agent.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/backoff.h"
#include "rpc/connection/channel.h"
#include "rpc/connection/protocol.h"
#include "rpc/identity/credentials.h"
#include "tests/bench/farm/acknowledged.h"
#include "tests/bench/farm/artifact_calls.h"
#include "tests/bench/farm/stream.h"

namespace tf::farm_load {
namespace {

namespace pb = tunefarm::farm::v1;

}  // namespace

std::string board_name(int board) {
  return absl::StrCat("simulated-", board);
}

class SimulatedAgent::Impl {
 public:
  Impl(int number, const AgentPlan& plan, Alarms& alarms, Tally& tally)
      : plan_(plan),
        alarms_(alarms),
        tally_(tally),
        backoff_(rpc::backoff_seed()),
        random_(static_cast<uint64_t>(number)),
        channel_(rpc::make_channel(plan.tracker, plan.credentials, rpc::Role::kTracker)),
        stub_(pb::Agents::NewStub(channel_)) {
    hello_.set_protocol_version(rpc::kProtocolVersion);
    hello_.set_agent_id(absl::StrCat(board_name(number / kAgentsOfABoard), "/", number));
    hello_.set_agent_run(absl::StrCat("run-", rpc::backoff_seed()));
    hello_.set_device_key(plan.key);
    hello_.set_agent_version("simulated");
    hello_.mutable_facts()->set_fingerprint("simulated");
    hello_.mutable_facts()->set_arch("x86_64");
    hello_.mutable_facts()->set_memory_bytes(uint64_t{8} << 30);
    hello_.add_slots()->add_cpus(0);
  }

  void connect() {
    auto* session = new Session(*this);
    pb::AgentMessage first;
    {
      const std::scoped_lock lock(mutex_);
      hello_.mutable_slots(0)->set_highest_epoch(epoch_);
      *first.mutable_hello() = hello_;
      session_ = session;
    }
    // As the real agent, which waits for the channel before it begins a stream.
    session->context().set_wait_for_ready(true);
    stub_->async()->Synchronize(&session->context(), session);
    session->begin(std::move(first));
  }

  void drop_connection() {
    const std::scoped_lock lock(mutex_);
    if (session_) session_->context().TryCancel();
  }

 private:
  class Session final : public Stream<pb::AgentMessage, pb::TrackerMessage> {
   public:
    explicit Session(Impl& agent) : agent_(agent) {}
    bool greeted = false;

   private:
    void received(const pb::TrackerMessage& message) override {
      message.has_hello() ? agent_.welcome(*this) : agent_.apply(message.desired());
    }
    void ended(const grpc::Status& status) override { agent_.lost(*this, status); }
    Impl& agent_;
  };

  void welcome(Session& session) {
    session.greeted = true;
    ++tally_.connected;
    const std::scoped_lock lock(mutex_);
    backoff_.reset();
    for (const auto& [sequence, reply] : unacknowledged_) session.write(report(reply));
  }

  void lost(Session& session, const grpc::Status& status) {
    if (session.greeted) --tally_.connected;
    tally_.lost_connection(absl::StrCat("agent's stream: ", status.error_message()));
    const std::scoped_lock lock(mutex_);
    session_ = nullptr;
    alarms_.after(absl::ToChronoNanoseconds(backoff_.next()), [this] { connect(); });
  }

  void apply(const pb::DesiredState& state) {
    const std::scoped_lock lock(mutex_);
    for (const pb::DesiredSlot& slot : state.slots()) {
      if (slot.lease().lease_id() != lease_.lease_id()) {
        lease_ = slot.lease();
        epoch_ = std::max<uint64_t>(epoch_, lease_.epoch());
        unacknowledged_.clear();
        running_ = 0;
      }
      for (const uint64_t sequence : slot.acknowledged()) unacknowledged_.erase(sequence);
      queue_.clear();
      for (const pb::Assignment& assignment : slot.window()) {
        const uint64_t sequence = assignment.sequence();
        if (sequence != running_ && !unacknowledged_.contains(sequence))
          queue_[sequence] = assignment.trial().artifact_digest();
      }
    }
    start_next();
  }

  // Called with the lock held.
  void start_next() {
    if (running_ != 0 || queue_.empty()) return;
    const auto first = queue_.extract(queue_.begin());
    running_ = first.key();
    if (plan_.fetches && !fetched_.contains(first.mapped())) return fetch(running_, first.mapped());
    run(running_, first.mapped());
  }

  // Called with the lock held, as run().
  void fetch(uint64_t sequence, const std::string& digest) {
    farm_load::fetch(*stub_, digest,
                     [this, lease = lease_.lease_id(), sequence, digest](const absl::Status& fetched) {
                       if (!fetched.ok())
                         tally_.lost_connection("FetchArtifact: " + std::string(fetched.message()));
                       const std::scoped_lock lock(mutex_);
                       if (fetched.ok() && fetched_.insert(digest).second) ++tally_.fetches;
                       if (lease != lease_.lease_id() || running_ != sequence) return;
                       if (fetched.ok()) return run(sequence, digest);
                       alarms_.after(kTryAgain, [this, lease, sequence, digest] {
                         const std::scoped_lock again(mutex_);
                         if (lease == lease_.lease_id() && running_ == sequence) fetch(sequence, digest);
                       });
                     });
  }

  void run(uint64_t sequence, const std::string& digest) {
    const auto took = plan_.trial * std::uniform_real_distribution(0.8, 1.2)(random_);
    alarms_.after(std::chrono::duration_cast<std::chrono::nanoseconds>(took),
                  [this, lease = lease_.lease_id(), sequence, digest] { finish(lease, sequence, digest); });
  }

  void finish(const std::string& lease, uint64_t sequence, const std::string& digest) {
    const std::scoped_lock lock(mutex_);
    if (lease != lease_.lease_id() || running_ != sequence) return;
    running_ = 0;
    pb::MeasureReply reply;
    reply.set_sequence(sequence);
    pb::TrialResult& result = *reply.mutable_result();
    result.set_outcome(pb::OUTCOME_OK);
    result.set_artifact_digest(digest);
    result.set_lease_id(lease_.lease_id());
    result.set_epoch(lease_.epoch());
    result.set_sequence(sequence);
    for (const int64_t ns : simulated_samples_ns(lease_.lease_id(), sequence)) {
      pb::Sample& sample = *result.add_samples();
      sample.set_total_ns(ns);
      sample.set_iterations(kSampleIterations);
    }
    if (session_ && session_->greeted) session_->write(report(reply));
    unacknowledged_[sequence] = std::move(reply);
    start_next();
  }

  pb::AgentMessage report(const pb::MeasureReply& reply) const {
    pb::AgentMessage message;
    pb::SlotReply& slot = *message.mutable_report()->add_replies();
    *slot.mutable_lease() = lease_;
    *slot.mutable_reply() = reply;
    return message;
  }

  const AgentPlan plan_;
  Alarms& alarms_;
  Tally& tally_;
  rpc::Backoff backoff_;
  std::mt19937_64 random_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<pb::Agents::Stub> stub_;

  std::mutex mutex_;
  pb::AgentHello hello_;
  Session* session_ = nullptr;
  pb::LeaseName lease_;
  uint64_t epoch_ = 0;
  std::map<uint64_t, std::string> queue_;  // sequence → artifact
  std::map<uint64_t, pb::MeasureReply> unacknowledged_;
  std::set<std::string> fetched_;  // artifacts
  uint64_t running_ = 0;
};

SimulatedAgent::SimulatedAgent(int number, const AgentPlan& plan, Alarms& alarms, Tally& tally)
    : impl_(std::make_unique<Impl>(number, plan, alarms, tally)) {}

SimulatedAgent::~SimulatedAgent() = default;

void SimulatedAgent::connect() {
  impl_->connect();
}

void SimulatedAgent::drop_connection() {
  impl_->drop_connection();
}

}  // namespace tf::farm_load
