#include "tuner/report/columns.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status.h"
#include "tuner/report/kernel_id.h"

namespace tf::report {
namespace {

using database::Outcome;

uint64_t mixed(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15;
  return hash ^ (hash >> 29);
}

// As database::takes_its_place, of entries.
bool takes_place(const Entry& later, const Entry& earlier, std::span<const Setting> settings) {
  if (later.has_time()) return true;
  if (!database::is_failure(later.outcome))
    return !earlier.has_time() && !database::is_failure(earlier.outcome);
  const std::string& machine = settings[later.setting].fingerprint;
  return !earlier.has_time() || machine.empty() || machine == settings[earlier.setting].fingerprint;
}

}  // namespace

// By address, as points() gives them.
struct Columns::Names {
  absl::flat_hash_map<const tensor::KernelKey*, uint32_t> kernels;
  absl::flat_hash_map<const Setting*, uint16_t> settings;
};

absl::Status Columns::refresh(database::Records& records) {
  Names names;
  return records.points(last_row_, [&](const database::Point& point) { return add(point, names); });
}

std::span<const uint32_t> Columns::of_job(int64_t job) const {
  const auto found = by_job_.find(job);
  return found == by_job_.end() ? std::span<const uint32_t>() : found->second;
}

const uint32_t* Columns::find_kernel(std::string_view id) const {
  const auto found = kernel_numbers_.find(id);
  return found == kernel_numbers_.end() ? nullptr : &found->second;
}

uint32_t Columns::number_of(const tensor::KernelKey& key) {
  std::string id = kernel_id(key);
  const auto [found, is_new] = kernel_numbers_.try_emplace(id, static_cast<uint32_t>(kernels_.size()));
  if (is_new) {
    kernels_.push_back(key);
    by_kernel_.push_back({.id = std::move(id)});
  }
  return found->second;
}

uint16_t Columns::number_of(const Setting& setting) {
  const auto [found, is_new] = setting_numbers_.try_emplace(setting, static_cast<uint16_t>(settings_.size()));
  if (is_new) {
    settings_.push_back(setting);
    const Digest name = sha256(absl::StrCat(setting.semantics_version, " ", setting.device_class));
    uint64_t hash = 0;
    for (size_t i = 0; i < sizeof hash; ++i) hash = hash << 8 | name.bytes[i];
    classes_.push_back(hash);
  }
  return found->second;
}

absl::Status Columns::add(const database::Point& point, Names& names) {
  constexpr int64_t kMost = std::numeric_limits<uint32_t>::max() - 1;
  if (point.row < 1 || point.row > kMost || point.job_id < 0 || point.job_id > kMost)
    return absl::OutOfRangeError(
        absl::StrCat("a measurement in row ", point.row, " of job ", point.job_id, " cannot be reported"));
  const auto [kernel, is_new_kernel] = names.kernels.try_emplace(point.problem, 0);
  if (is_new_kernel) kernel->second = number_of(*point.problem);
  const auto [setting, is_new_setting] = names.settings.try_emplace(point.setting, uint16_t{0});
  if (is_new_setting) {
    if (settings_.size() == std::numeric_limits<uint16_t>::max())
      return absl::OutOfRangeError("the database has measurements of more than 65535 kinds of machines");
    setting->second = number_of(*point.setting);
  }
  const auto entry = static_cast<uint32_t>(entries_.size());
  entries_.push_back({.ns = point.ns,
                      .finished_unix_ns = point.finished_unix_ns,
                      .sampled_s = static_cast<float>(point.sampled_ns * 1e-9),
                      .row = static_cast<uint32_t>(point.row),
                      .kernel = kernel->second,
                      .job = static_cast<uint32_t>(point.job_id),
                      .setting = setting->second,
                      .outcome = point.outcome,
                      .untuned = point.untuned,
                      .interleaved = point.interleaved});
  Kernel& of_kernel = by_kernel_[kernel->second];
  of_kernel.entries.push_back(entry);
  if (std::ranges::find(of_kernel.settings, setting->second) == of_kernel.settings.end())
    of_kernel.settings.push_back(setting->second);
  if (point.job_id != 0) by_job_[point.job_id].push_back(entry);
  find_place(point.schedule, entry, point);
  last_row_ = point.row;
  return absl::OkStatus();
}

// Whether it counts, and in whose place, among those of its program that came before.
void Columns::find_place(uint64_t schedule, uint32_t entry, const database::Point& point) {
  Entry& added = entries_[entry];
  if (point.imported_after) imported_after_[entry] = static_cast<uint32_t>(*point.imported_after);
  const uint64_t program = mixed(mixed(schedule, added.kernel), classes_[added.setting]);
  const auto [found, is_first] = programs_.try_emplace(program, entry);
  if (is_first) {
    added.counts = true;
    return;
  }
  // The order of database::counting_order: an imported one may be older than what is there.
  const auto order = [&](uint32_t number) {
    const Entry& each = entries_[number];
    const auto imported = imported_after_.find(number);
    return imported == imported_after_.end()
               ? std::tuple(int64_t{each.row}, int64_t{-1}, each.row)
               : std::tuple(int64_t{imported->second}, each.finished_unix_ns, each.row);
  };
  const Entry& before = entries_[found->second];
  const bool is_later = order(entry) > order(found->second);
  const bool replaces =
      is_later ? takes_place(added, before, settings_) : !takes_place(before, added, settings_);
  if (!replaces) return;
  added.counts = true;
  added.replaces = found->second;
  found->second = entry;
}

}  // namespace tf::report
