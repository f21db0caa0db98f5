#pragma once
// Owns: the rule that says which of a program's measurements counts. Stores, sessions and cost models all use
// it. The rule stands here twice, as functions of values and as SQL over the table `measurements`; a test
// compares the two. Does not know: where records are kept.

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "database/record.h"

namespace tf::database {

// What was measured: a schedule of a problem, on a class of devices.
// Measurements of one program take each other's place.
struct Program {
  std::string problem;  // tensor::to_string
  std::string schedule, device_class;
  uint32_t semantics_version = 0;
  auto operator<=>(const Program&) const = default;
};
Program program_of(const Measurement& measurement);

// It has a time that answers queries.
bool is_answer(const Measurement& measurement);

// Whether of one program's measurements the later one counts instead of the one that counted before. A time
// always does. A failure does unless it is of another machine than a time: what a schedule does here is not
// known elsewhere; one that names no machine, as of the compiler, is of all. A bound counts while there is
// neither.
bool takes_its_place(const Measurement& later, const Measurement& earlier);

// The order in which measurements count, which no clock can disturb. What this database measured itself is
// ordered by insertion. An imported record stands where its date puts it among the rows of its program that
// were there when it came: after the last one measured here that is not dated later. It is older than every
// row measured here afterwards. Imported records at the same place are ordered by their dates.
struct CountingOrder {
  int64_t row = 0;           // the record's own id, or that of the row after which it was imported
  int64_t imported_ns = -1;  // the date of an imported record; -1: measured here
  int64_t id = 0;
  auto operator<=>(const CountingOrder&) const = default;
};
CountingOrder counting_order(const Measurement& measurement);

// For each program the measurement that counts, in counting order. The pointers are those given.
std::vector<const Measurement*> which_count(std::vector<const Measurement*> measurements);
std::vector<const Measurement*> which_count(std::span<const Measurement> measurements);

// The same rule in SQL. `row` and the like are names of the table `measurements` in a statement.

// The terms of counting_order, each followed by `suffix`, as in " DESC".
std::string counting_order_sql(const std::string& row, const std::string& suffix = "");
// Finds Measurement::imported_after of a record that is to be imported: by the rows of its schedule, and if it
// is `untuned`, by the other untuned ones of its problem, since the one that was last called so counts.
// Parameters: problem id, date, digest of the schedule twice, and if it is untuned, the problem id and the
// date again.
std::string imported_after_statement(bool untuned);
// Whether a row is of the schedule with that digest; finds rows by the index measurements_program, which
// holds the beginnings of digests.
std::string of_schedule_sql(const std::string& row, const std::string& digest);
// Whether two rows are of one program.
std::string same_program_sql(const std::string& one, const std::string& other);
// The id of the row that counts of the program of `row`, if it is_answer(); NULL if it is not. Of untuned rows only, if asked.
std::string counting_answer_sql(const std::string& row, bool of_untuned = false);

}  // namespace tf::database
