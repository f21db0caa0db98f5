#include "tuner/measure/farm_link.h"

#include <grpcpp/grpcpp.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status.h"
#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/connection/channel.h"
#include "rpc/connection/grpc_status.h"
#include "rpc/connection/protocol.h"
#include "rpc/daemon/log_fields.h"
#include "rpc/identity/credentials.h"
#include "rpc/random_id.h"
#include "rpc/transfer/transfer.h"

namespace tf::measure {
namespace {

namespace pb = tunefarm::farm::v1;

constexpr absl::Duration kCallTimeout = absl::Seconds(10);
constexpr absl::Duration kConnectTimeout = absl::Seconds(2);
constexpr absl::Duration kDirectTimeout = absl::Seconds(1);  // an agent that is near answers sooner
constexpr absl::Duration kRenewTimeout = absl::Seconds(3);
constexpr absl::Duration kReleaseTimeout = absl::Seconds(2);  // for so long a runner's end may have to wait

// The same for all runners of this process, so that they do not end each other's leases.
const std::string& process_run() {
  static const std::string run = rpc::random_id();
  return run;
}

std::string holder_or_default(const std::string& given) {
  if (!given.empty()) return given;
  char host[256] = "tuner";
  gethostname(host, sizeof host - 1);
  return absl::StrCat(host, ":", getpid());
}

LeasedDevice from_proto(const pb::LeaseGrant& grant) {
  const pb::DeviceFacts& facts = grant.facts();
  return {.lease_id = grant.lease_id(),
          .epoch = grant.epoch(),
          .device_id = grant.device_id(),
          .slot = grant.slot(),
          .threads = grant.threads(),
          .fingerprint = facts.fingerprint(),
          .cpu_model = facts.cpu_model(),
          .peak_gflops = facts.peak_gflops(),
          .gpu_units = facts.gpus().empty() ? 0 : facts.gpus(0).units(),
          .direct_endpoint = grant.direct_endpoint()};
}

pb::LeaseName name_of(const LeasedDevice& lease) {
  pb::LeaseName name;
  name.set_lease_id(lease.lease_id);
  name.set_epoch(lease.epoch);
  return name;
}

}  // namespace

pb::DeviceState LeasedDevice::state() const {
  pb::DeviceState state;
  state.set_fingerprint(fingerprint);
  state.set_model(cpu_model);
  return state;
}

absl::StatusOr<pb::DeviceState> LeasedRunner::device() {
  return leased_device().state();
}

absl::Status FarmLink::cancelled() {
  return absl::CancelledError("the farm runner was cancelled");
}

// A call that cancel() ends, for as long as this lives; leave_route() too, if it goes that route.
class FarmLink::CancellableCall {
 public:
  CancellableCall(FarmLink& link, grpc::ClientContext& context, const Route* route = nullptr)
      : link_(link), context_(context) {
    const std::scoped_lock lock(link_.mutex_);
    link_.calls_[&context_] = route;
    const bool is_left = route && route != link_.to_agent_.get() && route != link_.to_tracker_.get();
    if (link_.end_.stop_requested() || is_left) context_.TryCancel();
  }
  CancellableCall(const CancellableCall&) = delete;
  ~CancellableCall() {
    const std::scoped_lock lock(link_.mutex_);
    link_.calls_.erase(&context_);
  }

 private:
  FarmLink& link_;
  grpc::ClientContext& context_;
};

FarmLink::FarmLink(FarmRunnerOptions options)
    : options_(std::move(options)),
      channel_(rpc::make_channel(options_.tracker, options_.credentials, rpc::Role::kTracker)),
      to_tracker_(std::make_shared<Route>(Route{.channel = channel_, .endpoint = options_.tracker})) {}

std::shared_ptr<FarmLink::Route> FarmLink::route() {
  const std::scoped_lock lock(mutex_);
  return to_agent_ ? to_agent_ : to_tracker_;
}

absl::Status FarmLink::error_on(const Route& route, const grpc::Status& ended) const {
  return rpc::from_grpc(ended, route.direct ? "agent" : "tracker", route.endpoint,
                        options_.credentials != nullptr);
}

void FarmLink::leave_route(const std::shared_ptr<Route>& direct, const std::string& why) {
  const std::scoped_lock lock(mutex_);
  if (to_agent_ != direct) return;
  const rpc::LogFields about({{"device", direct->direct->device_id}, {"lease", direct->direct->lease_id}});
  spdlog::info(absl::StrCat("device ", direct->direct->device_id, " is no longer directly reachable (", why,
                            "): using the tracker"));
  to_agent_ = nullptr;
  for (const auto& [context, route] : calls_)
    if (route == direct.get()) context->TryCancel();
}

void FarmLink::try_direct(const LeasedDevice& lease) {
  std::shared_ptr<Route> agent;
  if (const absl::StatusOr<rpc::Endpoint> endpoint = rpc::parse_endpoint(lease.direct_endpoint);
      endpoint.ok() && rpc::require_protection(*endpoint, "the agent", options_.credentials).ok()) {
    // Whoever has taken that address with another agent's certificate is not the device.
    auto channel =
        rpc::make_channel(*endpoint, options_.credentials, rpc::ExpectedServer::agent_of(lease.device_id));
    if (rpc::wait_until_connected(*channel, kDirectTimeout)) {
      agent = std::make_shared<Route>(
          Route{.channel = std::move(channel), .endpoint = *endpoint, .direct = lease});
    } else {
      const rpc::LogFields about({{"device", lease.device_id}, {"lease", lease.lease_id}});
      spdlog::info(absl::StrCat("device ", lease.device_id, " does not respond at ", lease.direct_endpoint,
                                ": using the tracker"));
    }
  }
  const std::scoped_lock lock(mutex_);
  to_agent_ = std::move(agent);
}

absl::StatusOr<LeasedDevice> FarmLink::acquire(absl::Duration wait) {
  TF_RETURN_IF_ERROR(repeat_releases());
  pb::AcquireLeaseRequest request;
  request.set_protocol_version(rpc::kProtocolVersion);
  request.set_device_key(options_.device_key);
  request.mutable_requirements()->set_arch(options_.arch);
  for (const std::string& feature : options_.cpu_features)
    request.mutable_requirements()->add_cpu_features(feature);
  request.mutable_requirements()->set_min_threads(options_.min_threads);
  request.mutable_requirements()->set_gpu(options_.gpu);
  request.mutable_requirements()->set_selector(options_.selector);
  request.set_priority(options_.priority);
  request.set_wait_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(wait)));
  request.set_term_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(options_.term)));
  request.set_holder(holder_or_default(options_.holder));
  request.set_holder_run(process_run());
  request.set_holder_run_number(options_.run_number);
  request.set_on_behalf_of(options_.on_behalf_of);
  request.set_purpose(options_.purpose);
  grpc::ClientContext context;
  rpc::set_deadline(context, wait + kCallTimeout);
  const CancellableCall call(*this, context);
  pb::LeaseGrant grant;
  const grpc::Status status = pb::Tuners::NewStub(channel_)->AcquireLease(&context, request, &grant);
  TF_RETURN_IF_ERROR(error_on(*to_tracker_, status));
  const LeasedDevice lease = from_proto(grant);
  try_direct(lease);
  return lease;
}

absl::StatusOr<bool> FarmLink::renew(const LeasedDevice& lease) {
  grpc::ClientContext context;
  rpc::set_deadline(context, kRenewTimeout);
  context.set_wait_for_ready(true);
  const CancellableCall call(*this, context);
  pb::LeaseGrant grant;
  TF_RETURN_IF_ERROR(
      rpc::from_grpc(pb::Tuners::NewStub(channel_)->RenewLease(&context, name_of(lease), &grant)));
  return grant.device_is_away();
}

void FarmLink::release(const LeasedDevice& lease) {
  {
    const std::scoped_lock lock(mutex_);
    unreleased_[lease.lease_id] = lease;
  }
  grpc::ClientContext context;
  rpc::set_deadline(context, kReleaseTimeout);
  pb::ReleaseLeaseReply reply;
  const absl::Status released =
      rpc::from_grpc(pb::Tuners::NewStub(channel_)->ReleaseLease(&context, name_of(lease), &reply));
  // If nobody comes to repeat it, the lease expires by itself.
  if (absl::IsUnavailable(released) || absl::IsDeadlineExceeded(released)) return;
  const std::scoped_lock lock(mutex_);
  unreleased_.erase(lease.lease_id);
}

absl::Status FarmLink::repeat_releases() {
  std::map<std::string, LeasedDevice> unreleased;
  {
    const std::scoped_lock lock(mutex_);
    if (end_.stop_requested()) return cancelled();
    unreleased = unreleased_;
  }
  for (const auto& [id, lease] : unreleased) release(lease);
  const std::scoped_lock lock(mutex_);
  if (unreleased_.empty()) return absl::OkStatus();
  return absl::UnavailableError("cannot tell the tracker that a lease was released");
}

absl::Status FarmLink::upload(const ArtifactBytes& artifact) {
  const std::optional<rpc::TransferTurns::Turn> turn = uploads_.wait(artifact.digest, end_.get_token());
  return turn ? upload_one(artifact) : cancelled();
}

absl::Status FarmLink::upload_one(const ArtifactBytes& artifact) {
  while (true) {
    const std::shared_ptr<Route> route = this->route();
    if (is_uploaded(*route, artifact.digest)) return absl::OkStatus();
    const absl::Status sent = upload_to(*route, artifact);
    {
      const std::scoped_lock lock(mutex_);
      if (end_.stop_requested()) return cancelled();
      if (sent.ok()) route->uploaded.insert(artifact.digest);
    }
    // Whatever is wrong with the agent's route (no room there, gone), the tracker's may be better.
    if (sent.ok() || !route->direct) return sent;
    leave_route(route, std::string(sent.message()));
  }
}

bool FarmLink::is_uploaded(Route& route, const std::string& digest) {
  const std::scoped_lock lock(mutex_);
  return route.uploaded.contains(digest);
}

absl::Status FarmLink::upload_to(const Route& route, const ArtifactBytes& artifact) {
  const auto stub = pb::Tuners::NewStub(route.channel);
  pb::FindMissingArtifactsRequest request;
  request.add_digests(artifact.digest);
  if (route.direct) *request.mutable_lease() = name_of(*route.direct);
  pb::FindMissingArtifactsReply reply;
  {
    grpc::ClientContext context;
    rpc::set_deadline(context, kConnectTimeout);
    context.set_wait_for_ready(!route.direct);
    const CancellableCall cancellable(*this, context, &route);
    TF_RETURN_IF_ERROR(error_on(route, stub->FindMissingArtifacts(&context, request, &reply)));
  }
  if (reply.missing().empty()) return absl::OkStatus();
  TF_ASSIGN_OR_RETURN(const Digest digest, Digest::from_hex(artifact.digest));
  const absl::Duration longest = rpc::kLongestStep + rpc::longest_transfer(artifact.bytes->size());
  grpc::ClientContext context;
  rpc::set_deadline(context, longest);
  const CancellableCall cancellable(*this, context, &route);
  pb::UploadArtifactReply uploaded;
  const auto writer = stub->UploadArtifact(&context, &uploaded);
  rpc::send_chunks(digest, *artifact.bytes, [&](const rpc::Chunk& chunk) {
    pb::ArtifactChunk message;
    message.set_digest(chunk.digest.data(), chunk.digest.size());
    message.set_size_bytes(chunk.size_bytes);
    message.set_content(chunk.content.data(), chunk.content.size());
    if (route.direct && !chunk.digest.empty()) *message.mutable_lease() = name_of(*route.direct);
    return writer->Write(message);
  });
  writer->WritesDone();
  const grpc::Status finished = writer->Finish();
  if (finished.error_code() != grpc::StatusCode::DEADLINE_EXCEEDED) return error_on(route, finished);
  return absl::DeadlineExceededError(absl::StrCat("transfer too slow: ", artifact.bytes->size(),
                                                  " bytes took longer than ", absl::FormatDuration(longest)));
}

void FarmLink::forget(const std::string& digest) {
  const std::scoped_lock lock(mutex_);
  to_tracker_->uploaded.erase(digest);
  if (to_agent_) to_agent_->uploaded.erase(digest);
}

void FarmLink::cancel() {
  const std::scoped_lock lock(mutex_);
  end_.request_stop();
  for (const auto& [context, route] : calls_) context->TryCancel();
}

}  // namespace tf::measure
