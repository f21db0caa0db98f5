#pragma once
// Owns: going through the numbers of a program for all sizes. Does not know: what they are for.

#include <functional>

#include "compiler/graph/program/program.h"

namespace tf::graph {

// Whether the expression reads the dimension.
bool uses(const tensor::Expr& number, const tensor::Var& dim);

// Calls `visit` for every expression over the dimensions in the program, its bodies and variants.
void for_each_number(const Program& program, const std::function<void(const tensor::Expr&)>& visit);

}  // namespace tf::graph
