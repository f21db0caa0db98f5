#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "base/json_text.h"
#include "proto/farm/v1/farm.pb.h"
#include "tracker/devices_text.h"

namespace tf::tracker {
namespace {

namespace pb = tunefarm::farm::v1;

using Row = std::vector<std::string>;

std::string state_of(const pb::Device& device, const pb::Slot& slot) {
  if (!device.online()) return "away";
  if (device.draining()) return slot.has_lease() ? "leased, draining" : "draining";
  return slot.has_lease() ? "leased" : "idle";
}

// "3h20m", "45s": the two largest units at most.
std::string age(int64_t ms) {
  const int64_t s = ms / 1000;
  if (s < 60) return absl::StrCat(s, "s");
  if (s < 3600) return absl::StrCat(s / 60, "m", s % 60, "s");
  if (s < 86400) return absl::StrCat(s / 3600, "h", s / 60 % 60, "m");
  return absl::StrCat(s / 86400, "d", s / 3600 % 24, "h");
}

Row row_of(const pb::Device& device, const pb::Slot& slot) {
  const bool leased = slot.has_lease();
  return {absl::StrCat(device.device_id(), "/", slot.slot()),
          device.device_key(),
          state_of(device, slot),
          age(device.since_ms()),
          absl::StrJoin(slot.cpus(), ","),
          absl::StrCat(slot.epoch()),
          leased ? slot.holder() : "-",
          leased ? slot.lease().lease_id() : "-",
          leased ? age(slot.remaining_ms()) : "-",
          leased ? absl::StrCat(slot.queued()) : "-",
          leased ? absl::StrCat(slot.answered()) : "-",
          device.facts().cpu_model()};
}

nlohmann::json json_of(const pb::Device& device, const pb::Slot& slot) {
  nlohmann::json json = {{"slot", slot.slot()},
                         {"cpus", std::vector<uint32_t>(slot.cpus().begin(), slot.cpus().end())},
                         {"state", state_of(device, slot)},
                         {"epoch", slot.epoch()}};
  if (slot.has_lease()) {
    json["lease"] = {{"id", slot.lease().lease_id()},           {"holder", slot.holder()},
                     {"remaining_ms", slot.remaining_ms()},     {"queued", slot.queued()},
                     {"unacknowledged", slot.unacknowledged()}, {"answered", slot.answered()}};
  }
  return json;
}

}  // namespace

std::string devices_table(const pb::ListDevicesReply& devices) {
  std::vector<Row> rows = {
      {"SLOT", "KEY", "STATE", "AGE", "CPUS", "EPOCH", "HOLDER", "LEASE", "LEFT", "QUEUED", "DONE", "MODEL"}};
  for (const pb::Device& device : devices.devices()) {
    for (const pb::Slot& slot : device.slots()) rows.push_back(row_of(device, slot));
  }
  std::vector<size_t> widths(rows.front().size());
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      line.append(widths[i] - row[i].size() + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    absl::StrAppend(&text, line, "\n");
  }
  return text;
}

std::string devices_json(const pb::ListDevicesReply& devices) {
  nlohmann::json list = nlohmann::json::array();
  for (const pb::Device& device : devices.devices()) {
    const pb::DeviceFacts& facts = device.facts();
    nlohmann::json json = {
        {"device", device.device_id()},
        {"key", device.device_key()},
        {"online", device.online()},
        {"draining", device.draining()},
        {"since_ms", device.since_ms()},
        {"agent_version", device.agent_version()},
        {"arch", facts.arch()},
        {"cpu_model", facts.cpu_model()},
        {"cpu_features", std::vector<std::string>(facts.cpu_features().begin(), facts.cpu_features().end())},
        {"cores", facts.cores()},
        {"threads", facts.threads()},
        {"memory_bytes", facts.memory_bytes()},
        {"fingerprint", facts.fingerprint()},
        {"peak_gflops", facts.peak_gflops()},
        {"slots", nlohmann::json::array()}};
    for (const pb::Slot& slot : device.slots()) json["slots"].push_back(json_of(device, slot));
    list.push_back(std::move(json));
  }
  // Agents choose their names: what is not UTF-8 must not end the command.
  return json_text(list, 2) + "\n";
}

}  // namespace tf::tracker
