#include <deque>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status.h"
#include "base/testing/failpoint.h"
#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/access/call_guard.h"
#include "rpc/connection/call_pool.h"
#include "rpc/connection/protocol.h"
#include "rpc/connection/unary_call.h"
#include "rpc/transfer/artifact_store.h"
#include "rpc/transfer/flow_limits.h"
#include "rpc/transfer/transfer.h"
#include "rpc/transfer/transfer_budget.h"
#include "tracker/leases/device_wire.h"
#include "tracker/leases/names.h"
#include "tracker/service/duplex_stream.h"
#include "tracker/service/services.h"

namespace tf::tracker {
namespace {

namespace pb = tunefarm::farm::v1;

void to_proto(const Grant& grant, pb::LeaseGrant& message) {
  message.set_lease_id(grant.lease.id.text);
  message.set_epoch(grant.lease.epoch);
  message.set_term_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(grant.lease.term)));
  message.set_device_id(grant.device->id);
  message.set_slot(grant.lease.slot.slot);
  message.set_threads(grant.threads);
  message.set_device_is_away(grant.is_away);
  pb::AgentHello hello;
  if (!hello.ParseFromString(grant.device->hello)) return;
  message.mutable_facts()->Swap(hello.mutable_facts());
  message.set_direct_endpoint(hello.direct_endpoint());
}

// A holder's name begins with the user, and a secured tracker knows who that is: nobody ends or crowds out
// another's leases by taking its name.
std::string holder_name(const grpc::CallbackServerContext& context, const std::string& told) {
  const std::optional<rpc::Identity> caller = rpc::caller(context);
  return caller ? absl::StrCat(caller->name, ":", told) : told;
}

// Of the certificate by which they call; empty on plain text.
std::string serial_of_caller(const grpc::CallbackServerContext& context) {
  const std::optional<rpc::Certificate> certificate = rpc::caller_certificate(context);
  return certificate ? certificate->serial() : "";
}

// A lease is for whoever acquired it, and to know its name is not enough.
absl::Status check_holder(Farm& farm, const std::optional<rpc::Identity>& caller,
                          const pb::LeaseName& lease) {
  return caller ? farm.check_member({lease.lease_id()}, lease.epoch(), caller->name) : absl::OkStatus();
}

absl::StatusOr<AcquireRequest> from_proto(const pb::AcquireLeaseRequest& message, const std::string& holder) {
  TF_RETURN_IF_ERROR(check_key("the device key", message.device_key()));
  TF_RETURN_IF_ERROR(check_holder_name("the holder", holder));
  TF_RETURN_IF_ERROR(check_holder_name("the holder's run", message.holder_run()));
  TF_RETURN_IF_ERROR(check_holder_name("the user for whom the lease is requested", message.on_behalf_of()));
  TF_RETURN_IF_ERROR(check_holder_name("the purpose of a lease", message.purpose()));
  TF_ASSIGN_OR_RETURN(Requirements requirements, requirements_from_proto(message.requirements()));
  return AcquireRequest{.key = message.device_key(),
                        .requirements = std::move(requirements),
                        .wait = absl::Milliseconds(message.wait_ms()),
                        .term = absl::Milliseconds(message.term_ms()),
                        .holder = holder,
                        .holder_run = message.holder_run(),
                        .run_number = message.holder_run_number(),
                        .user = message.on_behalf_of().empty() ? user_of(holder) : message.on_behalf_of(),
                        .purpose = message.purpose(),
                        .priority = message.priority()};
}

// What is remembered of candidates takes a digest's room; anything else is refused by the agent.
TrialFacts facts_of(const pb::Trial& trial) {
  const bool is_digest = Digest::from_hex(trial.artifact_digest()).ok();
  return {.candidate = is_digest ? trial.artifact_digest() : "",
          .run_timeout = absl::Nanoseconds(trial.limits().run_timeout_ns())};
}

// An AcquireLease call that waits for its turn.
class AcquireCall final : public grpc::ServerUnaryReactor,
                          public Requester,
                          public std::enable_shared_from_this<AcquireCall> {
 public:
  AcquireCall(Farm& farm, pb::LeaseGrant* reply) : farm_(farm), reply_(reply) {}

  grpc::ServerUnaryReactor* begin(const grpc::CallbackServerContext& context,
                                  const pb::AcquireLeaseRequest& request) {
    self_ = shared_from_this();
    const absl::Status version = rpc::check_protocol("the tuner", request.protocol_version(), "this tracker");
    absl::StatusOr<AcquireRequest> asked =
        version.ok() ? from_proto(request, holder_name(context, request.holder())) : version;
    if (asked.ok()) {
      asked->certificate = serial_of_caller(context);
      farm_.acquire(*std::move(asked), self_);
    } else {
      Finish(rpc::to_grpc(asked.status()));
    }
    return this;
  }

  void answer(absl::StatusOr<Grant> grant) override {
    const std::scoped_lock lock(mutex_);
    killpoint("tracker.lease.answering");
    if (grant.ok()) {
      to_proto(*grant, *reply_);
      granted_ = grant->lease;
      if (cancelled_) give_back();
    }
    Finish(rpc::to_grpc(grant.status()));
  }

 private:
  void OnCancel() override {
    if (farm_.cancel(this)) {
      Finish(grpc::Status::CANCELLED);
      return;
    }
    const std::scoped_lock lock(mutex_);
    cancelled_ = true;
    if (granted_) give_back();
  }

  // The tuner has gone without hearing of its lease: nobody would use it until it expired.
  void give_back() { farm_.release(granted_->id, granted_->epoch); }

  void OnDone() override { self_.reset(); }

  Farm& farm_;
  pb::LeaseGrant* reply_;
  std::mutex mutex_;
  std::optional<Lease> granted_;
  bool cancelled_ = false;
  std::shared_ptr<AcquireCall> self_;
};

class UploadStream final : public grpc::ServerReadReactor<pb::ArtifactChunk> {
 public:
  UploadStream(grpc::CallbackServerContext& context, rpc::ArtifactStore& artifacts, rpc::CallPool& transfers)
      : context_(context),
        artifacts_(artifacts),
        transfers_(transfers),
        transfer_(artifacts.transfers().begin([this] { context_.TryCancel(); })) {
    read_next();
  }

 private:
  void read_next() {
    transfer_.wait();
    StartRead(&chunk_);
  }

  // The next one is read when this one is in its place: of a stream, one waits for the pool at a time.
  void OnReadDone(bool ok) override {
    const absl::Status moved = transfer_.moved(ok ? chunk_.content().size() : 0);
    if (!moved.ok()) return Finish(rpc::to_grpc(moved));
    const absl::Status taken = transfers_.run([this, ok] {
      const absl::Status done = ok ? add() : store();
      if (ok && done.ok()) {
        read_next();
      } else {
        Finish(rpc::to_grpc(done));
      }
    });
    if (!taken.ok()) Finish(rpc::to_grpc(taken));
  }

  absl::Status add() {
    if (std::exchange(is_first_, false)) TF_RETURN_IF_ERROR(transfer_.take(chunk_.size_bytes(), caller()));
    return assembler_.add({chunk_.digest(), chunk_.size_bytes(), chunk_.content()});
  }

  absl::Status store() {
    TF_ASSIGN_OR_RETURN(const rpc::Received artifact, std::move(assembler_).finish());
    return artifacts_.put(artifact, caller());
  }

  // Empty on plain text.
  std::string caller() const {
    const std::optional<rpc::Identity> caller = rpc::caller(context_);
    return caller ? caller->name : "";
  }

  void OnDone() override { delete this; }

  grpc::CallbackServerContext& context_;
  rpc::ArtifactStore& artifacts_;
  rpc::CallPool& transfers_;
  rpc::TransferBudget::Transfer transfer_;
  bool is_first_ = true;  // the next chunk
  rpc::Assembler assembler_;
  pb::ArtifactChunk chunk_;
};

class MeasureStream final : public DuplexStream<pb::MeasureRequest, pb::MeasureReply> {
 public:
  // `caller`: nothing on plain text.
  MeasureStream(Farm& farm, std::optional<rpc::Identity> caller) : farm_(farm), caller_(std::move(caller)) {}

 private:
  absl::Status received(const pb::MeasureRequest& message) override {
    if (message.has_hello() != (stream_ == 0)) {
      return absl::InvalidArgumentError("a Measure stream begins with one hello and has no other");
    }
    switch (message.kind_case()) {
      case pb::MeasureRequest::kHello:
        return greet(message.hello());
      case pb::MeasureRequest::kAssignment: {
        const pb::Assignment& assignment = message.assignment();
        if (assignment.sequence() == 0) return absl::InvalidArgumentError("sequences begin at 1");
        std::string trial = assignment.trial().SerializeAsString();
        TF_RETURN_IF_ERROR(rpc::check_trial_bytes(trial.size()));
        killpoint("tracker.trial.received");
        farm_.submit(stream_, assignment.sequence(), std::move(trial), facts_of(assignment.trial()));
        return absl::OkStatus();
      }
      case pb::MeasureRequest::kAcknowledgement: {
        killpoint("tracker.acknowledgement.received");
        const auto& sequences = message.acknowledgement().sequences();
        farm_.acknowledge(stream_, {sequences.begin(), sequences.end()});
        return absl::OkStatus();
      }
      case pb::MeasureRequest::KIND_NOT_SET:
        break;
    }
    return absl::InvalidArgumentError("unknown kind of MeasureRequest");
  }

  absl::Status greet(const pb::MeasureHello& hello) {
    const absl::Status version = rpc::check_protocol("the tuner", hello.protocol_version(), "this tracker");
    if (!version.ok()) return version;
    TF_RETURN_IF_ERROR(check_holder(farm_, caller_, hello.lease()));
    TF_ASSIGN_OR_RETURN(
        stream_, farm_.open_stream({hello.lease().lease_id()}, hello.lease().epoch(), shared_from_this()));
    return absl::OkStatus();
  }

  bool next(pb::MeasureReply& message) override {
    if (stream_ == 0) return false;
    if (replies_.empty()) {
      for (std::string& reply : farm_.take_replies(stream_)) replies_.push_back(std::move(reply));
    }
    if (replies_.empty()) return false;
    killpoint("tracker.reply.sending");
    const bool parsed = message.ParseFromString(replies_.front());
    replies_.pop_front();
    return parsed;
  }

  bool has_room() override { return stream_ == 0 || farm_.has_room(stream_); }

  void ended() override { farm_.close_stream(stream_); }

  Farm& farm_;
  const std::optional<rpc::Identity> caller_;
  std::atomic<Farm::SessionId> stream_ = 0;  // written by received(), read by next()
  std::deque<std::string> replies_;          // taken, to be written one by one
};

class TunerService final : public pb::Tuners::CallbackService {
 public:
  TunerService(Farm& farm, rpc::ArtifactStore& artifacts, rpc::CallPool& transfers)
      : farm_(farm), artifacts_(artifacts), transfers_(transfers) {}

  grpc::ServerUnaryReactor* AcquireLease(grpc::CallbackServerContext* context,
                                         const pb::AcquireLeaseRequest* request,
                                         pb::LeaseGrant* reply) override {
    return std::make_shared<AcquireCall>(farm_, reply)->begin(*context, *request);
  }

  grpc::ServerUnaryReactor* RenewLease(grpc::CallbackServerContext* context, const pb::LeaseName* request,
                                       pb::LeaseGrant* reply) override {
    if (const absl::Status held = check_holder(farm_, rpc::caller(*context), *request); !held.ok())
      return rpc::finished(context, held);
    const absl::StatusOr<Grant> grant =
        farm_.renew({request->lease_id()}, request->epoch(), serial_of_caller(*context));
    killpoint("tracker.renewal.answering");
    if (grant.ok()) to_proto(*grant, *reply);
    return rpc::finished(context, grant.status());
  }

  grpc::ServerUnaryReactor* ReleaseLease(grpc::CallbackServerContext* context, const pb::LeaseName* request,
                                         pb::ReleaseLeaseReply*) override {
    const absl::Status held = check_holder(farm_, rpc::caller(*context), *request);
    if (held.ok()) farm_.release({request->lease_id()}, request->epoch());
    return rpc::finished(context, held);
  }

  grpc::ServerUnaryReactor* FindMissingArtifacts(grpc::CallbackServerContext* context,
                                                 const pb::FindMissingArtifactsRequest* request,
                                                 pb::FindMissingArtifactsReply* reply) override {
    // The store's lock is held while files are removed.
    return rpc::finished_on(transfers_, context, [=, this]() -> absl::Status {
      TF_ASSIGN_OR_RETURN(const std::vector<std::string> missing,
                          artifacts_.missing({request->digests().begin(), request->digests().end()}));
      reply->mutable_missing()->Add(missing.begin(), missing.end());
      return absl::OkStatus();
    });
  }

  grpc::ServerReadReactor<pb::ArtifactChunk>* UploadArtifact(grpc::CallbackServerContext* context,
                                                             pb::UploadArtifactReply*) override {
    return new UploadStream(*context, artifacts_, transfers_);
  }

  grpc::ServerBidiReactor<pb::MeasureRequest, pb::MeasureReply>* Measure(
      grpc::CallbackServerContext* context) override {
    return std::make_shared<MeasureStream>(farm_, rpc::caller(*context))->begin(artifacts_.transfers());
  }

 private:
  Farm& farm_;
  rpc::ArtifactStore& artifacts_;
  rpc::CallPool& transfers_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_tuner_service(Farm& farm, rpc::ArtifactStore& artifacts,
                                                  rpc::CallPool& transfers) {
  return std::make_unique<TunerService>(farm, artifacts, transfers);
}

}  // namespace tf::tracker
