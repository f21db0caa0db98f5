#pragma once
// Owns: which of a program's measurements counts, the same for all that read records: the stores' answers,
// what a session recalls and what it learns from. sqlite_rows_read says it once more, in SQL. Does not know:
// where records are kept.

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "database/record.h"

namespace tf::database {

// What was measured: a schedule of a problem, on a class of devices, alone or inside its network.
// Measurements of one program take each other's place.
struct Program {
  WorkloadKey workload;
  std::string binding, in_layouts, out_layouts, target;
  uint32_t threads = 1;
  uint64_t reuse_distance_bytes = 0;
  std::string schedule, device_class;
  uint32_t semantics_version = 0;
  bool in_network = false;
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

// Of each program the one that counts, in order of time: by when they finished, not by when this database got
// them, because an import brings old ones; of one moment, by their ids. The pointers are those given.
std::vector<const Measurement*> which_count(std::vector<const Measurement*> measurements);
std::vector<const Measurement*> which_count(std::span<const Measurement> measurements);

}  // namespace tf::database
