#include <grpcpp/grpcpp.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/connection/channel.h"
#include "rpc/connection/grpc_status.h"
#include "rpc/identity/credentials.h"
#include "tuner/service/farm_devices.h"

namespace tf::service {
namespace {

namespace farm = tunefarm::farm::v1;

// Asked again and again, and waited for by who stops.
constexpr absl::Duration kLookTimeout = absl::Seconds(5);

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

// Why the device gives the user no lease.
std::string trouble_of(const farm::Device& device, const std::string& user) {
  if (!device.online()) return "is away";
  if (device.health() == farm::HEALTH_QUARANTINED) {
    // A tracker from before does not say since when.
    return device.has_health_since_ms() ? "has been quarantined" : "is quarantined";
  }
  if (device.stopping()) return "is stopping";
  if (device.admission() == farm::ADMISSION_CORDONED) return "is cordoned";
  if (device.admission() == farm::ADMISSION_DRAINING) return "is draining";
  const bool is_kept = !device.reserved_for().empty() && device.reserved_for() != user;
  return is_kept ? absl::StrCat("is reserved for ", device.reserved_for()) : "";
}

void add_slots(const farm::Device& device, const DeviceNeeds& needs, const SlotSeeker& seeker,
               std::vector<FarmSlot>& slots) {
  const std::string trouble = trouble_of(device, seeker.person.empty() ? seeker.user : seeker.person);
  const bool is_quarantined = device.online() && device.health() == farm::HEALTH_QUARANTINED;
  std::optional<absl::Duration> troubled_for;
  if (is_quarantined && device.has_health_since_ms())
    troubled_for = absl::Milliseconds(device.health_since_ms());
  for (const farm::Slot& slot : device.slots()) {
    if (static_cast<uint32_t>(slot.cpus_size()) < needs.threads) continue;
    const std::string holder = slot.has_lease() ? slot.holder() : "";
    // A secured tracker puts the user's name before what a holder calls itself.
    const bool is_ours = !holder.empty() &&
                         (holder == seeker.holder || holder == absl::StrCat(seeker.user, ":", seeker.holder));
    slots.push_back({.device = device.device_id(),
                     .number = slot.slot(),
                     .holder = holder,
                     .trouble = trouble,
                     .reason = is_quarantined ? device.health_reason() : "",
                     .troubled_for = troubled_for,
                     .is_ours = is_ours});
  }
}

void require(const DeviceNeeds& needs, farm::Requirements& requirements) {
  requirements.set_arch(needs.arch);
  for (const std::string& feature : needs.cpu_features) requirements.add_cpu_features(feature);
}

}  // namespace

absl::StatusOr<std::vector<FarmSlot>> look_at_slots(const rpc::Endpoint& tracker,
                                                    const std::shared_ptr<rpc::Credentials>& credentials,
                                                    const std::string& key, const DeviceNeeds& needs,
                                                    const SlotSeeker& seeker) {
  TF_RETURN_IF_ERROR(rpc::require_protection(tracker, "--tracker", credentials));
  const auto stub = farm::Operators::NewStub(rpc::make_channel(tracker, credentials, rpc::Role::kTracker));
  farm::ListDevicesRequest request;
  request.set_device_key(key);
  require(needs, *request.mutable_requirements());
  request.mutable_requirements()->set_min_threads(needs.threads);
  request.mutable_requirements()->set_selector(needs.selector);
  std::vector<FarmSlot> slots;
  do {
    grpc::ClientContext context;
    rpc::set_deadline(context, kLookTimeout);
    farm::ListDevicesReply reply;
    TF_RETURN_IF_ERROR(rpc::from_grpc(stub->ListDevices(&context, request, &reply), "tracker", tracker,
                                      credentials != nullptr));
    for (const farm::Device& device : reply.devices()) add_slots(device, needs, seeker, slots);
    request.set_page_token(reply.next_page_token());
  } while (!request.page_token().empty());
  return slots;
}

absl::StatusOr<FarmView> look_at_farm(const rpc::Endpoint& tracker,
                                      const std::shared_ptr<rpc::Credentials>& credentials,
                                      const std::string& key, const DeviceNeeds& needs) {
  TF_RETURN_IF_ERROR(rpc::require_protection(tracker, "--tracker", credentials));
  const auto stub = farm::Operators::NewStub(rpc::make_channel(tracker, credentials, rpc::Role::kTracker));
  farm::ListDevicesRequest request;
  request.set_device_key(key);
  request.set_page_size(1);
  require(needs, *request.mutable_requirements());
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
