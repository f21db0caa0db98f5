#include "tuner/measure/fleet_runner.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "proto/farm/v1/trial.pb.h"
#include "rpc/clock.h"
#include "tuner/measure/scaled_trials.h"

namespace tf::measure {
namespace {

namespace pb = tunefarm::farm::v1;

// Each slot measures one trial while the next one and its artifacts are on their way.
constexpr int kTrialsPerSlot = 2;
// Leases that may end under one trial against their holder's will.
constexpr int kMostLeasesLost = 3;
// One request for a lease: short, so that a fleet's end does not wait for long. Who asks again keeps its
// place.
constexpr absl::Duration kOpenWait = absl::Seconds(2);
constexpr absl::Duration kOpenAgain = absl::Seconds(1);        // after one that failed
constexpr absl::Duration kOtherKindAgain = absl::Seconds(15);  // after leases on other kinds of devices only
// Leases on other kinds that are kept while others are asked for, and how long each of those is waited for.
constexpr size_t kMostOfOtherKinds = 16;
constexpr absl::Duration kAnotherWait = absl::Milliseconds(300);
constexpr absl::Duration kFleetLook = absl::Milliseconds(100);
// A slot that could not measure, but is there, rests before it gets the next trial; twice as long each time.
constexpr absl::Duration kFirstRest = absl::Milliseconds(500), kLongestRest = absl::Seconds(30);

// One leased slot. Guarded by the fleet's mutex, but for the runner, which is thread-safe.
struct Lane {
  uint64_t number = 0;
  std::unique_ptr<LeasedRunner> runner;
  LeasedDevice device;
  std::string lacks;          // what it waits for, as it said last; empty: it measures
  uint64_t trials = 0;        // so far
  int running = 0;            // calls of run()
  size_t unacknowledged = 0;  // results
  int failures = 0;           // in a row
  rpc::Instant away_since = absl::InfiniteDuration();  // its device; infinite: it is there
  rpc::Instant rests_until = -absl::InfiniteDuration();
  rpc::Instant retires_until = absl::InfiniteDuration();  // once it is to be given back
  bool is_retiring = false;
  bool is_lost = false;  // cancelled, or its lease has ended: it leaves once nothing runs

  bool measures() const { return !is_retiring && !is_lost && lacks.empty(); }
};

absl::Status fleet_cancelled() {
  return absl::CancelledError("the fleet was cancelled");
}

class LaneRunner final : public FleetRunner {
 public:
  explicit LaneRunner(FleetOptions options) : options_(std::move(options)), target_(options_.target) {}

  ~LaneRunner() override {
    cancel();
    if (opening_.joinable()) opening_.join();
    if (tending_.joinable()) tending_.join();
    lanes_.clear();  // releases the leases
  }

  absl::Status begin() {
    std::vector<std::unique_ptr<LeasedRunner>> none;  // there is no kind yet
    TF_RETURN_IF_ERROR(open(options_.first_wait, none));
    if (options_.on_wait) options_.on_wait("");
    opening_ = std::thread([this] { keep_opening(); });
    tending_ = std::thread([this] { keep_tending(); });
    return absl::OkStatus();
  }

  absl::StatusOr<pb::TrialResult> run(const MeasureRequest& request) override {
    for (int lost = 0; lost < kMostLeasesLost;) {
      TF_ASSIGN_OR_RETURN(const std::shared_ptr<Lane> lane, take(request));
      absl::StatusOr<pb::TrialResult> result =
          scale_.run(*lane->runner, lane->device.slot_name(), slots() > 1, request);
      const bool has_ended = lane->runner->has_ended();
      const std::scoped_lock lock(mutex_);
      --lane->running;
      changed_.notify_all();
      if (result.ok()) {
        lane->failures = 0;
        if (!result->lease_id().empty()) ++lane->unacknowledged;
        return result;
      }
      if (cancelled_) return fleet_cancelled();
      if (!lane->is_lost && !has_ended) {
        if (may_retry(result.status())) rest(*lane);
        return result;
      }
      if (!std::exchange(lane->is_lost, true)) tell_slots();
      if (!absl::IsAborted(result.status())) ++lost;
    }
    return absl::UnavailableError(absl::StrCat("measurement failed: the leases of ", kMostLeasesLost,
                                               " devices ended during the trial"));
  }

  void acknowledge(const pb::TrialResult& result) override {
    const std::shared_ptr<Lane> lane = holder_of(result);
    if (lane) lane->runner->acknowledge(result);
  }

  int slots() const override {
    const std::scoped_lock lock(mutex_);
    return static_cast<int>(count_measuring());
  }

  absl::StatusOr<pb::DeviceState> device() override {
    const std::scoped_lock lock(mutex_);
    return first_.state();
  }

  double peak_gflops() override {
    const std::scoped_lock lock(mutex_);
    return first_.peak_gflops;
  }

  uint32_t gpu_units() override {
    const std::scoped_lock lock(mutex_);
    return first_.gpu_units;
  }

  void cancel() override {
    const std::scoped_lock lock(mutex_);
    cancelled_ = true;
    for (const auto& lane : lanes_) lane->runner->cancel();
    changed_.notify_all();
  }

  void set_target(FleetTarget target) override {
    const std::scoped_lock lock(mutex_);
    if (target == target_) return;
    target_ = std::move(target);
    changed_.notify_all();
  }

 private:
  using Lanes = std::vector<std::shared_ptr<Lane>>;

  // The functions below that take no lock of their own are called with the lock held, but for open() and
  // open_of_kind().

  size_t count_measuring() const {
    return static_cast<size_t>(
        std::ranges::count_if(lanes_, [](const auto& lane) { return lane->measures(); }));
  }

  std::shared_ptr<Lane> holder_of(const pb::TrialResult& result) {
    const std::scoped_lock lock(mutex_);
    for (const auto& lane : lanes_) {
      if (lane->device.lease_id != result.lease_id()) continue;
      if (lane->unacknowledged > 0) --lane->unacknowledged;
      changed_.notify_all();
      return lane;
    }
    return nullptr;  // nobody keeps it any more
  }

  // A slot for one more trial; waits for it.
  absl::StatusOr<std::shared_ptr<Lane>> take(const MeasureRequest& request) {
    const bool is_compared = !request.reference.digest.empty();
    std::unique_lock lock(mutex_);
    for (;;) {
      if (cancelled_) return fleet_cancelled();
      if (lanes_.empty()) TF_RETURN_IF_ERROR(hopeless_);
      if (const std::shared_ptr<Lane> lane =
              request.bench == 0 ? freest(is_compared) : lane_of(request.bench, is_compared)) {
        ++lane->running;
        ++lane->trials;
        return lane;
      }
      changed_.wait_for(lock, absl::ToChronoMilliseconds(kFleetLook));
    }
  }

  // Of those that have room the one with the least to do, then the one that had the least; null: none has.
  std::shared_ptr<Lane> freest(bool is_compared) const {
    const rpc::Instant now = rpc::real_clock().now();
    std::shared_ptr<Lane> best;
    for (const auto& lane : lanes_) {
      if (!lane->measures() || lane->rests_until > now || !has_room(*lane, is_compared)) continue;
      const auto load = [](const Lane& each) { return std::pair(each.running, each.trials); };
      if (!best || load(*lane) < load(*best)) best = lane;
    }
    return best;
  }

  // For a trial whose time is compared with others', a device whose pace is not known yet times a gauge
  // first, alone. Before there is a gauge, only one device measures.
  bool has_room(const Lane& lane, bool is_compared) const {
    if (!is_compared || scale_.knows(lane.device.slot_name())) return lane.running < kTrialsPerSlot;
    if (scale_.has_gauges()) return lane.running == 0;
    const auto first = std::ranges::find_if(lanes_, [](const auto& each) { return each->measures(); });
    return first != lanes_.end() && first->get() == &lane && lane.running < kTrialsPerSlot;
  }

  // The bench's own, if that has room. One that is to be given back finishes what it has begun.
  std::shared_ptr<Lane> lane_of(uint64_t bench, bool is_compared) {
    std::shared_ptr<Lane>& lane = benches_[bench];
    if (!lane || lane->is_lost) lane = least_benches();
    const bool is_ready = lane && lane->lacks.empty() && lane->rests_until <= rpc::real_clock().now();
    return is_ready && has_room(*lane, is_compared) ? lane : nullptr;
  }

  std::shared_ptr<Lane> least_benches() const {
    std::shared_ptr<Lane> best;
    int64_t least = 0;
    for (const auto& lane : lanes_) {
      if (!lane->measures()) continue;
      const int64_t benches =
          std::ranges::count_if(benches_, [&](const auto& each) { return each.second == lane; });
      if (!best || benches < least) best = lane, least = benches;
    }
    return best;
  }

  void rest(Lane& lane) {
    const absl::Duration rest = kFirstRest * (int64_t{1} << std::min(lane.failures++, 10));
    lane.rests_until = rpc::real_clock().now() + std::min(rest, kLongestRest);
  }

  // One more slot of the fleet's kind. The tracker always gives the same one of those that are free: so one of
  // another kind is kept until the next answer. Without the lock.
  absl::Status open_of_kind() {
    std::vector<std::unique_ptr<LeasedRunner>> others;
    const absl::Status first = open(kOpenWait, others);
    absl::Status last = first;
    for (size_t tries = 1; absl::IsFailedPrecondition(last) && others.size() == tries; ++tries) {
      if (tries == kMostOfOtherKinds || is_cancelled()) break;
      last = open(kAnotherWait, others);
    }
    return last.ok() ? last : first;
  }

  bool is_cancelled() const {
    const std::scoped_lock lock(mutex_);
    return cancelled_;
  }

  // One more slot, waited for so long. FAILED_PRECONDITION: it is of another kind, and added to `others`.
  // Without the lock.
  absl::Status open(absl::Duration wait, std::vector<std::unique_ptr<LeasedRunner>>& others) {
    const auto lane = std::make_shared<Lane>();
    lane->number = ++last_number_;
    const auto on_wait = [this, number = lane->number](const std::string& what) { waits(number, what); };
    TF_ASSIGN_OR_RETURN(lane->runner, options_.open(wait, on_wait));
    lane->device = lane->runner->leased_device();
    const std::scoped_lock lock(mutex_);
    if (lanes_.empty() && first_.lease_id.empty()) first_ = lane->device;
    if (lane->device.fingerprint != first_.fingerprint) {
      others.push_back(std::move(lane->runner));
      return absl::FailedPreconditionError(absl::StrCat(
          "device ", lane->device.device_id, " (", lane->device.cpu_model, ") differs in kind from ",
          first_.device_id, " (", first_.cpu_model, "): a job measures on one kind of device"));
    }
    lanes_.push_back(lane);
    lacks_.clear();
    tell_slots();
    return absl::OkStatus();
  }

  // By a lane's own thread, which must not be the one that destroys it.
  void waits(uint64_t number, const std::string& what) {
    const std::scoped_lock lock(mutex_);
    for (const auto& lane : lanes_)
      if (lane->number == number) lane->lacks = what;
    tell_slots();
  }

  void tell_slots() {
    has_news_ = true;
    changed_.notify_all();
  }

  // Those who look on, of what has changed: without the lock, for they may be told something by the fleet's
  // owner meanwhile.
  void tell(std::unique_lock<std::mutex>& lock) {
    has_news_ = false;
    std::vector<LeasedDevice> measuring;
    std::string lacks = lacks_;
    for (const auto& lane : lanes_) {
      if (lane->measures()) measuring.push_back(lane->device);
      if (!lane->lacks.empty() && lacks.empty()) lacks = lane->lacks;
    }
    if (!measuring.empty()) lacks.clear();
    const auto name = [](const LeasedDevice& device) { return device.lease_id; };
    const bool has_moved = !std::ranges::equal(measuring, told_slots_, {}, name, name);
    const bool waits_for_other = lacks != told_lacks_;
    told_slots_ = measuring;
    told_lacks_ = lacks;
    lock.unlock();
    if (has_moved && options_.on_slots) options_.on_slots(measuring);
    if (waits_for_other && options_.on_wait) options_.on_wait(lacks);
    lock.lock();
  }

  // For longer than it may be before others take its place.
  bool is_stuck(const Lane& lane) const {
    return rpc::real_clock().now() >= lane.away_since + options_.away_grace;
  }

  // A slot that waits for the tracker, or whose device may soon be back, needs no other in its place.
  bool wants_more() const {
    const auto is_kept = [this](const auto& lane) {
      return !lane->is_retiring && !lane->is_lost && !is_stuck(*lane);
    };
    return static_cast<size_t>(std::ranges::count_if(lanes_, is_kept)) < target_.slots;
  }

  void keep_opening() {
    std::unique_lock lock(mutex_);
    while (!cancelled_) {
      if (!wants_more()) {
        changed_.wait_for(lock, absl::ToChronoMilliseconds(kFleetLook));
        continue;
      }
      lock.unlock();
      const absl::Status opened = open_of_kind();
      lock.lock();
      if (opened.ok()) {
        hopeless_ = absl::OkStatus();
        continue;
      }
      lacks_ = std::string(opened.message());
      const bool is_other_kind = absl::IsFailedPrecondition(opened);
      if (!may_retry(opened) && !is_other_kind) hopeless_ = opened;
      tell_slots();
      const rpc::Instant again = rpc::real_clock().now() + (is_other_kind ? kOtherKindAgain : kOpenAgain);
      while (!cancelled_ && rpc::real_clock().now() < again)
        changed_.wait_for(lock, absl::ToChronoMilliseconds(kFleetLook));
    }
  }

  void keep_tending() {
    std::unique_lock lock(mutex_);
    while (!cancelled_) {
      tend();
      if (has_news_) tell(lock);
      Lanes gone = take_gone();
      if (!gone.empty()) {
        lock.unlock();
        gone.clear();  // releases their leases, which may take a while
        lock.lock();
        continue;
      }
      if (!has_news_) changed_.wait_for(lock, absl::ToChronoMilliseconds(kFleetLook));
    }
  }

  // Who is to leave the fleet.
  void tend() {
    bool has_changed = false;
    for (const auto& lane : lanes_) {
      if (lane->is_lost) continue;
      if (!lane->runner->is_device_away()) {
        lane->away_since = absl::InfiniteDuration();
      } else {
        lane->away_since = std::min(lane->away_since, rpc::real_clock().now());
      }
      // One whose device stays away while others measure is given up. One whose lease has ended, or makes
      // room for another, comes to its end by itself; so does one that misses the tracker, which they all do.
      const bool is_given_up = is_stuck(*lane) && count_measuring() > 0;
      if (is_given_up) lane->runner->cancel();
      if (is_given_up || lane->runner->has_ended()) lane->is_lost = has_changed = true;
    }
    for (size_t too_many = surplus(); const auto& lane : lanes_) {
      if (!lane->measures()) continue;
      const bool is_asked_for = target_.give_back.contains(lane->device.slot_name());
      if (!is_asked_for && too_many == 0) continue;
      if (too_many > 0) --too_many;
      lane->is_retiring = has_changed = true;
      lane->retires_until = rpc::real_clock().now() + kMostRetiring;
    }
    if (has_changed) tell_slots();
  }

  // How many more measure than are wanted, those aside that are asked for by name.
  size_t surplus() const {
    size_t kept = 0;
    for (const auto& lane : lanes_)
      kept += lane->measures() && !target_.give_back.contains(lane->device.slot_name());
    return kept > target_.slots ? kept - target_.slots : 0;
  }

  Lanes take_gone() {
    const rpc::Instant now = rpc::real_clock().now();
    Lanes gone;
    std::erase_if(lanes_, [&](const std::shared_ptr<Lane>& lane) {
      const bool is_done = lane->unacknowledged == 0 || now >= lane->retires_until;
      if (lane->running > 0 || !(lane->is_lost || (lane->is_retiring && is_done))) return false;
      lane->is_lost = true;
      std::erase_if(benches_, [&](const auto& each) { return each.second == lane; });
      gone.push_back(lane);
      return true;
    });
    return gone;
  }

  const FleetOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  FleetTarget target_;
  Lanes lanes_;
  std::map<uint64_t, std::shared_ptr<Lane>> benches_;
  ScaledTrials scale_;
  LeasedDevice first_;     // the first slot there ever was
  std::string lacks_;      // why the last request for a slot failed
  absl::Status hopeless_;  // no request for a slot will fare better
  std::vector<LeasedDevice> told_slots_;
  std::string told_lacks_;
  bool has_news_ = false;  // for those who look on
  bool cancelled_ = false;
  uint64_t last_number_ = 0;  // of the thread that opens
  std::thread opening_, tending_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<FleetRunner>> FleetRunner::connect(FleetOptions options) {
  auto fleet = std::make_unique<LaneRunner>(std::move(options));
  TF_RETURN_IF_ERROR(fleet->begin());
  return fleet;
}

}  // namespace tf::measure
