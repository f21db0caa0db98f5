#pragma once
// Owns: discrete Fourier transforms of rows as matrix products. Does not know: ONNX's operators.

#include <optional>

#include "compiler/frontends/onnx/formula.h"

namespace tf::onnx {

struct Complex {
  Term real;
  std::optional<Term> imaginary;  // nothing: zero
};

// Of rows [rows, n]: Σ x[j] * exp(-2 pi i j k / n), or, inverse, with the other sign and divided by n. A long n is split
// into two factors a and b (J. Cooley and J. Tukey, "An algorithm for the machine calculation of complex Fourier
// series", 1965), each transformed by itself; a prime takes one product with a matrix of 2n by 2n.
Complex fourier(const Complex& x, int64_t n, bool inverse);

}  // namespace tf::onnx
