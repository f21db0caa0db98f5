#pragma once
// Owns: products of vectors and matrices, which operators of domain com.microsoft share. Does not know: their operands.

#include "compiler/frontends/onnx/formula.h"

namespace tf::onnx {

// With vectors as rows and columns, as numpy.matmul takes them.
Term product_of(Term a, Term b, graph::MatMul op);

}  // namespace tf::onnx
