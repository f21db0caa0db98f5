#include "tracker/operators/operator_client.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "proto/farm/v1/farm.grpc.pb.h"
#include "tracker/operators/devices_text.h"
#include "tracker/operators/name_pattern.h"
#include "tracker/operators/tracker_call.h"

namespace tf::tracker {

namespace pb = tunefarm::farm::v1;

namespace {

// Of a listing that comes page by page, all of it in one message.
template <typename Request, typename Reply>
absl::StatusOr<Reply> all_pages(const TrackerLink& tracker, Request request,
                                grpc::Status (pb::Operators::Stub::*list)(grpc::ClientContext*,
                                                                          const Request&, Reply*)) {
  Reply all;
  do {
    TF_ASSIGN_OR_RETURN(const Reply page, call(tracker, request, list));
    request.set_page_token(page.next_page_token());
    all.MergeFrom(page);
  } while (!request.page_token().empty());
  return all;
}

absl::StatusOr<pb::ListWaitingReply> all_waiting(const TrackerLink& tracker) {
  return all_pages(tracker, pb::ListWaitingRequest(), &pb::Operators::Stub::ListWaiting);
}

}  // namespace

absl::StatusOr<DevicesText> render_devices(const TrackerLink& tracker, const std::string& key,
                                           const std::string& selector, TextFormat format, size_t width) {
  pb::ListDevicesRequest request;
  request.set_device_key(key);
  request.set_selector(selector);
  request.set_golden_samples(format == TextFormat::kJson);
  TF_ASSIGN_OR_RETURN(const pb::ListDevicesReply devices,
                      all_pages(tracker, request, &pb::Operators::Stub::ListDevices));
  return DevicesText{
      .devices = static_cast<size_t>(devices.devices_size()),
      .text = format == TextFormat::kJson ? devices_json(devices) : devices_table(devices, width)};
}

absl::StatusOr<std::vector<std::string>> devices_called(const TrackerLink& tracker,
                                                        const std::vector<std::string>& names,
                                                        Presence presence) {
  std::vector<std::string> found;
  const auto add = [&](const std::string& id) {
    if (std::ranges::find(found, id) == found.end()) found.push_back(id);
  };
  std::optional<pb::ListDevicesReply> all;  // asked for once, if at all
  for (const std::string& name : names) {
    if (name.find('*') == std::string::npos) {
      add(name);
      continue;
    }
    if (!all) {
      TF_ASSIGN_OR_RETURN(all,
                          all_pages(tracker, pb::ListDevicesRequest(), &pb::Operators::Stub::ListDevices));
    }
    bool matched = false;
    for (const pb::Device& device : all->devices()) {
      if (!matches_pattern(name, device.device_id())) continue;
      if (presence == Presence::kAway && device.online()) continue;
      add(device.device_id());
      matched = true;
    }
    if (matched) continue;
    return absl::NotFoundError(absl::StrCat("no device ",
                                            presence == Presence::kAway ? "that is absent " : "", "matches ",
                                            printable(name), ": `tracker devices` lists them"));
  }
  return found;
}

absl::StatusOr<std::string> render_waiting(const TrackerLink& tracker, TextFormat format, size_t width) {
  TF_ASSIGN_OR_RETURN(const pb::ListWaitingReply waiting, all_waiting(tracker));
  return format == TextFormat::kJson ? waiting_json(waiting) : waiting_table(waiting, width);
}

absl::StatusOr<std::string> render_reservations(const TrackerLink& tracker, TextFormat format, size_t width) {
  TF_ASSIGN_OR_RETURN(
      const pb::ListReservationsReply reservations,
      all_pages(tracker, pb::ListReservationsRequest(), &pb::Operators::Stub::ListReservations));
  return format == TextFormat::kJson ? reservations_json(reservations)
                                     : reservations_table(reservations, width);
}

absl::StatusOr<std::optional<uint32_t>> set_admission(const TrackerLink& tracker, const std::string& device,
                                                      Admission admission) {
  pb::SetAdmissionRequest request;
  request.set_device_id(device);
  request.set_admission(admission == Admission::kOpen       ? pb::ADMISSION_OPEN
                        : admission == Admission::kCordoned ? pb::ADMISSION_CORDONED
                                                            : pb::ADMISSION_DRAINING);
  TF_ASSIGN_OR_RETURN(const pb::SetAdmissionReply reply,
                      call(tracker, request, &pb::Operators::Stub::SetAdmission));
  return reply.has_leases() ? std::optional<uint32_t>(reply.leases()) : std::nullopt;
}

absl::StatusOr<bool> knows_user(const TrackerLink& tracker, const std::string& user) {
  TF_ASSIGN_OR_RETURN(const pb::ListWaitingReply waiting, all_waiting(tracker));
  return std::any_of(waiting.users().begin(), waiting.users().end(),
                     [&](const pb::UserUsage& each) { return each.user() == user; });
}

absl::StatusOr<std::vector<std::string>> force_release(const TrackerLink& tracker, const std::string& name) {
  pb::ForceReleaseRequest request;
  request.set_name(name);
  TF_ASSIGN_OR_RETURN(const pb::ForceReleaseReply reply,
                      call(tracker, request, &pb::Operators::Stub::ForceRelease));
  return std::vector<std::string>(reply.lease_ids().begin(), reply.lease_ids().end());
}

}  // namespace tf::tracker
