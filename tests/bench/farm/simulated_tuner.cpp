#include "tests/bench/farm/simulated_tuner.h"

#include <atomic>
#include <random>

#include "absl/strings/str_cat.h"
#include "database/store.h"
#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/backoff.h"
#include "rpc/connection/channel.h"
#include "rpc/connection/protocol.h"
#include "tests/bench/farm/acknowledged.h"
#include "tests/bench/farm/artifact_calls.h"
#include "tests/bench/farm/load_artifacts.h"
#include "tests/bench/farm/stream.h"
#include "tests/farm/stored_candidates.h"

namespace tf::farm_load {
namespace {

namespace pb = tunefarm::farm::v1;

constexpr absl::Duration kWait = absl::Seconds(60);

double milliseconds_since(SteadyClock::time_point begin) {
  return std::chrono::duration<double, std::milli>(SteadyClock::now() - begin).count();
}

// A unary call and all that must live as long as it.
template <typename Request, typename Reply>
struct Call {
  grpc::ClientContext context;
  Request request;
  Reply reply;
};

}  // namespace

class SimulatedTuner::Impl {
 public:
  Impl(int number, const TunerPlan& plan, std::shared_ptr<grpc::Channel> channel, LoadArtifacts& artifacts,
       database::Store& store, Acknowledged& acknowledged, Alarms& alarms, Tally& tally)
      : name_(absl::StrCat("tuner ", number)),
        plan_(plan),
        artifacts_(artifacts),
        store_(store),
        acknowledged_(acknowledged),
        alarms_(alarms),
        tally_(tally),
        backoff_(rpc::backoff_seed()),
        stub_(pb::Tuners::NewStub(channel)),
        random_(static_cast<uint64_t>(number)) {}

  void start() {
    if (stopping_) return;
    acquire(++tally_.wanting > plan_.devices);
  }

  void stop() { stopping_ = true; }
  int64_t stored() const { return stored_; }

 private:
  class Session final : public Stream<pb::MeasureRequest, pb::MeasureReply> {
   public:
    explicit Session(Impl& tuner) : tuner_(tuner) {}

   private:
    void received(const pb::MeasureReply& reply) override { tuner_.keep(reply); }
    void ended(const grpc::Status& status) override { tuner_.stream_ended(status); }
    Impl& tuner_;
  };

  // `queued`: there may be no device that is free.
  void acquire(bool queued) {
    auto call = std::make_shared<Call<pb::AcquireLeaseRequest, pb::LeaseGrant>>();
    call->request.set_protocol_version(rpc::kProtocolVersion);
    call->request.set_device_key(plan_.key);
    call->request.set_wait_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(kWait)));
    call->request.set_holder(name_);
    call->request.set_holder_run("1");
    rpc::set_deadline(call->context, kWait + absl::Seconds(10));
    const auto asked = SteadyClock::now();
    stub_->async()->AcquireLease(
        &call->context, &call->request, &call->reply, [this, call, asked, queued](grpc::Status status) {
          if (!status.ok()) {
            return again("AcquireLease: " + status.error_message(), [this, queued] { acquire(queued); });
          }
          tally_.grant_took(milliseconds_since(asked), queued);
          lease_ = call->reply;
          chosen_ = 0;
          sent_ = 0;
          kept_ = 0;
          open_stream();
        });
  }

  pb::LeaseName lease_name() const {
    pb::LeaseName name;
    name.set_lease_id(lease_.lease_id());
    name.set_epoch(lease_.epoch());
    return name;
  }

  void again(const std::string& trouble, std::function<void()> what) {
    tally_.lost_connection(trouble);
    alarms_.after(absl::ToChronoNanoseconds(backoff_.next()), std::move(what));
  }

  void open_stream() {
    auto* session = new Session(*this);
    session->context().set_wait_for_ready(true);
    pb::MeasureRequest hello;
    hello.mutable_hello()->set_protocol_version(rpc::kProtocolVersion);
    *hello.mutable_hello()->mutable_lease() = lease_name();
    {
      const std::scoped_lock lock(mutex_);
      session_ = session;
    }
    stub_->async()->Measure(&session->context(), session);
    session->begin(std::move(hello));
    const std::scoped_lock lock(mutex_);
    for (int i = 0; i < plan_.trials_ahead; ++i) send_next();
  }

  // Called with the lock held.
  void send_next() {
    if (!session_ || chosen_ == plan_.trials_a_lease) return;
    ++chosen_;
    const size_t artifact = random_() % artifacts_.count();
    artifacts_.travel() && !artifacts_.is_uploaded(artifact) ? upload(artifact) : send(artifact);
  }

  // What the tracker lacks goes there before the trial that names it.
  void upload(size_t artifact) {
    farm_load::upload(*stub_, artifacts_.digest(artifact), LoadArtifacts::bytes(artifact),
                      [this, artifact, lease = lease_.lease_id()](const absl::Status& uploaded) {
                        if (uploaded.ok()) {
                          ++tally_.uploads;
                          artifacts_.set_uploaded(artifact);
                        } else {
                          tally_.lost_connection("UploadArtifact: " + std::string(uploaded.message()));
                        }
                        const std::scoped_lock lock(mutex_);
                        if (!session_ || lease != lease_.lease_id()) return;
                        if (uploaded.ok()) return send(artifact);
                        alarms_.after(kTryAgain, [this, artifact, lease] {
                          const std::scoped_lock again(mutex_);
                          if (session_ && lease == lease_.lease_id()) upload(artifact);
                        });
                      });
  }

  // Called with the lock held.
  void send(size_t artifact) {
    pb::MeasureRequest message;
    pb::Assignment& assignment = *message.mutable_assignment();
    assignment.set_sequence(static_cast<uint64_t>(++sent_));
    pb::Trial& trial = *assignment.mutable_trial();
    trial.set_artifact_digest(artifacts_.digest(artifact));
    trial.set_input_seed(1);
    trial.set_threads(1);
    trial.mutable_options()->set_samples(5);
    trial.mutable_options()->set_min_sample_ns(5'000'000);
    trial.mutable_options()->set_cache_mode(pb::CACHE_MODE_ROTATE);
    trial.mutable_limits()->set_run_timeout_ns(10'000'000'000);
    session_->write(std::move(message));
  }

  void keep(const pb::MeasureReply& reply) {
    if (!reply.has_result()) return tally_.error("could not measure: " + reply.failure().message());
    const pb::TrialResult& result = reply.result();
    database::Measurement row =
        farm_test::measurement_of(absl::StrCat(result.lease_id(), " ", reply.sequence()), result);
    row.lease->slot = absl::StrCat(lease_.device_id(), "/", lease_.slot());
    const auto inserted = SteadyClock::now();
    store_.insert_async(
        row, database::Origin::kLive,
        [this, stamp = *row.lease, inserted](const absl::StatusOr<database::InsertResult>& kept) {
          if (!kept.ok()) return tally_.error("insert: " + std::string(kept.status().message()));
          tally_.commit_took(milliseconds_since(inserted));
          acknowledged_.add(stamp);
          if (!kept->duplicate) ++tally_.durable;
          stored(stamp.sequence);
        });
    const std::scoped_lock lock(mutex_);
    send_next();
  }

  void stored(uint64_t sequence) {
    ++stored_;
    const std::scoped_lock lock(mutex_);
    if (!session_) return;
    pb::MeasureRequest message;
    message.mutable_acknowledgement()->add_sequences(sequence);
    session_->write(std::move(message));
    if (++kept_ == plan_.trials_a_lease) session_->half_close();
  }

  // All is stored, or the stream was lost: either way the next lease.
  void stream_ended(const grpc::Status& status) {
    bool complete = false;
    {
      const std::scoped_lock lock(mutex_);
      session_ = nullptr;
      complete = kept_ == plan_.trials_a_lease;
    }
    if (!complete) tally_.lost_connection("tuner's stream: " + status.error_message());
    release();
  }

  // Until the tracker has heard of it: a lease that nobody ends keeps its slot for the rest of its term.
  void release() {
    auto call = std::make_shared<Call<pb::LeaseName, pb::ReleaseLeaseReply>>();
    call->request = lease_name();
    rpc::set_deadline(call->context, absl::Seconds(10));
    stub_->async()->ReleaseLease(
        &call->context, &call->request, &call->reply, [this, call](grpc::Status released) {
          if (!released.ok())
            return again("ReleaseLease: " + released.error_message(), [this] { release(); });
          backoff_.reset();
          --tally_.wanting;
          start();
        });
  }

  const std::string name_;
  const TunerPlan plan_;
  LoadArtifacts& artifacts_;
  database::Store& store_;
  Acknowledged& acknowledged_;
  Alarms& alarms_;
  Tally& tally_;
  rpc::Backoff backoff_;
  const std::unique_ptr<pb::Tuners::Stub> stub_;
  std::atomic<bool> stopping_ = false;
  std::atomic<int64_t> stored_ = 0;

  std::mutex mutex_;
  std::mt19937_64 random_;
  pb::LeaseGrant lease_;
  Session* session_ = nullptr;
  int chosen_ = 0;  // trials begun, with their artifacts under way
  int sent_ = 0;
  int kept_ = 0;
};

SimulatedTuner::SimulatedTuner(int number, const TunerPlan& plan, std::shared_ptr<grpc::Channel> channel,
                               LoadArtifacts& artifacts, database::Store& store, Acknowledged& acknowledged,
                               Alarms& alarms, Tally& tally)
    : impl_(std::make_unique<Impl>(number, plan, std::move(channel), artifacts, store, acknowledged, alarms,
                                   tally)) {}

SimulatedTuner::~SimulatedTuner() = default;

void SimulatedTuner::start() {
  impl_->start();
}

void SimulatedTuner::stop() {
  impl_->stop();
}

int64_t SimulatedTuner::stored() const {
  return impl_->stored();
}

}  // namespace tf::farm_load
