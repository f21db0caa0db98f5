#pragma once
// Owns: the arguments at which functions are tried. Does not know: any function.

#include <cstdint>
#include <vector>

#include "compiler/tensor/type.h"

namespace tf::test {

struct Arguments {
  std::vector<double> x, y;  // representable in the element; y is as long as x, of unary functions ignored
};

// Every exponent with both signs, `mantissas` significands of each, zeros, denormals, infinities and NaN; the
// neighbours of multiples of pi/2 and of the places where formulas change. Of f16 and bf16 every value.
Arguments unary_arguments(tensor::Element element, int mantissas);

// Every pair of special values; pairs of every exponent whose power, product or quotient is in range, and of
// whole and half numbers; about 40 * `mantissas` an exponent.
Arguments binary_arguments(tensor::Element element, int mantissas);

}  // namespace tf::test
