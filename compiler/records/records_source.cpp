#include "compiler/records/records_source.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/files/file.h"
#include "base/status.h"
#include "base/text/json_text.h"
#include "compiler/schedule/schedule.h"

namespace tf::records {
namespace {

using driver::ScheduleChoice;
using tensor::KernelKey;

constexpr int kLockVersion = 3;

// Whether a record that a lock names may be built from; the lock is a file that people edit and merge.
absl::Status check_locked(const database::Measurement& record, const tensor::KernelKey& problem,
                          const schedule::Numerics& allowed) {
  if (!same_kernel(record.problem, problem))
    return absl::FailedPreconditionError("it belongs to another kernel");
  if (record.outcome != database::Outcome::kOk) {
    return absl::FailedPreconditionError(absl::StrCat(
        "its outcome is ", std::string(database::outcome_name(record.outcome)), ", but must be ok"));
  }
  if (record.semantics_version != schedule::kSemanticsVersion) {
    return absl::FailedPreconditionError(absl::StrCat("its schedule has version ", record.semantics_version,
                                                      ", but this program supports version ",
                                                      schedule::kSemanticsVersion));
  }
  if (!database::numerics_allowed(record.numerics, allowed)) {
    const std::string used = absl::StrJoin(record.numerics, ",");
    return absl::FailedPreconditionError(absl::StrCat("it uses ", used, ": give --allow ", used));
  }
  return absl::OkStatus();
}

// Throws what the JSON library throws.
std::vector<LockEntry> read_entries(const nlohmann::json& json, const std::string& target, int threads) {
  std::vector<LockEntry> entries;
  for (const nlohmann::json& task : json) {
    LockEntry entry;
    entry.label = task.at("task").get<std::string>();
    entry.record = task.at("record").is_null() ? "" : task.at("record").get<std::string>();
    // An invalid key matches no kernel.
    entry.query = {.workload = Digest::from_hex(task.at("key").get<std::string>()).value_or(Digest()),
                   .binding = task.at("binding").get<std::string>(),
                   .in_layouts = task.at("in_layouts").get<std::vector<std::string>>(),
                   .out_layouts = task.at("out_layouts").get<std::vector<std::string>>(),
                   .target = target,
                   .threads = static_cast<uint32_t>(threads)};
    entries.push_back(std::move(entry));
  }
  return entries;
}

nlohmann::json json_of(const std::vector<LockEntry>& entries) {
  nlohmann::json json = nlohmann::json::array();
  for (const LockEntry& entry : entries) {
    json.push_back({{"task", entry.label},
                    {"key", entry.query.workload.hex()},
                    {"binding", entry.query.binding},
                    {"in_layouts", entry.query.in_layouts},
                    {"out_layouts", entry.query.out_layouts},
                    {"record", entry.record.empty() ? nlohmann::json() : nlohmann::json(entry.record)}});
  }
  return json;
}

}  // namespace

ScheduleChoice choice_of(const database::Measurement& record, const tensor::KernelKey& query) {
  return {record.schedule, database::record_digest(record).hex(), record.median_ns().value_or(0),
          record.problem.reuse_distance_bytes == query.reuse_distance_bytes, record.untuned};
}

absl::StatusOr<std::set<std::string>> device_classes(database::Records& records,
                                                     const tensor::KernelKey& problem) {
  std::set<std::string> classes;
  TF_ASSIGN_OR_RETURN(const std::vector<tensor::KernelKey> problems, records.problems());
  for (const tensor::KernelKey& each : problems) {  // at all reuse distances
    if (!same_kernel(each, problem)) continue;
    const database::Filter ok{.problem = each, .which = database::Filter::Which::kOk};
    TF_RETURN_IF_ERROR(records.scan(ok, [&](const database::Measurement& m) {
      classes.insert(m.device.device_class);
      return absl::OkStatus();
    }));
  }
  return classes;
}

std::string mixed_devices_warning(const std::set<std::string>& device_classes) {
  if (device_classes.size() < 2) return "";
  return absl::StrCat("records of several device classes compete (", absl::StrJoin(device_classes, ", "),
                      "): give --device KEY to choose one");
}

std::string other_devices_hint(const std::set<std::string>& device_classes, const std::string& asked_for) {
  if (device_classes.empty() || device_classes.contains(asked_for)) return "";
  return absl::StrCat("these kernels have no record of the device class ", asked_for,
                      ", but they have records of ", absl::StrJoin(device_classes, ", "),
                      ": give one of these with --device");
}

absl::StatusOr<std::optional<ScheduleChoice>> BestSource::find(const tensor::KernelKey& query) {
  database::BestQuery best;
  best.problem = query;
  best.device_class = device_class_;
  best.allowed_numerics = allowed_;
  best.semantics_version = schedule::kSemanticsVersion;
  best.takes = takes_;
  TF_ASSIGN_OR_RETURN(const std::optional<database::Measurement> record, records_.best(best));
  if (!record) return std::nullopt;
  return choice_of(*record, query);
}

absl::StatusOr<std::optional<database::Measurement>> best_but_for_numerics(
    database::Records& records, const tensor::KernelKey& problem,
    const std::optional<std::string>& device_class, const schedule::Numerics& allowed) {
  database::BestQuery best{.problem = problem,
                           .device_class = device_class,
                           .allowed_numerics = schedule::all_numerics(),
                           .semantics_version = schedule::kSemanticsVersion};
  TF_ASSIGN_OR_RETURN(std::optional<database::Measurement> record, records.best(best));
  if (record && database::numerics_allowed(record->numerics, allowed)) record.reset();
  return record;
}

absl::StatusOr<std::optional<ScheduleChoice>> LockedSource::find(const tensor::KernelKey& query) {
  for (const LockEntry& entry : entries_) {
    if (!same_kernel(entry.query, query)) continue;
    if (entry.record.empty()) return std::nullopt;
    const absl::StatusOr<Digest> digest = Digest::from_hex(entry.record);
    if (!digest.ok())
      return absl::InvalidArgumentError(
          absl::StrCat("tuning.lock is damaged: the record that it names for '", entry.label,
                       "' is not valid; restore the file, or build once without --locked"));
    if (records_ == nullptr)
      return absl::FailedPreconditionError(
          "tuning.lock refers to records: give the database that contains them with --db");
    const absl::StatusOr<database::Measurement> record = records_->find_record(*digest);
    const absl::Status usable = record.ok() ? check_locked(*record, query, allowed_) : record.status();
    if (!usable.ok())
      return absl::FailedPreconditionError(absl::StrCat("record ", entry.record.substr(0, 12), " of '",
                                                        entry.label,
                                                        "', to which tuning.lock refers: ", usable.message(),
                                                        "; build without --locked to make a new lock"));
    return choice_of(*record, query);
  }
  if (unknown_ == Unknown::kNoSchedule) return std::nullopt;
  return absl::FailedPreconditionError(
      absl::StrCat("tuning.lock has no entry for workload ", query.workload.hex().substr(0, 12),
                   " for this target and number of threads: build without --locked to make a new one"));
}

absl::StatusOr<Lock> read_lock(const std::string& path) {
  absl::StatusOr<std::string> text = read_file(path);
  if (absl::IsNotFound(text.status()))
    return absl::NotFoundError(
        absl::StrCat("there is no ", path, ", which --locked needs: build once without --locked"));
  TF_RETURN_IF_ERROR(text.status());
  try {
    const nlohmann::json json = nlohmann::json::parse(*text);
    if (json.at("version").get<int>() != kLockVersion)
      return absl::FailedPreconditionError(
          absl::StrCat(path, " has another version: build without --locked"));
    const std::string target = json.at("target").get<std::string>();
    const int threads = json.at("threads").get<int>();
    return Lock{read_entries(json.at("tasks"), target, threads),
                read_entries(json.at("layouts"), target, threads), json.at("allow").get<schedule::Numerics>(),
                json.value("name", std::string())};
  } catch (const nlohmann::json::exception&) {
    // What the library says of it is for programmers.
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is not a valid tuning.lock: restore it, or build once without --locked"));
  }
}

absl::Status check_allowed(const Lock& lock, const schedule::Numerics& allowed) {
  if (lock.allowed == allowed) return absl::OkStatus();
  const std::string made = absl::StrJoin(lock.allowed, ",");
  return absl::FailedPreconditionError(absl::StrCat(
      "tuning.lock comes from a build ", made.empty() ? "without --allow: omit it" : "that uses ",
      made.empty() ? "" : absl::StrCat(made, ": give --allow ", made),
      ", or build without --locked to make a new lock"));
}

absl::Status write_lock(const std::string& path, const Lock& lock) {
  const nlohmann::json json = {{"version", kLockVersion},
                               {"target", lock.tasks.empty() ? "" : lock.tasks[0].query.target},
                               {"threads", lock.tasks.empty() ? 1 : lock.tasks[0].query.threads},
                               {"allow", lock.allowed},
                               {"name", lock.name},
                               {"tasks", json_of(lock.tasks)},
                               {"layouts", json_of(lock.layouts)}};
  return write_file(path, json_text(json, 1) + "\n");
}

}  // namespace tf::records
