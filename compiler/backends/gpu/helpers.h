#pragma once
// Owns: the helper functions that generated kernels call. Each is written once and emitted for the types that
// a kernel needs. Does not know: kernels.

#include <map>
#include <set>
#include <string>
#include <utility>

#include "compiler/backends/gpu/dialect.h"
#include "compiler/tensor/swizzle.h"

namespace tf::backends {

enum class Helper : uint8_t {
  kMin,  // NaN if an operand is
  kMax,
  kFloorDiv,  // of data, as compiler/tensor/expr.h defines it
  kFloorMod,
  kPower,  // of integers
  kSigmoid,
  kFromFloat,  // to an integer: truncates and saturates; NaN gives 0
  kFromDouble,
  kOrZero,    // the value if the condition holds, else 0; the value is always evaluated
  kLoad,      // f16 and bf16: converts the bits in memory to float
  kStore,     // f16 and bf16: converts to the bits of the nearest value
  kRound,     // f16 and bf16: rounds a float to the nearest value of the type
  kOddFloat,  // converts a double to a float that rounds to a narrower type like the double (round to odd)
};

class Helpers {
 public:
  explicit Helpers(const GpuDialect& dialect) : dialect_(dialect) {}
  // The function's name. text() contains the function from then on.
  std::string name(Helper helper, tensor::Element element);
  // All named functions and those that they call, in an order in which they compile.
  std::string text() const;
  // doubles(): whether a function uses 64-bit floats, or use_doubles() was called.
  void use_doubles() { doubles_ = true; }
  bool doubles() const { return doubles_; }
  void use_async_copies() { async_copies_ = true; }
  void use_bulk_copies() { bulk_copies_ = true; }
  // The name of a function that applies the swizzle to an offset; text() contains it.
  std::string swizzle(const tensor::Swizzle& swizzle);

 private:
  const GpuDialect& dialect_;
  std::set<std::pair<Helper, tensor::Element>> used_;
  bool doubles_ = false, async_copies_ = false, bulk_copies_ = false;
  std::map<std::string, std::string> swizzles_;  // by name: the text
};

}  // namespace tf::backends
