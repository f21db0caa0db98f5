#include "tuner/measure/farm_runner.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/remedy.h"
#include "base/status.h"
#include "base/testing/failpoint.h"
#include "proto/farm/v1/farm.pb.h"
#include "rpc/backoff.h"
#include "rpc/clock.h"
#include "rpc/connection/channel.h"
#include "rpc/daemon/log_fields.h"
#include "rpc/identity/artifact_signature.h"
#include "rpc/transfer/flow_limits.h"
#include "tuner/measure/farm_link.h"
#include "tuner/measure/held_lease.h"
#include "tuner/measure/measure_stream.h"
#include "tuner/measure/silence.h"
#include "tuner/measure/waits.h"

namespace tf::measure {
namespace {

namespace pb = tunefarm::farm::v1;

static_assert(kMostUnacknowledged <= rpc::FlowLimits().replies);

constexpr absl::Duration kAcquireWait = absl::Seconds(30);
constexpr absl::Duration kFirstAcquireWait = absl::Seconds(5);  // until its holder hears what it waits for
constexpr absl::Duration kConnectWait = absl::Seconds(1);       // also how long cancel() may have to wait
constexpr absl::Duration kLook = absl::Milliseconds(500);       // whether the device is silent, the term over
// An artifact that the tracker evicts this often between upload and use means that its store is far too
// small.
constexpr int kMaxUploads = 4;
// A trial whose leases end this often before it is answered may be what ends them: a candidate that takes the
// agent or the whole device down.
constexpr int kMaxLostLeases = 3;

// The way to the device failed, and another attempt may succeed.
bool is_transient(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) || absl::IsAborted(status) ||
         absl::IsCancelled(status) || absl::IsInternal(status) || absl::IsUnknown(status);
}

// The tracker aborts a request for a lease when a newer run of its holder has asked: no attempt of this
// runner will fare better. A later one may, once that run is gone.
absl::Status superseded(const absl::Status& aborted) {
  return absl::UnavailableError(absl::StrCat("the tracker refuses leases to this run: ", aborted.message()));
}

// The only lease of a runner has ended: ABORTED if it made room for another holder, or if the trial had not
// begun, else UNAVAILABLE, because the trial may be the reason.
absl::Status lease_ended(const std::string& device, bool made_room) {
  const std::string what = absl::StrCat("the lease on device ", device, " has ended");
  return made_room ? absl::AbortedError(what) : absl::UnavailableError(what);
}

// The device of a secured farm loads only what somebody whom it trusts stands for.
void sign(rpc::ArtifactSigner& signer, pb::Trial& trial) {
  pb::Signatures& signatures = *trial.mutable_signatures();
  signatures.set_certificate(signer.certificate());
  signatures.set_artifact(signer.sign(trial.artifact_digest()));
  if (!trial.reference_digest().empty()) signatures.set_reference(signer.sign(trial.reference_digest()));
}

uint64_t size_of(const ArtifactBytes& artifact) {
  return artifact.bytes ? artifact.bytes->size() : 0;
}

class TrialRelay final : public FarmRunner {
 public:
  TrialRelay(FarmRunnerOptions options, std::unique_ptr<FarmLink> link, LeasedDevice first)
      : options_(std::move(options)),
        signer_(options_.credentials ? std::make_unique<rpc::ArtifactSigner>(options_.credentials) : nullptr),
        link_(std::move(link)),
        first_device_(first.device_id),
        device_(first),
        held_(std::move(first)),
        term_ends_(rpc::real_clock().now() + options_.term),
        silence_(options_.silence),
        waits_(options_.on_wait) {
    keeping_ = std::thread([this] { keep_stream(); });
    renewing_ = std::thread([this] { keep_renewing(); });
  }

  ~TrialRelay() override {
    cancel();
    keeping_.join();
    renewing_.join();
    if (held_.lease()) link_->release(*held_.lease());
  }

  absl::StatusOr<pb::TrialResult> run(const MeasureRequest& request) override {
    pb::Trial trial = *request.trial;
    trial.set_artifact_digest(request.candidate.digest);
    trial.set_reference_digest(request.reference.digest);
    if (signer_) sign(*signer_, trial);
    const uint64_t artifact_bytes = size_of(request.candidate) + size_of(request.reference);
    int lost_leases = 0;
    for (int uploads = 0; uploads < kMaxUploads;) {
      if (lost_leases == kMaxLostLeases) {
        return absl::UnavailableError(absl::StrCat(device_id(), " failed to measure: the lease ended ",
                                                   lost_leases, " times during the trial"));
      }
      TF_RETURN_IF_ERROR(upload(request.candidate));
      if (!request.reference.digest.empty()) TF_RETURN_IF_ERROR(upload(request.reference));
      TF_ASSIGN_OR_RETURN(const Attempt attempt, measure_once(trial, artifact_bytes));
      const std::optional<pb::MeasureReply>& reply = attempt.reply;
      if (!reply) {
        if (options_.one_lease) return lease_ended(first_device_, attempt.made_room);
        if (!attempt.made_room) ++lost_leases;
        continue;
      }
      if (reply->has_result()) return reply->result();
      const pb::Failure& failure = reply->failure();
      switch (failure.kind()) {
        case pb::FAILURE_KIND_ARTIFACT_MISSING:
          link_->forget(request.candidate.digest);
          link_->forget(request.reference.digest);
          ++uploads;
          continue;
        case pb::FAILURE_KIND_STALE_EPOCH:
          if (options_.one_lease) return lease_ended(first_device_, /*made_room=*/false);
          ++lost_leases;  // received() has given it up
          continue;
        case pb::FAILURE_KIND_REFUSED:
          return absl::InvalidArgumentError(
              absl::StrCat(device_id(), " refused the trial: ", failure.message()));
        default:
          return absl::UnavailableError(absl::StrCat(device_id(), " failed to measure: ", failure.message()));
      }
    }
    return absl::ResourceExhaustedError(
        "the tracker's artifact store is too small: an artifact was evicted before its trial");
  }

  void acknowledge(const pb::TrialResult& result) override {
    std::unique_lock lock(mutex_);
    if (!held_.set_durable(result)) return;  // nobody keeps it any more
    const std::shared_ptr<MeasureStream> stream = stream_;
    lock.unlock();
    // Lost with the stream? Then the farm sends the result again, and received() acknowledges it again.
    if (stream) stream->acknowledge(result.sequence());
    killpoint("tuner.acknowledgement.sent");
  }

  LeasedDevice leased_device() const override {
    const std::scoped_lock lock(mutex_);
    return device_;
  }

  bool is_direct() const override { return link_->route()->direct.has_value(); }

  bool has_ended() const override {
    const std::scoped_lock lock(mutex_);
    return cancelled_ || !hopeless_.ok() || is_over();
  }

  bool is_device_away() const override {
    const std::scoped_lock lock(mutex_);
    return is_device_away_;
  }

  void cancel() override {
    const std::scoped_lock lock(mutex_);
    cancelled_ = true;
    if (stream_) stream_->context.TryCancel();
    link_->cancel();
    changed_.notify_all();
  }

 private:
  struct Attempt {
    std::optional<pb::MeasureReply> reply;  // absent: the lease ended before it came
    bool made_room = false;
  };

  std::string device_id() const {
    const std::scoped_lock lock(mutex_);
    return absl::StrCat("device ", device_.device_id);
  }

  // Waits out a tracker that is away.
  absl::Status upload(const ArtifactBytes& artifact) {
    for (rpc::Backoff backoff(rpc::backoff_seed());;) {
      const absl::Status status = link_->upload(artifact);
      if (status.ok() || !is_transient(status)) return status;
      TF_RETURN_IF_ERROR(pause(backoff.next()));
    }
  }

  absl::Status pause(absl::Duration delay) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, absl::ToChronoMilliseconds(delay),
                      [this] { return cancelled_ || !hopeless_.ok(); });
    return cancelled_ ? FarmLink::cancelled() : hopeless_;
  }

  absl::StatusOr<Attempt> measure_once(const pb::Trial& trial, uint64_t artifact_bytes) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock,
                  [this] { return cancelled_ || !hopeless_.ok() || held_.begins_trials() || is_over(); });
    if (cancelled_) return FarmLink::cancelled();
    TF_RETURN_IF_ERROR(hopeless_);
    if (is_over()) return lease_ended(first_device_, /*made_room=*/true);
    if (held_.unanswered().empty()) silence_.broken(rpc::real_clock().now());
    const std::shared_ptr<PendingTrial> pending = held_.add(trial, artifact_bytes);
    const std::shared_ptr<MeasureStream> stream = stream_;
    lock.unlock();
    if (stream) stream->send(pending->sequence, trial);  // else the next stream begins with it
    lock.lock();
    changed_.wait(lock, [&] { return cancelled_ || !hopeless_.ok() || pending->lost || pending->reply; });
    if (pending->reply) return Attempt{.reply = pending->reply};
    if (!pending->lost) held_.forget(pending->sequence);
    if (cancelled_) return FarmLink::cancelled();
    if (!pending->lost) return hopeless_;
    return Attempt{.reply = std::nullopt, .made_room = pending->made_room};
  }

  void keep_stream() {
    rpc::Backoff backoff(rpc::backoff_seed());
    while (true) {
      const bool is_connected = rpc::wait_until_connected(*link_->channel(), kConnectWait);
      if (is_hopeless()) return;
      if (!is_connected) {
        lacks_lease_ = false;  // for all that is known
        waits_.set_of_stream(no_tracker());
        continue;
      }
      const absl::StatusOr<LeasedDevice> lease = ensure_lease();
      lacks_lease_ = !lease.ok();
      if (lease.ok()) waits_.set_of_stream("");
      bool worked = false;
      const absl::Status status = lease.ok() ? run_stream(worked) : lease.status();
      if (worked) backoff.reset();
      std::unique_lock lock(mutex_);
      if (cancelled_) return;
      if (lease.ok() && absl::IsNotFound(status)) {
        if (held_.is(*lease)) {
          spdlog::warn(std::string(status.message()));
          drop_lease();
        }
        continue;
      }
      // As many of our user's requests wait as may: one of them will be served.
      const bool over_quota = !lease.ok() && absl::IsResourceExhausted(status);
      if (!lease.ok() && absl::IsAborted(status)) {
        hopeless_ = superseded(status);
      } else if (!status.ok() && !is_transient(status) && !over_quota) {
        hopeless_ = status;  // no such device, for one
      }
      if (!hopeless_.ok()) {
        changed_.notify_all();
        return;
      }
      spdlog::debug(absl::StrCat("farm stream: ", code_and_message(status)));
      if (!lease.ok()) {
        lock.unlock();
        waits_.set_of_stream(std::string(status.message()));
        lock.lock();
      }
      changed_.wait_for(lock, absl::ToChronoMilliseconds(backoff.next()), [this] { return cancelled_; });
    }
  }

  bool is_hopeless() const {
    const std::scoped_lock lock(mutex_);
    return cancelled_ || !hopeless_.ok();
  }

  // With the lock held: the one lease that this runner was to have begins no more trials.
  bool is_over() const { return options_.one_lease && !held_.begins_trials(); }

  std::string no_tracker() const { return absl::StrCat("no tracker answers at ", options_.tracker.text()); }

  // With the lock held.
  std::string no_device() const {
    return absl::StrCat("device ", device_.device_id, " is away: its lease ends unless it returns soon");
  }

  // Called with the lock held.
  void drop_lease() {
    held_.drop();
    if (options_.one_lease && hopeless_.ok()) hopeless_ = lease_ended(first_device_, /*made_room=*/true);
    is_device_away_ = false;
    changed_.notify_all();
  }

  absl::StatusOr<LeasedDevice> ensure_lease() {
    {
      const std::scoped_lock lock(mutex_);
      if (cancelled_) return FarmLink::cancelled();
      if (held_.lease()) return *held_.lease();
    }
    TF_ASSIGN_OR_RETURN(LeasedDevice lease, link_->acquire(lacks_lease_ ? kAcquireWait : kFirstAcquireWait));
    const std::scoped_lock lock(mutex_);
    const rpc::LogFields about({{"device", lease.device_id}, {"lease", lease.lease_id}});
    spdlog::info(absl::StrCat("lease ", lease.lease_id, " on device ", lease.device_id));
    device_ = lease;
    held_.begin(lease);
    term_ends_ = rpc::real_clock().now() + options_.term;
    changed_.notify_all();
    return lease;
  }

  // One Measure stream from its beginning to its end. `worked`: a message came.
  absl::Status run_stream(bool& worked) {
    const auto stream = std::make_shared<MeasureStream>();
    const std::shared_ptr<FarmLink::Route> route = link_->route();
    stream->begin(route->channel);
    std::optional<LeasedDevice> lease;
    HeldLease::Pending unanswered;
    {
      const std::scoped_lock lock(mutex_);
      if (cancelled_ || !held_.lease()) return FarmLink::cancelled();
      lease = held_.lease();
      // From here on run() writes its trial itself; those before are ours to send. The write lock is taken
      // first, so that nobody writes before the hello.
      stream->writing.lock();
      stream_ = stream;
      silence_.stream_begins(rpc::real_clock().now());
      unanswered = held_.unanswered();
    }
    stream->say_hello(*lease);
    stream->writing.unlock();
    for (const auto& [sequence, pending] : unanswered) stream->send(sequence, pending->trial);
    pb::MeasureReply reply;
    while (stream->stream->Read(&reply)) {
      worked = true;
      killpoint("tuner.reply.received");
      received(*stream, std::move(reply));
    }
    {
      const std::scoped_lock lock(mutex_);
      stream_ = nullptr;
      silence_.stream_ends(rpc::real_clock().now());
    }
    const grpc::Status finished = stream->finish();
    if (!route->direct) return link_->error_on(*route, finished);
    {
      const std::scoped_lock lock(mutex_);
      if (cancelled_) return FarmLink::cancelled();
    }
    // Whether the lease is over only the tracker can say: that is where we go on.
    link_->leave_route(route, std::string(link_->error_on(*route, finished).message()));
    worked = true;
    return absl::OkStatus();
  }

  void received(MeasureStream& stream, pb::MeasureReply reply) {
    std::unique_lock lock(mutex_);
    const uint64_t sequence = reply.sequence();
    const bool is_failure = reply.has_failure();
    const bool stale = reply.failure().kind() == pb::FAILURE_KIND_STALE_EPOCH;
    if (!held_.answer(std::move(reply))) {
      // Sent again because our acknowledgement was lost, or because it is not durable here yet.
      const bool again = held_.is_durable(sequence);
      lock.unlock();
      if (again) stream.acknowledge(sequence);
      return;
    }
    silence_.broken(rpc::real_clock().now());
    is_device_away_ = false;
    const std::optional<LeasedDevice> given_up = stale ? held_.lease() : std::nullopt;
    if (stale) drop_lease();
    changed_.notify_all();
    lock.unlock();
    if (is_failure && !stale) stream.acknowledge(sequence);
    if (given_up) {
      link_->release(*given_up);
      stream.context.TryCancel();
    }
  }

  void keep_renewing() {
    std::unique_lock lock(mutex_);
    const absl::Duration third = options_.term / 3;
    // Until a renewal that nobody has answered is repeated: soon, to hear when the tracker is back, and not
    // when all the other tuners try again.
    rpc::Backoff unanswered(rpc::backoff_seed(), {.first = std::min(absl::Seconds(1), third),
                                                  .longest = std::min(absl::Seconds(5), third)});
    rpc::Instant renew_at = rpc::real_clock().now() + third;
    bool is_heard = true;  // by the tracker, the last time
    while (true) {
      const absl::Duration left = std::min(renew_at - rpc::real_clock().now(), kLook);
      changed_.wait_for(lock, absl::ToChronoMilliseconds(left),
                        [this] { return cancelled_ || has_made_room(); });
      if (cancelled_) return;
      end_silence(lock);
      if (has_made_room()) give_back(lock, *held_.lease());
      // Its agent begins no trial from then on, and keeps the stream: nobody else hears of it.
      const bool stands_still = !is_heard && is_term_over();
      const std::string waits_for = stands_still ? no_tracker() : is_device_away_ ? no_device() : "";
      lock.unlock();
      waits_.set_of_lease(waits_for);
      lock.lock();
      if (rpc::real_clock().now() < renew_at) continue;
      const rpc::Instant due = rpc::real_clock().now();
      if (!held_.begins_trials() && !is_term_over()) {
        renew_at = due + third;
        continue;
      }
      const std::optional<LeasedDevice> lease = held_.lease();
      lock.unlock();
      const absl::StatusOr<bool> is_away = link_->renew(*lease);
      const absl::Status& status = is_away.status();
      lock.lock();
      is_heard = !absl::IsUnavailable(status) && !absl::IsDeadlineExceeded(status);
      if (held_.is(*lease)) is_device_away_ = is_away.ok() && *is_away;
      // Of a device that is away, too, it wants to hear soon that it is back.
      const bool is_answered = is_heard && !is_device_away_;
      if (is_answered) unanswered.reset();
      renew_at = is_answered ? due + third : rpc::real_clock().now() + unanswered.next();
      if (status.ok() && held_.is(*lease)) term_ends_ = rpc::real_clock().now() + options_.term;
      if (absl::IsAborted(status) && held_.is(*lease) && held_.begins_trials()) make_room(status);
      // The stream ends by itself when the tracker ends the lease; only a half-dead one needs help.
      if (absl::IsNotFound(status) && held_.is(*lease) && stream_) stream_->context.TryCancel();
    }
  }

  // With the lock held: of the present lease, for all that the tracker has said.
  bool is_term_over() const { return held_.lease() && rpc::real_clock().now() >= term_ends_; }

  // With the lock held.
  void end_silence(std::unique_lock<std::mutex>& lock) {
    if (held_.unanswered().empty()) return;
    const LongestTrial longest = held_.longest_unanswered();
    const std::string lasted = absl::FormatDuration(absl::Trunc(silence_.longest(longest), absl::Seconds(1)));
    const Remedy remedy = silence_.remedy(rpc::real_clock().now(), longest);
    const bool again = remedy == Remedy::kTellAgain;
    if (remedy == Remedy::kNone) return;
    spdlog::warn(absl::StrCat("device ", device_.device_id, " has not answered any of ",
                              held_.unanswered().size(), " trials for ", lasted, ": ",
                              again ? "they are sent again through the tracker" : "its lease is released"));
    if (!again) {
      give_back(lock, *held_.lease());
    } else if (stream_) {
      stream_->context.TryCancel();
    }
  }

  // With the lock held.
  void give_back(std::unique_lock<std::mutex>& lock, const LeasedDevice lease) {
    const std::shared_ptr<MeasureStream> stream = stream_;
    drop_lease();
    lock.unlock();
    link_->release(lease);  // before the end of the stream makes keep_stream() ask for the next one
    if (stream) stream->context.TryCancel();
    lock.lock();
  }

  // With the lock held. Another has a claim to the slot: what is under way comes to its end there, as long as
  // the present term lasts and the device is not silent; what comes after it waits for the next lease.
  void make_room(const absl::Status& why) {
    spdlog::info(std::string(why.message()));
    held_.make_room();
  }
  bool has_made_room() const { return held_.makes_room() && held_.unanswered().empty(); }

  const FarmRunnerOptions options_;
  const std::unique_ptr<rpc::ArtifactSigner> signer_;  // null: plain text
  const std::unique_ptr<FarmLink> link_;
  const std::string first_device_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  LeasedDevice device_;
  HeldLease held_;
  rpc::Instant term_ends_;       // of it
  bool is_device_away_ = false;  // of it, as the tracker has said last
  std::shared_ptr<MeasureStream> stream_;
  Silence silence_;
  absl::Status hopeless_;  // no attempt will get better
  bool cancelled_ = false;
  Waits waits_;               // told without the lock
  bool lacks_lease_ = false;  // which the tracker has said; of the thread that keeps the stream
  std::thread keeping_;
  std::thread renewing_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<FarmRunner>> FarmRunner::connect(FarmRunnerOptions options) {
  TF_RETURN_IF_ERROR(rpc::require_protection(options.tracker, "--tracker", options.credentials));
  auto link = std::make_unique<FarmLink>(options);
  absl::StatusOr<LeasedDevice> first = link->acquire(options.first_wait);
  if (absl::IsAborted(first.status())) return superseded(first.status());
  TF_RETURN_IF_ERROR(first.status());
  if (options.on_wait) options.on_wait("");
  return std::make_unique<TrialRelay>(std::move(options), std::move(link), *std::move(first));
}

}  // namespace tf::measure
