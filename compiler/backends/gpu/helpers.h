#pragma once
// Owns: the functions that generated kernels call, each written once and printed for the types that a kernel
// needs. Does not know: kernels.

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
  kFloorDiv,  // as compiler/tensor/expr.h says it of data
  kFloorMod,
  kPower,  // of whole numbers
  kSigmoid,
  kFromFloat,  // to an integer: truncates; what is out of range gives the nearest end, NaN 0
  kFromDouble,
  kOrZero,    // of a condition and a value, which is known in any case
  kLoad,      // f16 and bf16: the float of the bits in memory
  kStore,     // f16 and bf16: the bits of the nearest value
  kRound,     // f16 and bf16: a float to the nearest value of the type
  kOddFloat,  // of a double the float that a further rounding to a narrower type rounds as the double
};

class Helpers {
 public:
  explicit Helpers(const GpuDialect& dialect) : dialect_(dialect) {}
  // The function's name; its text is printed from then on.
  std::string name(Helper helper, tensor::Element element);
  // All that were named and what they call, in an order in which they can be compiled.
  std::string text() const;
  // Whether a type of 64-bit floats is among them, or was told.
  void use_doubles() { doubles_ = true; }
  bool doubles() const { return doubles_; }
  void use_async_copies() { async_copies_ = true; }
  void use_bulk_copies() { bulk_copies_ = true; }
  // Of an offset; named as above.
  std::string swizzle(const tensor::Swizzle& swizzle);

 private:
  const GpuDialect& dialect_;
  std::set<std::pair<Helper, tensor::Element>> used_;
  bool doubles_ = false, async_copies_ = false, bulk_copies_ = false;
  std::map<std::string, std::string> swizzles_;  // by name: the text
};

}  // namespace tf::backends
