#include "device_agent/agent/agent.h"

#include <grpcpp/grpcpp.h>
#include <spdlog/spdlog.h>

#include <condition_variable>
#include <mutex>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/testing/failpoint.h"
#include "device_agent/agent/direct_service.h"
#include "device_agent/agent/slots/slot_runner.h"
#include "device_agent/agent/slots/slot_sets.h"
#include "device_agent/agent/state_dir.h"
#include "device_agent/agent/tracker_session.h"
#include "device_agent/agent/trials/artifact_fetcher.h"
#include "device_agent/agent/trials/executor.h"
#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/access/call_guard.h"
#include "rpc/backoff.h"
#include "rpc/connection/channel.h"
#include "rpc/connection/grpc_status.h"
#include "rpc/connection/protocol.h"
#include "rpc/connection/server.h"
#include "rpc/connection/unreachable.h"
#include "rpc/daemon/log_fields.h"
#include "rpc/identity/artifact_signature.h"
#include "rpc/periodic_task.h"
#include "rpc/random_id.h"

namespace tf::agent {
namespace {

namespace pb = tunefarm::farm::v1;

// Beyond either, what is left to tell goes into the next one.
constexpr int kRepliesPerMessage = 32;
constexpr size_t kBytesPerMessage = 1 << 20;
constexpr absl::Duration kGoodbyeTimeout = absl::Seconds(2);
constexpr absl::Duration kConnectTimeout = absl::Seconds(1);  // also how long stop() may have to wait
constexpr absl::Duration kTellOfWorkEvery = absl::Seconds(1);
// For direct callers, each of whose calls takes one: a holder has its stream, and uploads beside it. They end
// there, whoever has opened how many streams; others go through the tracker meanwhile.
constexpr int kThreads = 64;
constexpr int kThreadsASlot = 16;
constexpr int kLookEvery = 10;  // failures to connect after which it looks again why

pb::SlotReply& add_reply(pb::AgentMessage& message, uint32_t slot, const LeaseRef& lease) {
  pb::SlotReply& reply = *message.mutable_report()->add_replies();
  reply.set_slot(slot);
  reply.mutable_lease()->set_lease_id(lease.id);
  reply.mutable_lease()->set_epoch(lease.epoch);
  return reply;
}

void add_golden(pb::AgentMessage& message, const SlotRunner::Golden& golden) {
  pb::GoldenSample& sample = *message.mutable_report()->add_golden();
  sample.ParseFromString(golden.sample);
  sample.set_age_ms(static_cast<uint64_t>(absl::ToInt64Milliseconds(golden.age)));
}

void add_direct_work(pb::AgentMessage& message, uint32_t slot, const SlotRunner::DirectReport& report) {
  const DirectWork& work = report.work;
  pb::DirectWork& told = *message.mutable_report()->add_direct();
  told.set_slot(slot);
  told.mutable_lease()->set_lease_id(work.lease.id);
  told.mutable_lease()->set_epoch(work.lease.epoch);
  told.set_queued(work.queued);
  told.set_unacknowledged(work.unacknowledged);
  told.set_acknowledged(work.acknowledged);
  told.set_number(report.number);
}

// These will be the same after any number of attempts.
bool is_final(const absl::Status& status) {
  return absl::IsAlreadyExists(status) || absl::IsFailedPrecondition(status) ||
         absl::IsInvalidArgument(status) || absl::IsUnimplemented(status) ||
         absl::IsUnauthenticated(status) || absl::IsPermissionDenied(status);
}

absl::Status check_offered(const std::vector<AgentSlot>& slots) {
  if (slots.empty())
    return absl::InvalidArgumentError("a device needs at least one slot: give --cpus or --slots");
  std::vector<CpuSet> sets;
  CpuSet all;
  for (const AgentSlot& slot : slots) {
    if (slot.cpus.empty())
      return absl::InvalidArgumentError("a slot needs at least one CPU: give --cpus or --slots");
    sets.push_back(slot.cpus);
    all.insert(all.end(), slot.cpus.begin(), slot.cpus.end());
  }
  return check_slots(sets, all, "the slots");
}

class ConnectedAgent final : public Agent {
 public:
  ConnectedAgent(AgentOptions options, std::unique_ptr<StateDir> state,
                 std::unique_ptr<rpc::ArtifactStore> cache, std::string id, const pb::DeviceFacts& facts)
      : options_(std::move(options)),
        state_(std::move(state)),
        id_(std::move(id)),
        channel_(rpc::make_channel(options_.tracker, options_.credentials, rpc::Role::kTracker)),
        verifier_(options_.credentials ? std::make_unique<rpc::ArtifactVerifier>(options_.credentials)
                                       : nullptr),
        fetcher_(channel_, std::move(cache)) {
    hello_.set_protocol_version(rpc::kProtocolVersion);
    hello_.set_agent_id(id_);
    hello_.set_agent_run(rpc::random_id());
    hello_.set_device_key(options_.key);
    hello_.set_agent_version(options_.version);
    hello_.mutable_labels()->insert(options_.labels.begin(), options_.labels.end());
    *hello_.mutable_facts() = facts;
    if (options_.golden) hello_.mutable_facts()->add_capabilities(pb::CAPABILITY_GOLDEN_KERNEL);
    for (const AgentSlot& slot : options_.slots) add_slot(slot);
  }

  // Once, before run().
  absl::Status listen() {
    if (!options_.listen) return absl::OkStatus();
    std::vector<SlotRunner*> slots;
    for (const auto& slot : slots_) slots.push_back(slot.get());
    direct_ = make_direct_service(std::move(slots), fetcher_.cache());
    if (options_.credentials) guard_ = std::make_unique<rpc::CallGuard>();
    const int threads = kThreads + kThreadsASlot * static_cast<int>(slots_.size());
    TF_ASSIGN_OR_RETURN(
        server_, rpc::Server::start(*options_.listen, {direct_.get()}, {options_.credentials, guard_.get()},
                                    {.most_threads = threads}));
    hello_.set_direct_endpoint(options_.advertise.empty() ? server_->endpoint().text() : options_.advertise);
    return absl::OkStatus();
  }

  const std::string& id() const override { return id_; }
  std::optional<rpc::Endpoint> endpoint() const override {
    return server_ ? std::optional(server_->endpoint()) : std::nullopt;
  }

  absl::Status run() override {
    for (const auto& slot : slots_) slot->start([this, slot = slot.get()] { tell_of(*slot); });
    // The end of a trial tells at once what goes straight; a holder's submissions and acknowledgements between
    // are for the next look, so that they cost no message each.
    rpc::PeriodicTask telling(
        [this] {
          killpoint("agent.look.beginning");
          for (const auto& slot : slots_) tell_of(*slot);
          return kTellOfWorkEvery;
        },
        kTellOfWorkEvery);
    const absl::Status status = stay_connected();
    telling.stop();
    for (const auto& slot : slots_) slot->stop();
    if (server_) server_->stop(absl::ZeroDuration());
    return status;
  }

  void stop() override {
    for (const auto& slot : slots_) slot->drain();
    rpc::Instant deadline = rpc::real_clock().now() + options_.stop_grace;
    for (const auto& slot : slots_) slot->wait_until_idle(deadline);
    deadline = rpc::real_clock().now() + options_.acknowledge_grace;
    for (const auto& slot : slots_)
      slot->wait_until_acknowledged(deadline, [this] { return is_connected(); });
    std::unique_lock lock(mutex_);
    stop_ = true;
    changed_.notify_all();
    const std::shared_ptr<TrackerSession> session = session_;
    if (!session) return;
    if (session->greeted) {
      lock.unlock();
      pb::AgentMessage goodbye;
      goodbye.mutable_report()->set_stopping(true);
      session->say(goodbye);
      session->half_close();
      lock.lock();
      changed_.wait_for(lock, absl::ToChronoMilliseconds(kGoodbyeTimeout), [this] { return !session_; });
    }
    if (session_) session->context.TryCancel();
  }

  void set_revoked(const std::set<std::string>& serials) override {
    if (verifier_) verifier_->set_revoked(serials);
    if (guard_) guard_->set_revoked(serials);
  }

  bool is_connected() override {
    const std::scoped_lock lock(mutex_);
    return session_ && session_->greeted;
  }

  void answer() override {
    is_connected();
    for (const auto& slot : slots_) slot->answer();
  }

 private:
  void add_slot(const AgentSlot& offered) {
    const auto number = static_cast<uint32_t>(slots_.size());
    SlotState state(
        rpc::real_clock(), state_->newest_lease(number),
        [this, number](const LeaseRef& lease) { return state_->save_newest_lease(number, lease); },
        offered.executor->trials_at_once());
    slots_.push_back(std::make_unique<SlotRunner>(
        SlotSettings{.slot = number, .golden_every = options_.golden_every}, std::move(state),
        TrialMeans{.fetcher = fetcher_,
                   .executor = *offered.executor,
                   .exclusive_execution = *options_.exclusive_execution,
                   .verifier = verifier_.get()},
        options_.golden));
    pb::SlotOffer& slot = *hello_.add_slots();
    slot.set_slot(number);
    slot.mutable_cpus()->Add(offered.cpus.begin(), offered.cpus.end());
  }

  absl::Status stay_connected() {
    rpc::Backoff backoff(rpc::backoff_seed());
    while (true) {
      bool greeted = false;
      absl::Status status = connect();
      if (status.ok()) status = run_session(greeted);
      std::unique_lock lock(mutex_);
      if (stop_) return absl::OkStatus();
      if (is_final(status)) return status;
      if (greeted) {
        backoff.reset();
        told_.clear();
      }
      tell(status.ok() ? "the tracker ended the stream" : std::string(status.message()));
      changed_.wait_for(lock, absl::ToChronoMilliseconds(backoff.next()), [this] { return stop_; });
      if (stop_) return absl::OkStatus();
    }
  }

  // Returns once the channel is connected, or after stop(). UNAUTHENTICATED: our certificate has ended, so
  // that no tracker would take us.
  absl::Status connect() {
    for (int failures = 0;; ++failures) {
      if (options_.credentials) {
        const rpc::Credentials& own = *options_.credentials;
        TF_RETURN_IF_ERROR(own.certificate().check_issued_by(own.ca(), rpc::real_wall_clock().now()));
      }
      if (rpc::wait_until_connected(*channel_, kConnectTimeout)) return absl::OkStatus();
      if (failures % kLookEvery == 0) {
        tell(std::string(
            rpc::unreachable("tracker", options_.tracker, options_.credentials != nullptr).message()));
      }
      const std::scoped_lock lock(mutex_);
      if (stop_) return absl::OkStatus();
    }
  }

  // The same trouble is told once, not at each attempt.
  void tell(const std::string& trouble) {
    const rpc::LogFields about({{"device", id_}});
    if (trouble != told_) spdlog::warn(absl::StrCat(trouble, "; retrying until it answers"));
    told_ = trouble;
  }

  // One stream from its beginning to its end.
  absl::Status run_session(bool& greeted) {
    auto session = std::make_shared<TrackerSession>();
    pb::AgentMessage first;
    *first.mutable_hello() = hello_;
    for (size_t i = 0; i < slots_.size(); ++i) {
      first.mutable_hello()->mutable_slots(static_cast<int>(i))->set_highest_epoch(slots_[i]->newest().epoch);
    }
    {
      const std::scoped_lock lock(mutex_);
      if (stop_) return absl::OkStatus();
      session_ = session;
    }
    const auto stub = pb::Agents::NewStub(channel_);
    session->stream = stub->Synchronize(&session->context);
    session->say(first);
    pb::TrackerMessage message;
    absl::Status refused;
    while (refused.ok() && session->stream->Read(&message)) {
      refused = message.has_hello()  ? welcome(*session, message.hello())
                : message.has_ping() ? answer(*session, message.ping())
                                     : apply(*session, message.desired());
      greeted |= message.has_hello();
    }
    {
      const std::scoped_lock lock(mutex_);
      session_ = nullptr;
      changed_.notify_all();
    }
    for (const auto& slot : slots_) slot->wake();
    if (!refused.ok()) session->context.TryCancel();
    const absl::Status ended =
        rpc::from_grpc(session->finish(), "tracker", options_.tracker, options_.credentials != nullptr);
    return refused.ok() ? ended : refused;
  }

  absl::Status welcome(TrackerSession& session, const pb::TrackerHello& hello) {
    TF_RETURN_IF_ERROR(rpc::check_protocol("the tracker", hello.protocol_version(), "this agent"));
    for (const auto& slot : slots_) slot->rewind();
    {
      const std::scoped_lock lock(mutex_);
      session.greeted = true;
      changed_.notify_all();
    }
    const rpc::LogFields about({{"device", id_}});
    spdlog::info(absl::StrCat(id_, " serves the tracker at ", options_.tracker.text()));
    for (const auto& slot : slots_) tell_of(*slot);
    return absl::OkStatus();
  }

  // Another agent asks for this one's id: the tracker looks whether this one is still here.
  absl::Status answer(TrackerSession& session, const pb::Ping& ping) {
    pb::AgentMessage pong;
    *pong.mutable_pong() = ping;
    session.say(pong);
    return absl::OkStatus();
  }

  absl::Status apply(TrackerSession& session, const pb::DesiredState& state) {
    TF_ASSIGN_OR_RETURN(const absl::Duration age, session.age_of(state));
    for (const pb::DesiredSlot& desired : state.slots()) {
      if (desired.slot() >= slots_.size()) continue;
      const absl::Status accepted = slots_[desired.slot()]->apply(desired_of(desired, age));
      if (!accepted.ok()) refuse(session, desired, accepted);
      if (desired.golden_wanted()) slots_[desired.slot()]->want_golden();
    }
    return absl::OkStatus();
  }

  // The lease cannot be served: its holder hears it on each trial.
  void refuse(TrackerSession& session, const pb::DesiredSlot& slot, const absl::Status& why) {
    const rpc::LogFields about({{"device", id_}, {"lease", slot.lease().lease_id()}});
    spdlog::error(std::string(why.message()));
    pb::AgentMessage message;
    for (const pb::Assignment& assignment : slot.window()) {
      pb::MeasureReply& reply =
          *add_reply(message, slot.slot(), {slot.lease().lease_id(), slot.lease().epoch()}).mutable_reply();
      reply.set_sequence(assignment.sequence());
      reply.mutable_failure()->set_kind(absl::IsFailedPrecondition(why) ? pb::FAILURE_KIND_STALE_EPOCH
                                                                        : pb::FAILURE_KIND_DEVICE);
      reply.mutable_failure()->set_message(std::string(why.message()));
    }
    if (message.has_report()) session.say(message);
  }

  // The present session, once the tracker has accepted it.
  std::shared_ptr<TrackerSession> greeted_session() {
    const std::scoped_lock lock(mutex_);
    return session_ && session_->greeted ? session_ : nullptr;
  }

  // Tells the tracker what it has not been told of the slot in this session; without one, the next session
  // tells everything. What was taken for a session that is over may be lost with it, although the next one
  // had asked for everything before: then it is told again.
  void tell_of(SlotRunner& slot) {
    while (const std::shared_ptr<TrackerSession> session = greeted_session()) {
      killpoint("agent.report.taking");
      say_all(*session, slot);
      if (greeted_session() == session) return;
      slot.rewind();
    }
  }

  void say_all(TrackerSession& session, SlotRunner& slot) {
    pb::AgentMessage message;
    if (const auto golden = slot.take_golden()) add_golden(message, *golden);
    for (const std::string& outcome : slot.take_outcomes())
      message.mutable_report()->add_outcomes()->ParseFromString(outcome);
    if (const auto work = slot.take_direct_work()) add_direct_work(message, slot.slot(), *work);
    size_t bytes = message.ByteSizeLong();
    for (const UnsentReply& reply : slot.take_unsent()) {
      add_reply(message, slot.slot(), reply.lease).mutable_reply()->ParseFromString(reply.reply);
      bytes += reply.reply.size();
      if (message.report().replies_size() < kRepliesPerMessage && bytes < kBytesPerMessage) continue;
      session.say(message);
      message.Clear();
      bytes = 0;
    }
    if (message.has_report()) session.say(message);
  }

  const AgentOptions options_;
  const std::unique_ptr<StateDir> state_;
  const std::string id_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<rpc::ArtifactVerifier> verifier_;  // null: plain text
  ArtifactFetcher fetcher_;
  pb::AgentHello hello_;
  std::vector<std::unique_ptr<SlotRunner>> slots_;  // each at the place of its number
  std::unique_ptr<grpc::Service> direct_;
  std::unique_ptr<rpc::CallGuard> guard_;  // of direct callers; null: plain text
  std::unique_ptr<rpc::Server> server_;
  std::string told_;  // of the thread of run()

  std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<TrackerSession> session_;  // the present stream, from before its first message
  bool stop_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Agent>> Agent::create(AgentOptions options, const pb::DeviceFacts& facts) {
  TF_RETURN_IF_ERROR(rpc::require_protection(options.tracker, "--tracker", options.credentials));
  if (options.listen)
    TF_RETURN_IF_ERROR(rpc::require_protection(*options.listen, "--listen", options.credentials));
  if (options.credentials && options.id.empty()) options.id = options.credentials->identity().name;
  if (options.key.empty()) return absl::InvalidArgumentError("a device needs a key: give --key");
  TF_RETURN_IF_ERROR(check_offered(options.slots));
  TF_ASSIGN_OR_RETURN(auto state, StateDir::open(options.state_dir));
  TF_ASSIGN_OR_RETURN(std::string id, state->agent_id(options.id));
  TF_ASSIGN_OR_RETURN(auto cache, rpc::ArtifactStore::open(state->artifact_folder(), options.cache_bytes,
                                                           options.transfer_bytes));
  auto agent = std::make_unique<ConnectedAgent>(std::move(options), std::move(state), std::move(cache),
                                                std::move(id), facts);
  TF_RETURN_IF_ERROR(agent->listen());
  return agent;
}

}  // namespace tf::agent
