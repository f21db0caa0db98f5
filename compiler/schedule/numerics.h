#pragma once
// Owns: methods that reduce a schedule's accuracy beyond the order of sums: their names for --allow, and how
// much they increase the tolerance of the answer check. Does not know: devices, records.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/schedule/schedule.h"

namespace tf::schedule {

// The methods that the user may allow. Reassociation is always allowed.
inline constexpr const char* kWinograd = "winograd";
inline constexpr const char* kBf16 = "bf16";
inline constexpr const char* kFp16 = "fp16";
inline constexpr const char* kTf32 = "tf32";  // products of GPUs' matrix instructions
using Numerics = std::vector<std::string>;

inline constexpr const char* kAllowHelp = "winograd, bf16, fp16, tf32, with commas between them";

// Parses a list such as "winograd,bf16"; returns the names sorted, without duplicates. INVALID_ARGUMENT lists
// the valid names, and for int8 says what to do instead.
absl::StatusOr<Numerics> parse_numerics(const std::string& list);
absl::Status check_numerics(const std::string& name);

// All of them.
Numerics all_numerics();

bool allows(const Numerics& allowed, const char* name);

// The methods that the schedule uses, sorted, without duplicates.
Numerics numerics_of(const Schedule& schedule);

// The factor by which the schedule multiplies the tolerance of the definition's sums. Largest errors of
// Winograd in f32 against float64, with 16 to 512 input channels and uniform inputs in [-1, 1], in units of u
// * Σ|a||b| (u = 2^-24; the definition's tolerance is 64 to 288 of these units there):
//   F(2,3): 3.1    F(4,3): 20    F(6,3): 75    F(2,5): 11    F(4,5): 17
// (tests/unit/compiler/driver/winograd_error_test.cpp measures and bounds them).
double tolerance_factor(const Schedule& schedule);

// The amount that is added to that tolerance if operands of products are stored in a narrower type. With unit
// roundoff v (bf16: 2^-8, f16: 2^-11), each operand has a relative error of at most v. A product therefore
// has an error of at most 2v + v² of |a||b|, for any number of terms. f16 also loses values below 2^-25, and
// overflows above 65504. Largest errors in f32 sums against float64, uniform inputs in [-1, 1], in units of v
// * Σ|a||b|:
//   bf16, both factors: 16 terms 0.42, 130: 0.24, 1024: 0.1     f16, weights alone: 0.31, 0.14, 0.06
// (tests/unit/compiler/driver/narrow_error_test.cpp measures and bounds them). The same applies if a matrix
// instruction uses the upper 19 bits of f32 operands (tf32): v is 2^-10 for both.
double storage_error(const Schedule& schedule);

}  // namespace tf::schedule
