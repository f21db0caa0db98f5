#include <grpcpp/grpcpp.h>
#include <spdlog/spdlog.h>

#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status.h"
#include "device_agent/agent/agent.h"
#include "device_agent/agent/artifact_fetcher.h"
#include "device_agent/agent/executor.h"
#include "device_agent/agent/slot_state.h"
#include "device_agent/agent/state_dir.h"
#include "device_agent/agent/trial_runner.h"
#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/backoff.h"
#include "rpc/channel.h"
#include "rpc/client_stream.h"
#include "rpc/grpc_status.h"
#include "rpc/protocol.h"

namespace tf::agent {
namespace {

namespace pb = tunefarm::farm::v1;

constexpr uint32_t kSlot = 0;
constexpr int kRepliesPerMessage = 32;
constexpr absl::Duration kGoodbyeTimeout = absl::Seconds(2);
constexpr absl::Duration kConnectTimeout = absl::Seconds(1);  // also how long stop() may have to wait
constexpr absl::Duration kRefetchDelay = absl::Milliseconds(500);

Desired from_proto(const pb::DesiredSlot& message) {
  Desired desired;
  if (!message.has_lease()) return desired;
  desired.lease = LeaseRef{message.lease().lease_id(), message.lease().epoch()};
  desired.remaining = absl::Milliseconds(message.remaining_ms());
  for (const pb::Assignment& assignment : message.window()) {
    desired.window.push_back({assignment.sequence(), assignment.trial().SerializeAsString()});
  }
  desired.acknowledged.assign(message.acknowledged().begin(), message.acknowledged().end());
  return desired;
}

pb::SlotReply& add_reply(pb::AgentMessage& message, const LeaseRef& lease) {
  pb::SlotReply& reply = *message.mutable_report()->add_replies();
  reply.set_slot(kSlot);
  reply.mutable_lease()->set_lease_id(lease.id);
  reply.mutable_lease()->set_epoch(lease.epoch);
  return reply;
}

// An unparsable reply would never be answered, and be sent again for ever: its holder hears of it instead.
void add_stored_reply(pb::AgentMessage& message, const UnsentReply& unsent) {
  pb::MeasureReply& reply = *add_reply(message, unsent.lease).mutable_reply();
  if (reply.ParseFromString(unsent.reply)) return;
  reply.Clear();
  reply.set_sequence(unsent.sequence);
  reply.mutable_failure()->set_kind(pb::FAILURE_KIND_DEVICE);
  reply.mutable_failure()->set_message("the trial's result cannot be parsed");
}

// These will be the same after any number of attempts.
bool is_final(const absl::Status& status) {
  return absl::IsAlreadyExists(status) || absl::IsFailedPrecondition(status) ||
         absl::IsInvalidArgument(status) || absl::IsUnimplemented(status);
}

// One Synchronize stream.
struct Session : rpc::ClientStream<pb::AgentMessage, pb::TrackerMessage> {
  bool greeted = false;  // guarded by the agent's lock: the tracker has accepted us
};

}  // namespace

class Agent::Impl {
 public:
  Impl(AgentOptions options, std::unique_ptr<StateDir> state, std::unique_ptr<rpc::ArtifactStore> cache,
       std::string id, const pb::DeviceFacts& facts, TrialExecutor& executor)
      : options_(std::move(options)),
        state_(std::move(state)),
        executor_(executor),
        id_(std::move(id)),
        channel_(rpc::make_channel(options_.tracker)),
        fetcher_(channel_, std::move(cache)),
        slot_(rpc::real_clock(), state_->newest_lease(kSlot),
              [this](const LeaseRef& lease) { return state_->save_newest_lease(kSlot, lease); }) {
    hello_.set_protocol_version(rpc::kProtocolVersion);
    hello_.set_agent_id(id_);
    hello_.set_agent_run(absl::StrFormat("%016x", rpc::backoff_seed()));
    hello_.set_device_key(options_.key);
    hello_.set_agent_version(options_.version);
    *hello_.mutable_facts() = facts;
    pb::SlotOffer& slot = *hello_.add_slots();
    slot.set_slot(kSlot);
    slot.mutable_cpus()->Add(options_.cpus.begin(), options_.cpus.end());
  }

  const std::string& id() const { return id_; }

  absl::Status run() {
    std::thread executing([this] { execute(); });
    std::thread prefetching([this] { prefetch_queued(); });
    const absl::Status status = stay_connected();
    {
      const std::scoped_lock lock(mutex_);
      stop_ = true;
      changed_.notify_all();
    }
    executing.join();
    prefetching.join();
    return status;
  }

  void stop() {
    std::unique_lock lock(mutex_);
    draining_ = true;
    changed_.notify_all();
    changed_.wait_for(lock, absl::ToChronoMilliseconds(options_.stop_grace),
                      [this] { return stop_ || !slot_.is_running(); });
    changed_.wait_for(lock, absl::ToChronoMilliseconds(options_.acknowledge_grace), [this] {
      const bool can_report = session_ && session_->greeted;
      return stop_ || !slot_.has_unacknowledged() || !can_report;
    });
    stop_ = true;
    changed_.notify_all();
    const std::shared_ptr<Session> session = session_;
    if (!session) return;
    if (session->greeted) {
      lock.unlock();
      pb::AgentMessage goodbye;
      goodbye.mutable_report()->set_stopping(true);
      session->write(goodbye);
      session->half_close();
      lock.lock();
      changed_.wait_for(lock, absl::ToChronoMilliseconds(kGoodbyeTimeout), [this] { return !session_; });
    }
    if (session_) session->context.TryCancel();
  }

 private:
  absl::Status stay_connected() {
    rpc::Backoff backoff(rpc::backoff_seed());
    while (true) {
      bool greeted = false;
      connect();
      const absl::Status status = run_session(greeted);
      std::unique_lock lock(mutex_);
      if (stop_) return absl::OkStatus();
      if (is_final(status)) return status;
      if (greeted) {
        backoff.reset();
        told_.clear();
      }
      tell(status.ok() ? "the tracker has ended the stream" : std::string(status.message()));
      changed_.wait_for(lock, absl::ToChronoMilliseconds(backoff.next()), [this] { return stop_; });
      if (stop_) return absl::OkStatus();
    }
  }

  // Returns once the channel is connected, or after stop().
  void connect() {
    while (!rpc::wait_until_connected(*channel_, kConnectTimeout)) {
      tell(absl::StrCat("no tracker answers at ", options_.tracker.text()));
      const std::scoped_lock lock(mutex_);
      if (stop_) return;
    }
  }

  // The same trouble is told once, not at each attempt.
  void tell(const std::string& trouble) {
    if (trouble != told_) spdlog::warn("{}; trying again until it answers", trouble);
    told_ = trouble;
  }

  // One stream from its beginning to its end.
  absl::Status run_session(bool& greeted) {
    auto session = std::make_shared<Session>();
    pb::AgentMessage first;
    *first.mutable_hello() = hello_;
    {
      const std::scoped_lock lock(mutex_);
      if (stop_) return absl::OkStatus();
      first.mutable_hello()->mutable_slots(0)->set_highest_epoch(slot_.newest().epoch);
      session_ = session;
    }
    const auto stub = pb::Agents::NewStub(channel_);
    session->stream = stub->Synchronize(&session->context);
    session->write(first);
    pb::TrackerMessage message;
    absl::Status refused;
    while (refused.ok() && session->stream->Read(&message)) {
      refused = message.has_hello() ? welcome(*session, message.hello()) : apply(*session, message.desired());
      greeted |= message.has_hello();
    }
    {
      const std::scoped_lock lock(mutex_);
      session_ = nullptr;
      changed_.notify_all();
    }
    if (!refused.ok()) session->context.TryCancel();
    const absl::Status ended = rpc::from_grpc(session->finish(), "tracker", options_.tracker.text());
    return refused.ok() ? ended : refused;
  }

  absl::Status welcome(Session& session, const pb::TrackerHello& hello) {
    TF_RETURN_IF_ERROR(rpc::check_protocol("the tracker", hello.protocol_version(), "this agent"));
    {
      const std::scoped_lock lock(mutex_);
      session.greeted = true;
      slot_.rewind();
      changed_.notify_all();
    }
    spdlog::info("{} serves the tracker at {}", id_, options_.tracker.text());
    send_unsent();
    return absl::OkStatus();
  }

  absl::Status apply(Session& session, const pb::DesiredState& state) {
    for (const pb::DesiredSlot& slot : state.slots()) {
      if (slot.slot() != kSlot) continue;
      const absl::Status accepted = accept(from_proto(slot));
      if (!accepted.ok()) refuse(session, slot, accepted);
    }
    return absl::OkStatus();
  }

  absl::Status accept(const Desired& desired) {
    const std::scoped_lock lock(mutex_);
    TF_RETURN_IF_ERROR(slot_.apply(desired));
    queue_changed_ = true;
    changed_.notify_all();
    return absl::OkStatus();
  }

  // The lease cannot be served: its holder hears it on each trial.
  void refuse(Session& session, const pb::DesiredSlot& slot, const absl::Status& why) {
    spdlog::error("{}", std::string(why.message()));
    pb::AgentMessage message;
    for (const pb::Assignment& assignment : slot.window()) {
      pb::MeasureReply& reply =
          *add_reply(message, {slot.lease().lease_id(), slot.lease().epoch()}).mutable_reply();
      reply.set_sequence(assignment.sequence());
      reply.mutable_failure()->set_kind(absl::IsFailedPrecondition(why) ? pb::FAILURE_KIND_STALE_EPOCH
                                                                        : pb::FAILURE_KIND_DEVICE);
      reply.mutable_failure()->set_message(std::string(why.message()));
    }
    if (message.has_report()) session.write(message);
  }

  // Tells the tracker what it has not been told in this session.
  void send_unsent() {
    std::unique_lock lock(mutex_);
    const std::shared_ptr<Session> session = session_;
    if (!session || !session->greeted) return;  // the next session tells everything
    const std::vector<UnsentReply> unsent = slot_.take_unsent();
    lock.unlock();
    pb::AgentMessage message;
    for (const UnsentReply& reply : unsent) {
      add_stored_reply(message, reply);
      if (message.report().replies_size() < kRepliesPerMessage) continue;
      session->write(message);
      message.Clear();
    }
    if (message.has_report()) session->write(message);
  }

  void execute() {
    std::unique_lock lock(mutex_);
    while (true) {
      std::optional<StartedTrial> started;
      while (!stop_ && (draining_ || !(started = slot_.start()))) changed_.wait(lock);
      if (!started) return;
      lock.unlock();
      std::optional<std::string> reply = measure(*started, fetcher_, executor_);
      lock.lock();
      if (reply) {
        slot_.finish(*started, *std::move(reply));
        changed_.notify_all();
        lock.unlock();
        send_unsent();
        lock.lock();
      } else {
        slot_.requeue(*started);
        changed_.wait_for(lock, absl::ToChronoMilliseconds(kRefetchDelay),
                          [this] { return stop_ || draining_; });
      }
    }
  }

  void prefetch_queued() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return stop_ || queue_changed_; });
      if (stop_) return;
      queue_changed_ = false;
      const std::vector<QueuedTrial> queued = slot_.queued();
      lock.unlock();
      for (const QueuedTrial& trial : queued) prefetch(trial, fetcher_);
      lock.lock();
    }
  }

  const AgentOptions options_;
  const std::unique_ptr<StateDir> state_;
  TrialExecutor& executor_;
  const std::string id_;
  const std::shared_ptr<grpc::Channel> channel_;
  ArtifactFetcher fetcher_;
  pb::AgentHello hello_;
  std::string told_;  // of the thread of run()

  std::mutex mutex_;
  std::condition_variable changed_;
  SlotState slot_;
  std::shared_ptr<Session> session_;  // the present stream, from before its first message
  bool queue_changed_ = false;
  bool draining_ = false;  // start nothing new
  bool stop_ = false;
};

absl::StatusOr<std::unique_ptr<Agent>> Agent::create(AgentOptions options, const pb::DeviceFacts& facts,
                                                     TrialExecutor& executor) {
  TF_RETURN_IF_ERROR(rpc::require_loopback(options.tracker, "--tracker"));
  if (options.key.empty())
    return absl::InvalidArgumentError("a device needs a key that tuners ask for: give --key");
  if (options.cpus.empty()) return absl::InvalidArgumentError("a device needs at least one CPU: give --cpus");
  TF_ASSIGN_OR_RETURN(auto state, StateDir::open(options.state_dir));
  TF_ASSIGN_OR_RETURN(std::string id, state->agent_id(options.id));
  TF_ASSIGN_OR_RETURN(auto cache, rpc::ArtifactStore::open(state->artifact_folder(), options.cache_bytes));
  return std::unique_ptr<Agent>(new Agent(std::make_unique<Impl>(
      std::move(options), std::move(state), std::move(cache), std::move(id), facts, executor)));
}

Agent::Agent(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Agent::~Agent() = default;

const std::string& Agent::id() const {
  return impl_->id();
}

absl::Status Agent::run() {
  return impl_->run();
}

void Agent::stop() {
  impl_->stop();
}

}  // namespace tf::agent
