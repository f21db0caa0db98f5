#include "tracker/operators/devices_text.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "base/cli/age_text.h"
#include "base/cli/text_table.h"
#include "base/text/json_text.h"
#include "proto/farm/v1/farm.pb.h"
#include "rpc/connection/peer_address.h"

namespace tf::tracker {
namespace {

namespace pb = tunefarm::farm::v1;

using Row = std::vector<std::string>;

std::string health_text(const pb::Device& device) {
  switch (device.health()) {
    case pb::HEALTH_SUSPECT:
      return "suspect";
    case pb::HEALTH_QUARANTINED:
      return "quarantined";
    case pb::HEALTH_PROBATION:
      return "probation";
    default:
      return "";
  }
}

// What keeps the device from being like any other, most of all first; empty: nothing. One that drains is
// drained once none of its slots is leased.
std::string admission_text(const pb::Device& device) {
  if (device.stopping()) return "stopping";
  switch (device.admission()) {
    case pb::ADMISSION_CORDONED:
      return "cordoned";
    case pb::ADMISSION_DRAINING:
      return std::any_of(device.slots().begin(), device.slots().end(),
                         [](const pb::Slot& slot) { return slot.has_lease(); })
                 ? "draining"
                 : "drained";
    default:
      return "";
  }
}

std::string age(int64_t ms) {
  return age_text(ms / 1000);
}

// How long the lease goes on if nobody says anything more. While the agent is away a renewal does not help.
int64_t lease_left_ms(const pb::Device& device, const pb::Slot& slot) {
  const int64_t term = slot.remaining_ms();
  return device.has_leases_end_in_ms() ? std::min<int64_t>(term, device.leases_end_in_ms()) : term;
}

std::string presence_of(const pb::Device& device, const pb::Slot& slot) {
  return !device.online() ? "away" : slot.has_lease() ? "leased" : "idle";
}

// "leased, suspect, cordoned"
std::string state_of(const pb::Device& device, std::string presence, std::string health) {
  std::vector<std::string> parts = {std::move(presence)};
  for (const std::string& part : {std::move(health), admission_text(device)}) {
    if (!part.empty()) parts.push_back(part);
  }
  if (!device.reserved_for().empty()) parts.push_back("reserved for " + device.reserved_for());
  return absl::StrJoin(parts, ", ");
}

// For people: "idle, quarantined for 12m5s"; and "away, lease ends in 18s", unless the agent comes back.
std::string state_in_table(const pb::Device& device, const pb::Slot& slot) {
  std::string presence = presence_of(device, slot);
  if (device.has_leases_end_in_ms() && slot.has_lease())
    absl::StrAppend(&presence, ", lease ends in ", age(lease_left_ms(device, slot)));
  std::string health = health_text(device);
  if (!health.empty() && device.has_health_since_ms())
    absl::StrAppend(&health, " for ", age(device.health_since_ms()));
  return state_of(device, std::move(presence), std::move(health));
}

const pb::GoldenSample* last_golden(const pb::Slot& slot) {
  return slot.golden().samples().empty() ? nullptr : &*slot.golden().samples().rbegin();
}

std::string temperature(const pb::Slot& slot) {
  const pb::GoldenSample* last = last_golden(slot);
  if (!last || last->device().temperature_c() == 0) return "-";
  return absl::StrFormat("%.0f C", last->device().temperature_c());
}

// How much slower the golden kernel has become, "+3.1%".
std::string drift(const pb::Slot& slot) {
  return slot.golden().baseline_ns() == 0 ? "-" : absl::StrFormat("%+.1f%%", 100 * slot.golden().drift());
}

std::string labels_text(const pb::Device& device) {
  const std::map<std::string, std::string> sorted(device.labels().begin(), device.labels().end());
  return sorted.empty() ? "-" : absl::StrJoin(sorted, ",", absl::PairFormatter("="));
}

// A tracker from before users were told apart from holders does not say.
std::string user_of_lease(const pb::Slot& slot) {
  return slot.user().empty() ? slot.holder().substr(0, slot.holder().find(':')) : slot.user();
}

// Of what it measures on.
const std::string& model_of(const pb::DeviceFacts& facts) {
  return facts.gpus().empty() ? facts.cpu_model() : facts.gpus(0).model();
}

Row row_of(const pb::Device& device, const pb::Slot& slot) {
  const bool leased = slot.has_lease();
  return {absl::StrCat(device.device_id(), "/", slot.slot()),
          device.device_key(),
          state_in_table(device, slot),
          age(device.since_ms()),
          leased ? slot.holder() : "-",
          leased ? user_of_lease(slot) : "-",
          leased && !slot.purpose().empty() ? slot.purpose() : "-",
          leased ? age(slot.held_ms()) : "-",
          leased ? age(lease_left_ms(device, slot)) : "-",
          leased ? absl::StrCat(slot.queued()) : "-",
          leased ? absl::StrCat(slot.answered()) : "-",
          temperature(slot),
          drift(slot),
          absl::StrJoin(slot.cpus(), ","),
          device.agent_address().empty() ? "-" : rpc::host_of_address(device.agent_address()),
          labels_text(device),
          model_of(device.facts())};
}

nlohmann::json golden_json(const pb::GoldenTrend& golden) {
  nlohmann::json samples = nlohmann::json::array();
  for (const pb::GoldenSample& sample : golden.samples()) {
    samples.push_back({{"kernel", sample.kernel()},
                       {"time_ns", sample.time_ns()},
                       {"spread", sample.spread()},
                       {"temperature_c", sample.device().temperature_c()},
                       {"clock_mhz", sample.device().clock_mhz()},
                       {"governor", sample.device().governor()},
                       {"load_1min", sample.device().load_1min()},
                       {"throttled", sample.device().throttled()},
                       {"age_ms", sample.age_ms()},
                       {"detail", sample.detail()}});
  }
  return {{"baseline_ns", golden.baseline_ns()}, {"drift", golden.drift()}, {"samples", samples}};
}

nlohmann::json json_of(const pb::Device& device, const pb::Slot& slot) {
  nlohmann::json json = {{"slot", slot.slot()},
                         {"cpus", std::vector<uint32_t>(slot.cpus().begin(), slot.cpus().end())},
                         {"state", state_of(device, presence_of(device, slot), health_text(device))},
                         {"epoch", slot.epoch()}};
  if (slot.has_golden()) json["golden"] = golden_json(slot.golden());
  if (slot.has_lease()) {
    json["lease"] = {{"id", slot.lease().lease_id()}, {"holder", slot.holder()},
                     {"user", user_of_lease(slot)},   {"purpose", slot.purpose()},
                     {"held_ms", slot.held_ms()},     {"remaining_ms", lease_left_ms(device, slot)},
                     {"queued", slot.queued()},       {"unacknowledged", slot.unacknowledged()},
                     {"answered", slot.answered()}};
  }
  return json;
}

std::string time_text(int64_t unix_ms) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::FromUnixMillis(unix_ms), absl::UTCTimeZone());
}

nlohmann::json json_of(const pb::Reservation& reservation) {
  return {{"id", reservation.id()},
          {"user", reservation.user()},
          {"key", reservation.device_key()},
          {"selector", reservation.selector()},
          {"from", time_text(reservation.from_unix_ms())},
          {"until", time_text(reservation.until_unix_ms())},
          {"in_force", reservation.in_force()},
          {"devices", reservation.devices()}};
}

}  // namespace

std::string devices_table(const pb::ListDevicesReply& devices, size_t width) {
  std::vector<Row> rows;
  for (const pb::Device& device : devices.devices()) {
    for (const pb::Slot& slot : device.slots()) rows.push_back(row_of(device, slot));
  }
  return text_table({{"slot"},
                     {"key"},
                     {"state"},
                     {"age"},
                     {"holder", Cells::kShortened},
                     {"user", Cells::kShortened},
                     {"purpose", Cells::kShortened},
                     {"held"},
                     {"left"},
                     {"queued", Cells::kLeftOut},
                     {"done", Cells::kLeftOut},
                     {"temp", Cells::kLeftOut},
                     {"drift", Cells::kLeftOut},
                     {"cpus", Cells::kShortened},
                     {"address", Cells::kShortened},
                     {"labels", Cells::kShortened},
                     {"model", Cells::kShortened}},
                    std::move(rows), width);
}

std::string devices_json(const pb::ListDevicesReply& devices) {
  nlohmann::json list = nlohmann::json::array();
  for (const pb::Device& device : devices.devices()) {
    const pb::DeviceFacts& facts = device.facts();
    nlohmann::json json = {
        {"device", device.device_id()},
        {"key", device.device_key()},
        {"online", device.online()},
        {"admission", admission_text(device).empty() ? "open" : admission_text(device)},
        {"health", health_text(device).empty() ? "healthy" : health_text(device)},
        {"health_reason", device.health_reason()},
        {"reserved_for", device.reserved_for()},
        {"labels", std::map<std::string, std::string>(device.labels().begin(), device.labels().end())},
        {"since_ms", device.since_ms()},
        {"agent_version", device.agent_version()},
        {"agent_address", device.agent_address()},
        {"arch", facts.arch()},
        {"cpu_model", facts.cpu_model()},
        {"cpu_features", std::vector<std::string>(facts.cpu_features().begin(), facts.cpu_features().end())},
        {"cores", facts.cores()},
        {"threads", facts.threads()},
        {"memory_bytes", facts.memory_bytes()},
        {"fingerprint", facts.fingerprint()},
        {"peak_gflops", facts.peak_gflops()},
        {"slots", nlohmann::json::array()}};
    for (const pb::Gpu& gpu : facts.gpus())
      json["gpus"].push_back(
          {{"back_end", gpu.back_end()}, {"model", gpu.model()}, {"memory_bytes", gpu.memory_bytes()}});
    if (device.has_health_since_ms()) json["health_since_ms"] = device.health_since_ms();
    if (device.has_leases_end_in_ms()) json["leases_end_in_ms"] = device.leases_end_in_ms();
    for (const pb::Slot& slot : device.slots()) json["slots"].push_back(json_of(device, slot));
    list.push_back(std::move(json));
  }
  // Agents choose their names: what is not UTF-8 must not end the command.
  return json_text(list, 2) + "\n";
}

std::string waiting_table(const pb::ListWaitingReply& waiting, size_t width) {
  std::vector<Row> requests;
  for (const pb::WaitingRequest& each : waiting.requests()) {
    requests.push_back({each.holder(), each.user(), each.device_key(), absl::StrCat(each.priority()),
                        age(each.waited_ms())});
  }
  std::vector<Row> users;
  for (const pb::UserUsage& each : waiting.users()) {
    users.push_back({each.user(), absl::StrCat(each.share()), absl::StrCat(each.slots()),
                     absl::StrCat(each.waiting()), absl::StrFormat("%.0f", each.recent_slot_seconds())});
  }
  std::string text =
      requests.empty()
          ? "nobody is waiting\n"
          : text_table({{"holder", Cells::kShortened}, {"user"}, {"key"}, {"priority"}, {"waits"}},
                       std::move(requests), width);
  if (users.empty()) return text;
  return absl::StrCat(text, "\n",
                      text_table({{"user"}, {"share"}, {"slots"}, {"waiting"}, {"recent slot-seconds"}},
                                 std::move(users), width));
}

std::string waiting_json(const pb::ListWaitingReply& waiting) {
  nlohmann::json requests = nlohmann::json::array();
  for (const pb::WaitingRequest& each : waiting.requests()) {
    requests.push_back({{"holder", each.holder()},
                        {"user", each.user()},
                        {"key", each.device_key()},
                        {"priority", each.priority()},
                        {"waited_ms", each.waited_ms()}});
  }
  nlohmann::json users = nlohmann::json::array();
  for (const pb::UserUsage& each : waiting.users()) {
    users.push_back({{"user", each.user()},
                     {"share", each.share()},
                     {"slots", each.slots()},
                     {"waiting", each.waiting()},
                     {"recent_slot_seconds", each.recent_slot_seconds()}});
  }
  return json_text({{"requests", requests}, {"users", users}}, 2) + "\n";
}

std::string reservations_table(const pb::ListReservationsReply& reservations, size_t width) {
  std::vector<Row> rows;
  for (const pb::Reservation& each : reservations.reservations()) {
    rows.push_back({absl::StrCat(each.id()), each.user(), each.device_key().empty() ? "-" : each.device_key(),
                    each.selector().empty() ? "-" : each.selector(), time_text(each.from_unix_ms()),
                    time_text(each.until_unix_ms()), each.in_force() ? "yes" : "no",
                    absl::StrCat(each.devices())});
  }
  return text_table({{"id"},
                     {"user"},
                     {"key"},
                     {"selector", Cells::kShortened},
                     {"from"},
                     {"until"},
                     {"in force"},
                     {"devices"}},
                    std::move(rows), width);
}

std::string reservations_json(const pb::ListReservationsReply& reservations) {
  nlohmann::json list = nlohmann::json::array();
  for (const pb::Reservation& each : reservations.reservations()) list.push_back(json_of(each));
  return json_text(list, 2) + "\n";
}

std::string reservation_json(const pb::Reservation& reservation) {
  return json_text(json_of(reservation), 2) + "\n";
}

}  // namespace tf::tracker
