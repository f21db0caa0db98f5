#include <grpcpp/grpcpp.h>

#include <algorithm>

#include "base/status.h"
#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/channel.h"
#include "rpc/grpc_status.h"
#include "rpc/identity/credentials.h"
#include "tuner/service/farm_devices.h"

namespace tf::service {
namespace {

namespace farm = tunefarm::farm::v1;

FarmDevice device_from_proto(const farm::Device& device) {
  const auto& features = device.facts().cpu_features();
  int threads = 0;
  for (const farm::Slot& slot : device.slots()) threads = std::max(threads, slot.cpus_size());
  return {.id = device.device_id(),
          .key = device.device_key(),
          .arch = device.facts().arch(),
          .cpu_features = {features.begin(), features.end()},
          .threads = static_cast<uint32_t>(threads),
          .labels = {device.labels().begin(), device.labels().end()}};
}

}  // namespace

absl::StatusOr<FarmView> look_at_farm(const rpc::Endpoint& tracker,
                                      const std::shared_ptr<rpc::Credentials>& credentials,
                                      const std::string& key, const DeviceNeeds& needs) {
  TF_RETURN_IF_ERROR(rpc::require_protection(tracker, "--tracker", credentials));
  const auto stub = farm::Operators::NewStub(rpc::make_channel(tracker, credentials, rpc::Role::kTracker));
  farm::ListDevicesRequest request;
  request.set_device_key(key);
  request.set_page_size(1);
  request.mutable_requirements()->set_arch(needs.arch);
  for (const std::string& feature : needs.cpu_features)
    request.mutable_requirements()->add_cpu_features(feature);
  std::vector<farm::ListDevicesRequest> asks(3, request);
  asks[0].mutable_requirements()->set_min_threads(needs.threads);
  asks[0].mutable_requirements()->set_selector(needs.selector);
  asks[2].clear_requirements();
  if (needs.threads <= 1 && needs.selector.empty()) asks.erase(asks.begin() + 1);
  // One that suits, or else one that comes near as an example.
  FarmView view;
  farm::ListDevicesReply reply;
  for (size_t i = 0; i < asks.size() && !view.device; ++i) {
    grpc::ClientContext context;
    rpc::set_deadline(context, absl::Seconds(10));
    TF_RETURN_IF_ERROR(rpc::from_grpc(stub->ListDevices(&context, asks[i], &reply), "tracker", tracker,
                                      credentials != nullptr));
    if (!reply.devices().empty()) view.device = device_from_proto(reply.devices(0));
    view.suits = view.device && i == 0;
  }
  view.known_keys = {reply.known_keys().begin(), reply.known_keys().end()};
  return view;
}

}  // namespace tf::service
