#include <grpcpp/grpcpp.h>

#include "base/status.h"
#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/channel.h"
#include "rpc/grpc_status.h"
#include "tuner/service/farm_keys.h"

namespace tf::service {

absl::StatusOr<std::set<std::string>> farm_device_keys(const rpc::Endpoint& tracker) {
  namespace farm = tunefarm::farm::v1;
  auto stub = farm::Operators::NewStub(rpc::make_channel(tracker));
  grpc::ClientContext context;
  rpc::set_deadline(context, absl::Seconds(10));
  farm::ListDevicesReply devices;
  TF_RETURN_IF_ERROR(rpc::from_grpc(stub->ListDevices(&context, farm::ListDevicesRequest(), &devices),
                                    "tracker", tracker.text()));
  std::set<std::string> keys;
  for (const farm::Device& device : devices.devices()) keys.insert(device.device_key());
  return keys;
}

}  // namespace tf::service
