#include "database/store.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_join.h"
#include "base/status.h"
#include "database/store_errors.h"

namespace tf::database {
namespace {

// Records that look faster than the untuned schedule and are not surely so; with more of them, it is the
// best.
constexpr size_t kMostUnsure = 64;

// The first of those that is surely faster than the untuned schedule, or that schedule where it comes first.
std::optional<Choice> first_faster(std::vector<Measurement> fastest, const Measurement& untuned) {
  for (size_t i = 0; i < fastest.size(); ++i) {
    Measurement& each = fastest[i];
    if (each.schedule == untuned.schedule) return Choice{untuned, i == 0 ? Why::kFastest : Why::kUnproven};
    if (is_surely_faster(each, untuned)) return Choice{std::move(each), Why::kFaster};
  }
  return std::nullopt;
}

}  // namespace

std::string_view why_name(Why why) {
  switch (why) {
    case Why::kVerified:
      return "verified";
    case Why::kFaster:
      return "faster";
    case Why::kUnchecked:
      return "unchecked";
    case Why::kFastest:
      return "fastest";
    case Why::kUnproven:
      return "unproven";
    case Why::kNoGain:
      return "no_gain";
  }
  return "";
}

absl::StatusOr<std::optional<Measurement>> Records::best(const BestQuery& query) {
  TF_ASSIGN_OR_RETURN(std::optional<Choice> choice, choose(query));
  if (!choice) return std::nullopt;
  return std::move(choice->record);
}

absl::StatusOr<std::optional<Choice>> Records::choose(const BestQuery& query) {
  using Takes = NetworkVerdict::Takes;
  BestQuery asked = query;
  if (query.takes == Takes::kUntuned) asked.of = BestQuery::Of::kUntuned;
  TF_ASSIGN_OR_RETURN(std::vector<Measurement> fastest, top(asked, 1));
  if (fastest.empty()) return std::nullopt;
  const auto only = [&](Why why) { return Choice{std::move(fastest.front()), why}; };
  if (query.takes == Takes::kUntuned) return only(Why::kNoGain);
  if (query.takes == Takes::kFastest) return only(fastest.front().untuned ? Why::kFastest : Why::kVerified);
  if (query.schedule || query.of != BestQuery::Of::kEvery) return only(Why::kUnchecked);
  BestQuery same = query;
  same.problem = fastest.front().problem;
  same.device_class = fastest.front().device.device_class;
  same.semantics_version = fastest.front().semantics_version;
  BestQuery of_untuned = same;
  of_untuned.of = BestQuery::Of::kUntuned;
  TF_ASSIGN_OR_RETURN(const std::vector<Measurement> untuned, top(of_untuned, 1));
  if (untuned.empty() || !(untuned.front().problem == same.problem)) return only(Why::kUnchecked);
  std::optional<Choice> chosen = first_faster(std::move(fastest), untuned.front());
  if (chosen) return chosen;  // mostly
  TF_ASSIGN_OR_RETURN(fastest, top(same, kMostUnsure));
  chosen = first_faster(std::move(fastest), untuned.front());
  return std::move(chosen).value_or(Choice{untuned.front(), Why::kUnproven});
}

absl::Status Records::points(int64_t after_row, const PointVisitor& visit) {
  std::map<std::string, tensor::KernelKey> problems;
  std::set<PointSetting> settings;
  int64_t number = 0;
  return scan({}, [&](const Measurement& m) -> absl::Status {
    if (++number <= after_row) return absl::OkStatus();
    Point point{.row = number,
                .problem = &problems.try_emplace(tensor::to_string(m.problem), m.problem).first->second,
                .setting = &*settings
                                 .insert({.device_class = m.device.device_class,
                                          .fingerprint = m.device.fingerprint,
                                          .numerics = absl::StrJoin(m.numerics, ","),
                                          .semantics_version = m.semantics_version})
                                 .first,
                .outcome = m.outcome,
                .ns = m.median_ns().value_or(0),
                .untuned = m.untuned,
                .interleaved = m.interleaved.has_value(),
                .job_id = m.job_id,
                .finished_unix_ns = m.finished_unix_ns,
                .imported_after = m.imported_after};
    const Digest schedule = sha256(m.schedule);
    std::memcpy(&point.schedule, schedule.bytes.data(), sizeof point.schedule);
    for (const Sample& sample : m.samples) point.sampled_ns += static_cast<double>(sample.total_ns);
    return visit(point);
  });
}

absl::StatusOr<Measurement> Records::find_row(int64_t row) {
  std::optional<Measurement> found;
  int64_t number = 0;
  const absl::Status status = scan({}, [&](const Measurement& m) -> absl::Status {
    if (++number != row) return absl::OkStatus();
    found = m;
    return absl::CancelledError();  // the rest is not needed
  });
  if (found) return *std::move(found);
  TF_RETURN_IF_ERROR(status);
  return unknown_row(row);
}

absl::StatusOr<Job> Records::find_job(int64_t id) {
  return unknown_job(id);
}

absl::StatusOr<std::vector<Job>> Records::jobs() {
  return std::vector<Job>();
}

absl::StatusOr<std::vector<JobTask>> Records::job_tasks(int64_t) {
  return std::vector<JobTask>();
}

absl::StatusOr<std::string> Records::job_network(int64_t) {
  return std::string();
}

bool numerics_allowed(const std::vector<std::string>& used, const std::vector<std::string>& allowed) {
  return std::ranges::all_of(
      used, [&](const std::string& name) { return std::ranges::find(allowed, name) != allowed.end(); });
}

}  // namespace tf::database
