#include <grpcpp/grpcpp.h>

#include "base/status.h"
#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/channel.h"
#include "rpc/grpc_status.h"
#include "tracker/devices_text.h"
#include "tracker/operator_client.h"

namespace tf::tracker {
namespace {

namespace pb = tunefarm::farm::v1;

// One unary call of the Operators service.
template <typename Request, typename Reply>
absl::StatusOr<Reply> call(const rpc::Endpoint& tracker, const Request& request,
                           grpc::Status (pb::Operators::Stub::*method)(grpc::ClientContext*, const Request&,
                                                                       Reply*)) {
  TF_RETURN_IF_ERROR(rpc::require_loopback(tracker, "--tracker"));
  const auto stub = pb::Operators::NewStub(rpc::make_channel(tracker));
  grpc::ClientContext context;
  rpc::set_deadline(context, absl::Seconds(10));
  Reply reply;
  const grpc::Status status = (stub.get()->*method)(&context, request, &reply);
  TF_RETURN_IF_ERROR(rpc::from_grpc(status, "tracker", tracker.text()));
  return reply;
}

}  // namespace

absl::StatusOr<std::string> render_devices(const rpc::Endpoint& tracker, const std::string& key,
                                           DevicesFormat format) {
  pb::ListDevicesRequest request;
  request.set_device_key(key);
  TF_ASSIGN_OR_RETURN(const pb::ListDevicesReply reply,
                      call(tracker, request, &pb::Operators::Stub::ListDevices));
  return format == DevicesFormat::kJson ? devices_json(reply) : devices_table(reply);
}

absl::Status drain_device(const rpc::Endpoint& tracker, const std::string& device, bool undo) {
  pb::DrainDeviceRequest request;
  request.set_device_id(device);
  request.set_undo(undo);
  return call(tracker, request, &pb::Operators::Stub::DrainDevice).status();
}

absl::StatusOr<std::vector<std::string>> force_release(const rpc::Endpoint& tracker,
                                                       const std::string& name) {
  pb::ForceReleaseRequest request;
  request.set_name(name);
  TF_ASSIGN_OR_RETURN(const pb::ForceReleaseReply reply,
                      call(tracker, request, &pb::Operators::Stub::ForceRelease));
  return std::vector<std::string>(reply.lease_ids().begin(), reply.lease_ids().end());
}

}  // namespace tf::tracker
