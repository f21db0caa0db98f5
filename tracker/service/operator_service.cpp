#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/access/call_guard.h"
#include "rpc/connection/call_pool.h"
#include "rpc/connection/unary_call.h"
#include "tracker/farm.h"
#include "tracker/leases/device_wire.h"
#include "tracker/leases/slot_index.h"
#include "tracker/service/services.h"

namespace tf::tracker {
namespace {

namespace pb = tunefarm::farm::v1;

// The messages' enumerators stand in the same order, behind UNSPECIFIED.
template <typename Message, typename Enum>
Message to_proto(Enum value) {
  return static_cast<Message>(static_cast<int>(value) + 1);
}
static_assert(static_cast<int>(Admission::kDraining) + 1 == pb::ADMISSION_DRAINING);
static_assert(static_cast<int>(Health::kProbation) + 1 == pb::HEALTH_PROBATION);

absl::StatusOr<Admission> from_proto(pb::Admission admission) {
  if (admission < pb::ADMISSION_OPEN || admission > pb::ADMISSION_DRAINING)
    return absl::InvalidArgumentError("unknown kind of admission: upgrade this tracker");
  return static_cast<Admission>(admission - 1);
}

// The golden kernel's samples of one device that a message has room for.
constexpr size_t kMostSamples = 2048;

// With the last samples of the slot, at most so many.
void to_proto(const GoldenTrend& trend, size_t most, rpc::Instant now, pb::GoldenTrend& message) {
  message.set_baseline_ns(trend.baseline().time_ns);
  message.set_drift(trend.drift());
  const std::deque<GoldenSample>& samples = trend.samples();
  for (size_t i = samples.size() - std::min(most, samples.size()); i < samples.size(); ++i) {
    const GoldenSample& sample = samples[i];
    pb::GoldenSample& each = *message.add_samples();
    each.set_slot(sample.slot);
    each.set_kernel(sample.kernel);
    each.set_time_ns(sample.time_ns);
    each.set_spread(sample.spread);
    each.mutable_device()->set_temperature_c(sample.temperature_c);
    each.mutable_device()->set_clock_mhz(sample.clock_mhz);
    each.mutable_device()->set_governor(sample.governor);
    each.mutable_device()->set_load_1min(sample.load_1min);
    each.mutable_device()->set_throttled(sample.throttled);
    each.set_age_ms(
        static_cast<uint64_t>(std::max<int64_t>(0, absl::ToInt64Milliseconds(now - sample.taken_at))));
    each.set_detail(sample.detail);
  }
}

void to_proto(const SlotStatus& status, size_t most_samples, rpc::Instant now, pb::Slot& slot) {
  slot.set_slot(status.slot);
  slot.set_epoch(status.epoch);
  if (!status.golden.samples().empty()) to_proto(status.golden, most_samples, now, *slot.mutable_golden());
  if (!status.lease) return;
  slot.mutable_lease()->set_lease_id(status.lease->id.text);
  slot.mutable_lease()->set_epoch(status.lease->epoch);
  slot.set_holder(status.lease->holder);
  slot.set_user(status.lease->user);
  slot.set_purpose(status.lease->purpose);
  slot.set_held_ms(absl::ToInt64Milliseconds(status.held));
  slot.set_remaining_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(status.remaining)));
  slot.set_queued(status.unanswered);
  slot.set_unacknowledged(status.unacknowledged);
  slot.set_answered(status.answered);
}

void to_proto(const DeviceStatus& status, pb::Device& device) {
  device.set_device_id(status.info->id);
  device.set_device_key(status.info->key);
  device.set_online(status.online);
  device.set_stopping(status.stopping);
  device.set_admission(to_proto<pb::Admission>(status.admission));
  device.set_health(to_proto<pb::Health>(status.health));
  device.set_health_reason(status.health_reason);
  if (status.health_for) device.set_health_since_ms(absl::ToInt64Milliseconds(*status.health_for));
  device.set_reserved_for(status.reserved_for);
  device.set_agent_address(status.address);
  device.set_since_ms(absl::ToInt64Milliseconds(status.since));
  if (status.leases_end_in)
    device.set_leases_end_in_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(*status.leases_end_in)));
  const rpc::Instant now = rpc::real_clock().now();
  const size_t most_samples = kMostSamples / std::max<size_t>(1, status.slots.size());
  for (const SlotStatus& slot : status.slots) to_proto(slot, most_samples, now, *device.add_slots());
  pb::AgentHello hello;
  if (!hello.ParseFromString(status.info->hello)) return;
  device.set_agent_version(hello.agent_version());
  device.mutable_facts()->Swap(hello.mutable_facts());
  device.mutable_labels()->swap(*hello.mutable_labels());
  for (int i = 0; i < hello.slots_size() && i < device.slots_size(); ++i) {
    *device.mutable_slots(i)->mutable_cpus() = hello.slots(i).cpus();
  }
}

void to_proto(const ReservationStatus& status, pb::Reservation& message) {
  message.set_id(status.reservation.id);
  message.set_user(status.reservation.user);
  message.set_device_key(status.reservation.device_key);
  message.set_selector(status.reservation.selector.text());
  message.set_from_unix_ms(absl::ToUnixMillis(status.from));
  message.set_until_unix_ms(absl::ToUnixMillis(status.until));
  message.set_in_force(status.in_force);
  message.set_devices(static_cast<uint32_t>(status.devices));
}

void to_proto(const WaitingStatus& status, pb::WaitingRequest& message) {
  message.set_holder(status.request.holder);
  message.set_user(status.request.user);
  message.set_device_key(status.key);
  message.set_priority(status.request.priority);
  message.set_waited_ms(absl::ToInt64Milliseconds(status.waited));
}

void to_proto(const UserStatus& status, pb::UserUsage& message) {
  message.set_user(status.user);
  message.set_share(status.share);
  message.set_slots(status.slots);
  message.set_waiting(static_cast<uint32_t>(status.waiting));
  message.set_recent_slot_seconds(status.slot_seconds);
}

// A lease's id is what its calls are made with: it is told only to who may make them, or end it.
bool may_see_lease(const std::optional<rpc::Identity>& caller, const std::string& holder) {
  if (!caller || caller->role == rpc::Role::kDeviceOwner || caller->role == rpc::Role::kAdmin) return true;
  return caller->role == rpc::Role::kTuner && user_of(holder) == caller->name;
}

void hide_leases(const std::optional<rpc::Identity>& caller, pb::Device& device) {
  for (pb::Slot& slot : *device.mutable_slots()) {
    if (slot.has_lease() && !may_see_lease(caller, slot.holder())) slot.mutable_lease()->clear_lease_id();
  }
}

// A page is full with so much. The last device may bring more than as much again, and that fits into a
// message, too.
constexpr size_t kPageBytes = 1 << 20;
constexpr size_t kDevicesAtOnce = 64;       // copied under the farm's lock
constexpr size_t kReservationsAtOnce = 16;  // for each of which all devices are looked at
// So many requests and as many users fit into a message, whatever their names (names.h): 600 and 250 bytes.
constexpr size_t kWaitingInPage = 4096;

// Where a listing of who waits goes on: "NUMBER ID USER" of the last ones told.
struct WaitingToken {
  WaitingPlace place;
  std::optional<std::string> user;  // absent: none was told yet

  static absl::StatusOr<WaitingToken> parse(const std::string& text) {
    WaitingToken token;
    if (text.empty()) return token;
    const std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits(' ', 2));
    if (parts.size() != 3 || !absl::SimpleAtoi(parts[0], &token.place.number) ||
        !absl::SimpleAtoi(parts[1], &token.place.id)) {
      return absl::InvalidArgumentError("the page token does not come from a ListWaitingReply");
    }
    token.user = parts[2];
    return token;
  }

  std::string text() const { return absl::StrCat(place.number, " ", place.id, " ", user.value_or("")); }
};

class OperatorService final : public pb::Operators::CallbackService {
 public:
  OperatorService(Farm& farm, rpc::CallPool& calls) : farm_(farm), calls_(calls) {}

  grpc::ServerUnaryReactor* ListDevices(grpc::CallbackServerContext* context,
                                        const pb::ListDevicesRequest* request,
                                        pb::ListDevicesReply* reply) override {
    return rpc::finished_on(calls_, context,
                            [=, this] { return list_devices(*request, rpc::caller(*context), *reply); });
  }

  grpc::ServerUnaryReactor* ForgetDevice(grpc::CallbackServerContext* context,
                                         const pb::ForgetDeviceRequest* request,
                                         pb::ForgetDeviceReply*) override {
    return rpc::finished_on(calls_, context, [=, this] { return farm_.forget(request->device_id()); });
  }

  grpc::ServerUnaryReactor* SetAdmission(grpc::CallbackServerContext* context,
                                         const pb::SetAdmissionRequest* request,
                                         pb::SetAdmissionReply* reply) override {
    return rpc::finished_on(calls_, context, [=, this]() -> absl::Status {
      TF_ASSIGN_OR_RETURN(const Admission admission, from_proto(request->admission()));
      TF_RETURN_IF_ERROR(farm_.set_admission(request->device_id(), admission));
      reply->set_leases(farm_.leases_on(request->device_id()));
      return absl::OkStatus();
    });
  }

  grpc::ServerUnaryReactor* ReadmitDevice(grpc::CallbackServerContext* context,
                                          const pb::ReadmitDeviceRequest* request,
                                          pb::ReadmitDeviceReply*) override {
    return rpc::finished_on(calls_, context, [=, this] { return farm_.readmit(request->device_id()); });
  }

  grpc::ServerUnaryReactor* PardonCandidate(grpc::CallbackServerContext* context,
                                            const pb::PardonCandidateRequest* request,
                                            pb::PardonCandidateReply*) override {
    return rpc::finished(context, farm_.pardon(request->candidate_digest()));
  }

  grpc::ServerUnaryReactor* ForceRelease(grpc::CallbackServerContext* context,
                                         const pb::ForceReleaseRequest* request,
                                         pb::ForceReleaseReply* reply) override {
    return rpc::finished_on(calls_, context, [=, this]() -> absl::Status {
      TF_ASSIGN_OR_RETURN(const std::vector<LeaseId> ids, farm_.force_release(request->name()));
      for (const LeaseId& id : ids) reply->add_lease_ids(id.text);
      return absl::OkStatus();
    });
  }

  grpc::ServerUnaryReactor* Reserve(grpc::CallbackServerContext* context, const pb::ReserveRequest* request,
                                    pb::Reservation* reply) override {
    return rpc::finished_on(calls_, context, [=, this] { return reserve(*request, *reply); });
  }

  grpc::ServerUnaryReactor* Unreserve(grpc::CallbackServerContext* context,
                                      const pb::UnreserveRequest* request, pb::UnreserveReply*) override {
    return rpc::finished_on(calls_, context, [=, this] { return farm_.unreserve(request->id()); });
  }

  grpc::ServerUnaryReactor* ListReservations(grpc::CallbackServerContext* context,
                                             const pb::ListReservationsRequest* request,
                                             pb::ListReservationsReply* reply) override {
    return rpc::finished_on(calls_, context, [=, this] { return list_reservations(*request, *reply); });
  }

  grpc::ServerUnaryReactor* ListWaiting(grpc::CallbackServerContext* context,
                                        const pb::ListWaitingRequest* request,
                                        pb::ListWaitingReply* reply) override {
    return rpc::finished_on(calls_, context, [=, this] { return list_waiting(*request, *reply); });
  }

 private:
  absl::Status list_devices(const pb::ListDevicesRequest& request, const std::optional<rpc::Identity>& caller,
                            pb::ListDevicesReply& reply) {
    TF_ASSIGN_OR_RETURN(Selector selector, Selector::parse(request.selector()));
    std::optional<Requirements> requirements;
    if (request.has_requirements()) {
      TF_ASSIGN_OR_RETURN(requirements, requirements_from_proto(request.requirements()));
    }
    if (request.page_token().empty()) {
      for (std::string& key : farm_.known_keys(request.device_key(), kKeysNamed))
        reply.add_known_keys(std::move(key));
    }
    list({.key = request.device_key(),
          .selector = std::move(selector),
          .requirements = std::move(requirements),
          .after = request.page_token(),
          .all_samples = request.golden_samples()},
         request.page_size() == 0 ? std::numeric_limits<size_t>::max() : request.page_size(), caller, reply);
    return absl::OkStatus();
  }

  // Until the page is full or there are no more devices.
  void list(DeviceQuery query, size_t most, const std::optional<rpc::Identity>& caller,
            pb::ListDevicesReply& reply) {
    size_t bytes = 0;
    do {
      query.most = std::min(kDevicesAtOnce, most - static_cast<size_t>(reply.devices_size()));
      DevicePage page = farm_.page(query);
      query.after = std::move(page.next);
      for (const DeviceStatus& status : page.devices) {
        pb::Device& device = *reply.add_devices();
        to_proto(status, device);
        hide_leases(caller, device);
        bytes += device.ByteSizeLong();
        const bool is_full = bytes >= kPageBytes || static_cast<size_t>(reply.devices_size()) >= most;
        const bool is_last = &status == &page.devices.back() && query.after.empty();
        if (!is_full || is_last) continue;
        reply.set_next_page_token(status.info->id);
        return;
      }
    } while (!query.after.empty());
  }

  absl::Status list_reservations(const pb::ListReservationsRequest& request,
                                 pb::ListReservationsReply& reply) {
    uint64_t after = 0;
    if (!request.page_token().empty() && !absl::SimpleAtoi(request.page_token(), &after))
      return absl::InvalidArgumentError("the page token does not come from a ListReservationsReply");
    const size_t most = request.page_size() == 0 ? std::numeric_limits<size_t>::max() : request.page_size();
    size_t bytes = 0;
    while (bytes < kPageBytes && static_cast<size_t>(reply.reservations_size()) < most) {
      const size_t asked =
          std::min(kReservationsAtOnce, most - static_cast<size_t>(reply.reservations_size()));
      const std::vector<ReservationStatus> some = farm_.reservations(after, asked);
      for (const ReservationStatus& status : some) {
        pb::Reservation& reservation = *reply.add_reservations();
        to_proto(status, reservation);
        bytes += reservation.ByteSizeLong();
        after = status.reservation.id;
      }
      if (some.size() < asked) return absl::OkStatus();  // the last ones
    }
    reply.set_next_page_token(absl::StrCat(after));
    return absl::OkStatus();
  }

  absl::Status list_waiting(const pb::ListWaitingRequest& request, pb::ListWaitingReply& reply) {
    TF_ASSIGN_OR_RETURN(WaitingToken after, WaitingToken::parse(request.page_token()));
    const size_t most =
        request.page_size() == 0 ? kWaitingInPage : std::min<size_t>(kWaitingInPage, request.page_size());
    const std::vector<WaitingStatus> requests = farm_.waiting(after.place, most);
    for (const WaitingStatus& status : requests) {
      to_proto(status, *reply.add_requests());
      after.place = status.place;
    }
    const std::vector<UserStatus> users = farm_.users(after.user, most);
    for (const UserStatus& status : users) {
      to_proto(status, *reply.add_users());
      after.user = status.user;
    }
    if (requests.size() == most || users.size() == most) reply.set_next_page_token(after.text());
    return absl::OkStatus();
  }

  absl::Status reserve(const pb::ReserveRequest& request, pb::Reservation& reply) {
    TF_ASSIGN_OR_RETURN(Selector selector, Selector::parse(request.selector()));
    TF_ASSIGN_OR_RETURN(
        const ReservationStatus made,
        farm_.reserve(
            {.user = request.user(),
             .device_key = request.device_key(),
             .selector = std::move(selector),
             .from = request.from_unix_ms() == 0 ? absl::Now() : absl::FromUnixMillis(request.from_unix_ms()),
             .until = absl::FromUnixMillis(request.until_unix_ms())}));
    to_proto(made, reply);
    return absl::OkStatus();
  }

  Farm& farm_;
  rpc::CallPool& calls_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_operator_service(Farm& farm, rpc::CallPool& calls) {
  return std::make_unique<OperatorService>(farm, calls);
}

}  // namespace tf::tracker
