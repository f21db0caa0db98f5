#include "database/sqlite/point_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "database/sqlite/row_values.h"
#include "database/sqlite/sqlite_rows.h"

namespace tf::database::rows {
namespace {

constexpr char kSelectPoint[] =
    "SELECT id, problem_id, substr(schedule_digest, 1, 8), semantics_version, numerics, outcome, samples, "
    "median_ns, device_class, fingerprint, job_id, finished_unix_ns, untuned, match_unix_ns, imported_after "
    "FROM measurements WHERE id > ? ORDER BY id LIMIT ?";
constexpr std::string_view kPointTypes = "iibitibrttiiiII";  // as in row_values.cpp

absl::Status check_point(const Statement& row) {
  for (size_t i = 0; i < kPointTypes.size(); ++i)
    if (!row.is_of_type(static_cast<int>(i), kPointTypes[i]))
      return absl::DataLossError(absl::StrCat("its ", row.name(static_cast<int>(i)), " has an invalid type"));
  if (row.integer(5) < 1 || row.integer(5) > 8)
    return absl::DataLossError(absl::StrCat("its outcome is ", row.integer(5)));
  return absl::OkStatus();
}

absl::Status read_problems(Connection& db, PointNames& names) {
  const auto read = [](const Statement& row) -> absl::StatusOr<std::pair<int64_t, tensor::KernelKey>> {
    TF_ASSIGN_OR_RETURN(tensor::KernelKey key, read_problem(row));
    return std::pair(row.integer(7), std::move(key));
  };
  TF_ASSIGN_OR_RETURN(auto rows, db.select(kSelectProblem, read));
  for (auto& [id, key] : rows) names.problems.try_emplace(id, std::move(key));
  return absl::OkStatus();
}

absl::StatusOr<const tensor::KernelKey*> problem_of(Connection& db, int64_t id, PointNames& names) {
  auto found = names.problems.find(id);
  if (found == names.problems.end()) {
    TF_RETURN_IF_ERROR(read_problems(db, names));
    found = names.problems.find(id);
  }
  if (found == names.problems.end()) return absl::DataLossError("its problem is missing");
  return &found->second;
}

absl::StatusOr<Point> point_of(Connection& db, const Statement& row, PointNames& names) {
  TF_RETURN_IF_ERROR(check_point(row));
  Point point{.row = row.integer(0),
              .outcome = static_cast<Outcome>(row.integer(5)),
              .untuned = row.integer(12) != 0,
              .interleaved = !row.is_null(13),
              .job_id = row.integer(10),
              .finished_unix_ns = row.integer(11)};
  TF_ASSIGN_OR_RETURN(point.problem, problem_of(db, row.integer(1), names));
  point.setting = &*names.settings
                        .insert({.device_class = row.text(8),
                                 .fingerprint = row.text(9),
                                 .numerics = row.text(4),
                                 .semantics_version = static_cast<uint32_t>(row.integer(3))})
                        .first;
  const std::string schedule = row.blob(2);
  std::memcpy(&point.schedule, schedule.data(), std::min(schedule.size(), sizeof point.schedule));
  const double ns = row.real(7);  // NULL is NaN
  if (std::isfinite(ns) && ns > 0) point.ns = ns;
  TF_ASSIGN_OR_RETURN(const std::vector<Sample> samples, decode_samples(row.blob(6)));
  for (const Sample& sample : samples) point.sampled_ns += static_cast<double>(sample.total_ns);
  if (!row.is_null(14)) point.imported_after = row.integer(14);
  return point;
}

}  // namespace

absl::StatusOr<std::vector<Point>> points(Connection& db, int64_t after_row, size_t limit,
                                          PointNames& names) {
  std::vector<Point> out;
  TF_ASSIGN_OR_RETURN(Statement find, db.prepare(kSelectPoint));
  find.bind(after_row, limit);
  while (true) {
    TF_ASSIGN_OR_RETURN(const bool is_row, find.step());
    if (!is_row) return out;
    absl::StatusOr<Point> point = point_of(db, find, names);
    if (!point.ok()) return damaged_row(find, "measurements", find.integer(0), point.status());
    out.push_back(*std::move(point));
  }
}

}  // namespace tf::database::rows
