#include <grpcpp/grpcpp.h>

#include "base/status.h"
#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/channel.h"
#include "rpc/grpc_status.h"
#include "rpc/identity/credentials.h"
#include "tuner/service/farm_devices.h"

namespace tf::service {

absl::StatusOr<std::vector<FarmDevice>> farm_devices(const rpc::Endpoint& tracker,
                                                     const std::shared_ptr<rpc::Credentials>& credentials) {
  namespace farm = tunefarm::farm::v1;
  TF_RETURN_IF_ERROR(rpc::require_protection(tracker, "--tracker", credentials));
  auto stub = farm::Operators::NewStub(rpc::make_channel(tracker, credentials, rpc::Role::kTracker));
  grpc::ClientContext context;
  rpc::set_deadline(context, absl::Seconds(10));
  farm::ListDevicesReply reply;
  TF_RETURN_IF_ERROR(rpc::from_grpc(stub->ListDevices(&context, farm::ListDevicesRequest(), &reply),
                                    "tracker", tracker, credentials != nullptr));
  std::vector<FarmDevice> devices;
  for (const farm::Device& device : reply.devices()) {
    const auto& features = device.facts().cpu_features();
    devices.push_back({.id = device.device_id(),
                       .key = device.device_key(),
                       .arch = device.facts().arch(),
                       .cpu_features = {features.begin(), features.end()}});
  }
  return devices;
}

}  // namespace tf::service
