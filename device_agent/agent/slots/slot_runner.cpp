#include "device_agent/agent/slots/slot_runner.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/testing/failpoint.h"
#include "device_agent/agent/golden/golden_kernel.h"
#include "device_agent/agent/slots/exclusive_execution.h"
#include "device_agent/agent/trials/artifact_fetcher.h"
#include "device_agent/agent/trials/executor.h"

namespace tf::agent {
namespace {

constexpr absl::Duration kRefetchDelay = absl::Milliseconds(500);
constexpr absl::Duration kBetweenWantedGoldens = absl::Seconds(10);
constexpr absl::Duration kWantedGoldenIsOverdue = absl::Seconds(30);
// While trials run on other slots.
constexpr absl::Duration kGoldenRetry = absl::Seconds(1);
// How long overdue ones hold the machine's trials back while they wait for those that run.
constexpr absl::Duration kGoldenGracePeriod = absl::Seconds(10);
// A machine that was suspended has not waited as long as its leases have.
constexpr absl::Duration kLookAtLease = absl::Seconds(1);
constexpr size_t kMostOutcomes = 1000;

}  // namespace

SlotRunner::SlotRunner(SlotSettings settings, SlotState state, TrialMeans means, const GoldenKernel* golden)
    : settings_(std::move(settings)), means_(means), golden_(golden), state_(std::move(state)) {}

SlotRunner::~SlotRunner() {
  stop();
}

void SlotRunner::start(std::function<void()> something_to_tell) {
  something_to_tell_ = std::move(something_to_tell);
  for (size_t i = 0; i < means_.executor.trials_at_once(); ++i) working_.emplace_back([this] { work(); });
  fetching_ = std::thread([this] { fetch_ahead(); });
  watching_ = std::thread([this] { watch_lease(); });
}

void SlotRunner::stop() {
  std::shared_ptr<DirectLink> over;
  std::list<std::stop_source> running;
  std::stop_source ahead{std::nostopstate};
  {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
    over = std::exchange(direct_, nullptr);
    running = running_;
    if (golden_run_) running.push_back(*golden_run_);
    ahead = ahead_;
    changed_.notify_all();
  }
  for (std::stop_source& each : running) each.request_stop();
  ahead.request_stop();
  if (over) over->cancel();
  for (std::thread& thread : working_) thread.join();
  working_.clear();
  for (std::thread* thread : {&fetching_, &watching_})
    if (thread->joinable()) thread->join();
}

absl::Status SlotRunner::apply(const Desired& desired) {
  std::shared_ptr<DirectLink> over;
  {
    const std::scoped_lock lock(mutex_);
    if (absl::Status status = state_.apply(desired); !status.ok()) return status;
    if (state_.route() == Route::kRelay) over = std::exchange(direct_, nullptr);
    queue_changed_ = true;
    changed_.notify_all();
  }
  if (over) {
    over->cancel();
    something_to_tell_();
  }
  return absl::OkStatus();
}

LeaseRef SlotRunner::newest() const {
  const std::scoped_lock lock(mutex_);
  return state_.newest();
}

void SlotRunner::rewind() {
  const std::scoped_lock lock(mutex_);
  if (state_.route() == Route::kRelay) state_.rewind();
  golden_told_ = !newest_golden_;
  work_told_.reset();
}

std::vector<UnsentReply> SlotRunner::take_unsent() {
  const std::scoped_lock lock(mutex_);
  return state_.take_unsent(Route::kRelay);
}

void SlotRunner::want_golden() {
  const std::scoped_lock lock(mutex_);
  if (!golden_) return;
  const rpc::Instant wanted = std::max(rpc::real_clock().now(), golden_at_ + kBetweenWantedGoldens);
  golden_due_ = std::min(golden_due_, wanted);
  golden_overdue_ = std::min(golden_overdue_, wanted + kWantedGoldenIsOverdue);
  changed_.notify_all();
}

std::optional<SlotRunner::Golden> SlotRunner::take_golden() {
  const std::scoped_lock lock(mutex_);
  if (std::exchange(golden_told_, true)) return std::nullopt;
  return Golden{*newest_golden_, rpc::real_clock().now() - golden_at_};
}

std::vector<std::string> SlotRunner::take_outcomes() {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> taken(outcomes_.begin(), outcomes_.end());
  outcomes_.clear();
  return taken;
}

std::optional<SlotRunner::DirectReport> SlotRunner::take_direct_work() {
  const std::scoped_lock lock(mutex_);
  std::optional<DirectWork> work = state_.direct_work();
  if (work == work_told_) return std::nullopt;
  work_told_ = work;
  if (!work) return std::nullopt;  // the lease is over, and the tracker knows
  return DirectReport{*std::move(work), ++work_reports_};
}

absl::Status SlotRunner::open_direct(const LeaseRef& lease, std::shared_ptr<DirectLink> link) {
  std::shared_ptr<DirectLink> older;
  {
    const std::scoped_lock lock(mutex_);
    if (stop_) return absl::UnavailableError("the agent is stopping");
    if (absl::Status status = state_.open_direct(lease); !status.ok()) return status;
    older = std::exchange(direct_, std::move(link));
    changed_.notify_all();  // whoever submits on the older one waits no longer
  }
  if (older) older->cancel();
  deliver();
  return absl::OkStatus();
}

void SlotRunner::close_direct(const LeaseRef& lease, const DirectLink* link) {
  {
    const std::scoped_lock lock(mutex_);
    if (direct_.get() != link) return;  // another has taken its place, or the tracker has ended it
    direct_ = nullptr;
    state_.close_direct(lease);
    changed_.notify_all();
  }
  something_to_tell_();
}

std::optional<std::string> SlotRunner::user_of(const LeaseRef& lease) const {
  const std::scoped_lock lock(mutex_);
  return state_.serves(lease) ? std::optional(state_.user()) : std::nullopt;
}

bool SlotRunner::submit_direct(const LeaseRef& lease, const DirectLink* link, QueuedTrial trial) {
  std::unique_lock lock(mutex_);
  while (true) {
    if (stop_ || direct_.get() != link || !state_.serves(lease)) return false;
    if (state_.takes_trials()) break;
    if (!state_.takes_replies()) return false;
    changed_.wait(lock);
  }
  state_.submit(lease, std::move(trial));
  queue_changed_ = true;
  changed_.notify_all();
  return true;
}

void SlotRunner::acknowledge_direct(const LeaseRef& lease, const std::vector<uint64_t>& sequences) {
  const std::scoped_lock lock(mutex_);
  state_.acknowledge(lease, sequences);
  changed_.notify_all();
}

void SlotRunner::drain() {
  const std::scoped_lock lock(mutex_);
  draining_ = true;
  changed_.notify_all();
}

void SlotRunner::wait_until_idle(rpc::Instant deadline) {
  std::unique_lock lock(mutex_);
  const absl::Duration left = deadline - rpc::real_clock().now();
  changed_.wait_for(lock, absl::ToChronoMilliseconds(left), [this] { return stop_ || !state_.is_running(); });
}

void SlotRunner::wait_until_acknowledged(rpc::Instant deadline, const std::function<bool()>& can_tell) {
  std::unique_lock lock(mutex_);
  const absl::Duration left = deadline - rpc::real_clock().now();
  changed_.wait_for(lock, absl::ToChronoMilliseconds(left),
                    [&] { return stop_ || !state_.has_unacknowledged() || !(direct_ || can_tell()); });
}

void SlotRunner::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    std::optional<StartedTrial> started;
    while (!stop_ && (draining_ || golden_is_overdue() || !(started = state_.start()))) {
      if (golden_is_due() && !golden_run_) {
        run_golden(lock);
      } else if (golden_ && !draining_ && !golden_run_) {
        changed_.wait_for(lock, absl::ToChronoMilliseconds(golden_due_ - rpc::real_clock().now()) +
                                    std::chrono::milliseconds(1));
      } else {
        changed_.wait(lock);
      }
    }
    if (!started) return;
    const auto work = running_.emplace(running_.end());
    const std::stop_token end = work->get_token();
    lock.unlock();
    std::optional<std::string> reply = measure(*started, means_, end);
    killpoint("agent.trial.measured");
    lock.lock();
    running_.erase(work);
    if (reply) {
      if (direct_) outcomes_.push_back(outcome_of(*started, *reply));
      if (outcomes_.size() > kMostOutcomes) outcomes_.pop_front();
      state_.finish(*started, *std::move(reply));
      changed_.notify_all();
      lock.unlock();
      deliver();
      lock.lock();
    } else {
      state_.requeue(*started);
      changed_.notify_all();
      if (end.stop_requested()) continue;
      changed_.wait_for(lock, absl::ToChronoMilliseconds(kRefetchDelay),
                        [this] { return stop_ || draining_; });
    }
  }
}

std::optional<std::stop_source> SlotRunner::outlived() const {
  for (const std::stop_source& each : running_)
    if (state_.running_is_over() && !each.stop_requested()) return each;
  if (state_.is_over(ahead_of_) && !ahead_.stop_requested()) return ahead_;
  return std::nullopt;
}

// Whatever the trial does and the tracker says, or no longer says: it does not outlive its lease, and neither
// does what is fetched for those that follow.
void SlotRunner::watch_lease() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (std::optional<std::stop_source> over = outlived()) {
      lock.unlock();
      over->request_stop();
      lock.lock();
      continue;
    }
    const std::optional<rpc::Instant> until = state_.expires_at();
    if (!until) {
      changed_.wait(lock);
      continue;
    }
    const absl::Duration left = *until - rpc::real_clock().now();
    const absl::Duration look = left > absl::ZeroDuration() ? std::min(left, kLookAtLease) : kLookAtLease;
    changed_.wait_for(lock, absl::ToChronoMilliseconds(look) + std::chrono::milliseconds(1));
  }
}

bool SlotRunner::golden_is_due() const {
  return golden_ && !draining_ && rpc::real_clock().now() >= golden_due_;
}

bool SlotRunner::golden_is_overdue() const {
  return golden_is_due() && rpc::real_clock().now() >= golden_overdue_;
}

// By one of the threads that run trials; exclusive_execution sees to it that it runs alone.
void SlotRunner::run_golden(std::unique_lock<std::mutex>& lock) {
  const bool overdue = golden_is_overdue();
  const GracePeriod grace_period = {.most = overdue ? kGoldenGracePeriod : absl::ZeroDuration(),
                                    .again_after = settings_.golden_every};
  const std::stop_token end = golden_run_.emplace().get_token();
  lock.unlock();
  std::optional<std::string> sample;
  if (means_.exclusive_execution.begin_golden(grace_period, end)) {
    sample = golden_->sample(settings_.slot, means_.executor, end);
    means_.exclusive_execution.end_golden();
  }
  lock.lock();
  golden_run_.reset();
  changed_.notify_all();
  if (end.stop_requested()) return;  // whatever it says now says nothing of the device
  const rpc::Instant now = rpc::real_clock().now();
  if (!sample) {
    golden_due_ = now + kGoldenRetry;
    if (overdue) golden_overdue_ = now + settings_.golden_every;
    return;
  }
  golden_at_ = now;
  golden_due_ = now + settings_.golden_every;
  golden_overdue_ = now + 2 * settings_.golden_every;
  newest_golden_ = *std::move(sample);
  golden_told_ = false;
  lock.unlock();
  something_to_tell_();
  lock.lock();
}

void SlotRunner::fetch_ahead() {
  std::vector<rpc::ArtifactStore::Pin> pins;  // of what is queued
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stop_ || queue_changed_; });
    if (stop_) return;
    queue_changed_ = false;
    const std::vector<QueuedTrial> queued = state_.queued();
    ahead_ = std::stop_source();
    ahead_of_ = state_.newest();
    const std::stop_token end = ahead_.get_token();
    if (state_.is_over(ahead_of_)) ahead_.request_stop();
    lock.unlock();
    std::vector<rpc::ArtifactStore::Pin> now;
    for (const QueuedTrial& trial : queued) pin(trial, means_.fetcher, now);
    pins = std::move(now);
    for (const QueuedTrial& trial : queued) {
      if (!end.stop_requested()) prefetch(trial, means_.fetcher, end);
    }
    lock.lock();
  }
}

// To the holder if it is here; the tracker takes the rest. A holder that reads nothing holds up this slot
// alone.
void SlotRunner::deliver() {
  std::shared_ptr<DirectLink> link;
  std::vector<UnsentReply> unsent;
  {
    const std::scoped_lock lock(mutex_);
    link = direct_;
    if (link) unsent = state_.take_unsent(Route::kDirect);
  }
  bool over = false;  // then everything is told again
  for (const UnsentReply& reply : unsent) over = over || !link->write(reply.reply);
  something_to_tell_();
}

}  // namespace tf::agent
