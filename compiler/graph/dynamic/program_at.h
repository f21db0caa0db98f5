#pragma once
// Owns: what a program for all sizes is at one of them. Does not know: how it was found.

#include "compiler/graph/program/program.h"

namespace tf::graph {

// Values of a program's dimensions, for expressions over them.
class Sizes {
 public:
  // The binding has a value for each.
  Sizes(const std::vector<NamedDimension>& dims, const tensor::Binding& binding);

  int64_t operator()(const tensor::Expr& number) const;
  // Of the dimensions of the workload that the call runs.
  tensor::Binding of(const KernelCall& call, const tensor::Workload& workload) const;

 private:
  tensor::Substitution values_;
};

// Whether a program that was planned at these sizes is the one for all sizes. Both are whole programs.
bool is_program_at(const Program& there, const Sizes& sizes, const Program& joined);

}  // namespace tf::graph
