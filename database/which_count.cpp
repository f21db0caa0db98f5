#include "database/which_count.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tf::database {
namespace {

bool is_before(const Measurement* one, const Measurement* other) {
  return counting_order(*one) < counting_order(*other);
}

// That a row of a problem was measured here and is not dated later than the parameter.
constexpr char kMeasuredHereBefore[] = "problem_id = ? AND imported_after IS NULL AND finished_unix_ns <= ?";

}  // namespace

Program program_of(const Measurement& measurement) {
  return {.problem = tensor::to_string(measurement.problem),
          .schedule = measurement.schedule,
          .device_class = measurement.device.device_class,
          .semantics_version = measurement.semantics_version};
}

CountingOrder counting_order(const Measurement& m) {
  if (!m.imported_after) return {.row = m.id, .imported_ns = -1, .id = m.id};
  return {.row = *m.imported_after, .imported_ns = m.finished_unix_ns, .id = m.id};
}

std::string counting_order_sql(const std::string& row, const std::string& suffix) {
  return absl::StrCat("coalesce(", row, ".imported_after, ", row, ".id)", suffix, ", iif(", row,
                      ".imported_after IS NULL, -1, ", row, ".finished_unix_ns)", suffix, ", ", row, ".id",
                      suffix);
}

std::string imported_after_statement(bool untuned) {
  std::string related = absl::StrCat("SELECT id FROM measurements r WHERE ", kMeasuredHereBefore, " AND ",
                                     of_schedule_sql("r", "?"));
  if (untuned)
    absl::StrAppend(&related, " UNION ALL SELECT id FROM measurements WHERE ", kMeasuredHereBefore,
                    " AND untuned = 1");
  return absl::StrCat("SELECT coalesce(max(id), 0) FROM (", related, ")");
}

bool is_answer(const Measurement& measurement) {
  return measurement.outcome == Outcome::kOk && measurement.median_ns().value_or(0) > 0;
}

bool takes_its_place(const Measurement& later, const Measurement& earlier) {
  if (is_answer(later)) return true;
  if (!is_failure(later.outcome)) return !is_answer(earlier) && !is_failure(earlier.outcome);
  const std::string& machine = later.device.fingerprint;
  return !is_answer(earlier) || machine.empty() || machine == earlier.device.fingerprint;
}

std::string of_schedule_sql(const std::string& row, const std::string& digest) {
  const std::string column = row + ".schedule_digest";
  return absl::StrCat("substr(", column, ", 1, 8) = substr(", digest, ", 1, 8) AND ", column, " = ", digest);
}

std::string same_program_sql(const std::string& one, const std::string& other) {
  std::string sql = of_schedule_sql(one, other + ".schedule_digest");
  for (const char* column : {".problem_id", ".device_class", ".semantics_version"})
    absl::StrAppend(&sql, " AND ", one, column, " = ", other, column);
  return sql;
}

std::string counting_answer_sql(const std::string& row, bool of_untuned) {
  // Each plus keeps it to the index of programs.
  const auto answer =
      absl::StrCat("SELECT a.id FROM measurements a WHERE ", same_program_sql("a", row),
                   " AND +a.outcome = 1 AND +a.median_ns > 0", of_untuned ? " AND +a.untuned = 1" : "",
                   " ORDER BY ", counting_order_sql("a", " DESC"), " LIMIT 1");
  const auto failure = absl::StrCat("SELECT 1 FROM measurements n WHERE ", same_program_sql("n", "c"),
                                    " AND (", counting_order_sql("n"), ") > (", counting_order_sql("c"),
                                    ") AND n.outcome > 2 AND n.fingerprint IN ('', c.fingerprint)",
                                    of_untuned ? " AND +n.untuned = 1" : "");
  return absl::StrCat("(SELECT c.id FROM measurements c WHERE c.id = (", answer, ") AND NOT EXISTS (",
                      failure, "))");
}

std::vector<const Measurement*> which_count(std::vector<const Measurement*> measurements) {
  std::ranges::stable_sort(measurements, is_before);
  std::map<Program, const Measurement*> counting;
  for (const Measurement* each : measurements) {
    const auto [known, is_new] = counting.try_emplace(program_of(*each), each);
    if (!is_new && takes_its_place(*each, *known->second)) known->second = each;
  }
  std::vector<const Measurement*> in_order;
  for (const auto& [program, measurement] : counting) in_order.push_back(measurement);
  std::ranges::stable_sort(in_order, is_before);
  return in_order;
}

std::vector<const Measurement*> which_count(std::span<const Measurement> measurements) {
  std::vector<const Measurement*> pointers;
  for (const Measurement& each : measurements) pointers.push_back(&each);
  return which_count(std::move(pointers));
}

}  // namespace tf::database
