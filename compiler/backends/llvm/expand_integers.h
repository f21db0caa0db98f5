#pragma once
// Owns: integer arithmetic that a CPU has no instructions for, done by those that it has. Left to LLVM it
// would be calls into a runtime library, which kernels do without. Internal to this folder: includes LLVM.
// Does not know: loop IR.

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace tf::backends {

// What the CPU does itself.
struct IntegerUnit {
  bool wide = true;         // divides 64-bit integers, and converts them from and to floats
  bool divides = true;      // divides narrower integers
  bool rounds_once = true;  // vectors of 64-bit integers on their way to f32
};

IntegerUnit integer_unit(const llvm::TargetMachine& machine);

// Takes out of scalar and of vector code, for a CPU that is not wide,
//   sitofp, uitofp i64  → the sum of both halves as f64; for f32 rounded once all the same
//   fptosi.sat.i64 …    → two halves by fptoui, saturated; so is fptoui.sat.i64
//   sdiv, srem … i64    → a call of tf.udiv64 with magnitudes, a function that the module is given
// and for one that does not divide
//   sdiv, srem … i32    → the quotient of floats, cut off: exact, as these hold more digits than it has
// and for one that would round twice, by way of f64,
//   sitofp, uitofp i64 to f32 → the same of an f64 that is exact; scalars too, which LLVM may make vectors of
// where nothing is constant: LLVM multiplies instead of dividing by constants. Results are LLVM's, and the
// quotient that LLVM leaves undefined, of the lowest number by -1, wraps in every width; its remainder is 0.
void expand_integers(llvm::Module& module, const IntegerUnit& unit);

}  // namespace tf::backends
