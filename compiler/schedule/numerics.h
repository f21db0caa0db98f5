#pragma once
// Owns: what a schedule costs in accuracy beyond the order of sums: the names that --allow knows it by, and
// how much wider the answer check's tolerance becomes. Does not know: devices, records.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/schedule/schedule.h"

namespace tf::schedule {

// What the user may allow; reassociation always is.
inline constexpr const char* kWinograd = "winograd";
using Numerics = std::vector<std::string>;

// "winograd,bf16": the names that --allow knows, sorted, each once. INVALID_ARGUMENT lists them.
absl::StatusOr<Numerics> parse_numerics(const std::string& list);
absl::Status check_numerics(const std::string& name);

bool allows(const Numerics& allowed, const char* name);

// What the schedule uses, sorted, each once.
Numerics numerics_of(const Schedule& schedule);

// How many times the tolerance of the definition's sums the schedule's answers may be off. Largest errors of
// Winograd in f32 against float64, 16 to 512 input channels, uniform inputs in [-1, 1], in units of u *
// Σ|a||b| (u = 2^-24; the definition's tolerance is 64 to 288 of them there):
//   F(2,3): 3.1    F(4,3): 20    F(6,3): 75    F(2,5): 11    F(4,5): 17
// (tests/unit/compiler/driver/winograd_error_test.cpp measures and bounds them).
double tolerance_factor(const Schedule& schedule);

}  // namespace tf::schedule
