#include <grpcpp/grpcpp.h>

#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/grpc_status.h"
#include "tracker/farm.h"
#include "tracker/services.h"

namespace tf::tracker {
namespace {

namespace pb = tunefarm::farm::v1;

void to_proto(const SlotStatus& status, pb::Slot& slot) {
  slot.set_slot(status.slot);
  slot.set_epoch(status.epoch);
  if (!status.lease) return;
  slot.mutable_lease()->set_lease_id(status.lease->id.text);
  slot.mutable_lease()->set_epoch(status.lease->epoch);
  slot.set_holder(status.lease->holder);
  slot.set_remaining_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(status.remaining)));
  slot.set_queued(status.unanswered);
  slot.set_unacknowledged(status.unacknowledged);
  slot.set_answered(status.answered);
}

void to_proto(const DeviceStatus& status, pb::Device& device) {
  device.set_device_id(status.info.id);
  device.set_device_key(status.info.key);
  device.set_online(status.online);
  device.set_draining(status.draining);
  device.set_since_ms(absl::ToInt64Milliseconds(status.since));
  for (const SlotStatus& slot : status.slots) to_proto(slot, *device.add_slots());
  pb::AgentHello hello;
  if (!hello.ParseFromString(status.info.hello)) return;
  device.set_agent_version(hello.agent_version());
  device.mutable_facts()->Swap(hello.mutable_facts());
  for (int i = 0; i < hello.slots_size() && i < device.slots_size(); ++i) {
    *device.mutable_slots(i)->mutable_cpus() = hello.slots(i).cpus();
  }
}

class OperatorService final : public pb::Operators::CallbackService {
 public:
  explicit OperatorService(Farm& farm) : farm_(farm) {}

  grpc::ServerUnaryReactor* ListDevices(grpc::CallbackServerContext* context,
                                        const pb::ListDevicesRequest* request,
                                        pb::ListDevicesReply* reply) override {
    for (const DeviceStatus& status : farm_.devices()) {
      if (!request->device_key().empty() && status.info.key != request->device_key()) continue;
      to_proto(status, *reply->add_devices());
    }
    return finished(context, absl::OkStatus());
  }

  grpc::ServerUnaryReactor* DrainDevice(grpc::CallbackServerContext* context,
                                        const pb::DrainDeviceRequest* request,
                                        pb::DrainDeviceReply*) override {
    return finished(context, farm_.drain(request->device_id(), !request->undo()));
  }

  grpc::ServerUnaryReactor* ForceRelease(grpc::CallbackServerContext* context,
                                         const pb::ForceReleaseRequest* request,
                                         pb::ForceReleaseReply* reply) override {
    const absl::StatusOr<std::vector<LeaseId>> ids = farm_.force_release(request->name());
    if (ids.ok()) {
      for (const LeaseId& id : *ids) reply->add_lease_ids(id.text);
    }
    return finished(context, ids.status());
  }

 private:
  static grpc::ServerUnaryReactor* finished(grpc::CallbackServerContext* context,
                                            const absl::Status& status) {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(rpc::to_grpc(status));
    return reactor;
  }

  Farm& farm_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_operator_service(Farm& farm) {
  return std::make_unique<OperatorService>(farm);
}

}  // namespace tf::tracker
