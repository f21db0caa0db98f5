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
inline constexpr const char* kBf16 = "bf16";
inline constexpr const char* kFp16 = "fp16";
inline constexpr const char* kTf32 = "tf32";  // products of GPUs' matrix instructions
using Numerics = std::vector<std::string>;

inline constexpr const char* kAllowHelp = "winograd, bf16, fp16, tf32, with commas between them";

// "winograd,bf16": the names that --allow knows, sorted, each once. INVALID_ARGUMENT lists them, and says of
// int8 what to do instead.
absl::StatusOr<Numerics> parse_numerics(const std::string& list);
absl::Status check_numerics(const std::string& name);

// All of them.
Numerics all_numerics();

bool allows(const Numerics& allowed, const char* name);

// What the schedule uses, sorted, each once.
Numerics numerics_of(const Schedule& schedule);

// How many times the tolerance of the definition's sums the schedule's answers may be off. Largest errors of
// Winograd in f32 against float64, 16 to 512 input channels, uniform inputs in [-1, 1], in units of u *
// Σ|a||b| (u = 2^-24; the definition's tolerance is 64 to 288 of them there):
//   F(2,3): 3.1    F(4,3): 20    F(6,3): 75    F(2,5): 11    F(4,5): 17
// (tests/unit/compiler/driver/winograd_error_test.cpp measures and bounds them).
double tolerance_factor(const Schedule& schedule);

// What is added to that tolerance where factors of products are stored narrower: with unit roundoff v (bf16:
// 2^-8, f16: 2^-11) each factor is off by at most v of itself, so a product of two by 2v + v² of |a||b|,
// whatever the number of terms. Stored f16 also loses what is below 2^-25, and overflows beyond 65504.
// Largest errors in f32 sums against float64, uniform inputs in [-1, 1], in units of v * Σ|a||b|:
//   bf16, both factors: 16 terms 0.42, 130: 0.24, 1024: 0.1     f16, weights alone: 0.31, 0.14, 0.06
// (tests/unit/compiler/driver/narrow_error_test.cpp measures and bounds them).
// So it is where a matrix instruction takes the upper 19 bits of f32 factors (tf32): v is 2^-10, of both.
double storage_error(const Schedule& schedule);

}  // namespace tf::schedule
