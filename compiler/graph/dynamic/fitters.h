#pragma once
// Owns: finding the numbers of a network and of its kernels, which count dimensions in different ways. Does not know:
// programs.

#include "compiler/graph/dynamic/fit.h"
#include "compiler/graph/dynamic/numbers.h"

namespace tf::graph {

class Fitters {
 public:
  explicit Fitters(const Samples& samples);

  const Samples& samples() const { return given_.samples(); }

  // As Fitter::fit, for a number of the network. A dimension may be limited to multiples; a number that is not a polynomial of
  // such a dimension may be one of the count floor(dimension / multiple).
  // Of scattered samples, those nearby help: Numbers::find.
  std::optional<tensor::Expr> fit(const std::vector<int64_t>& values, std::span<const tensor::Expr> nearby);
  // Of scattered samples; else null.
  Numbers* numbers() { return samples().is_scattered ? &numbers_ : nullptr; }
  // For kernels: in_multiples, so that a kernel's extents have the factors of the multiples.
  Fitter& of_kernels() { return counts_.empty() || samples().is_scattered ? given_ : counted_; }
  // What a number of `of_kernels` is in terms of the network's dimensions.
  tensor::Expr in_network(const tensor::Expr& number) const { return tensor::substitute(number, counts_); }

  // Fitter::questions of both.
  std::set<std::vector<int64_t>> questions() const;

 private:
  Fitter given_, counted_;
  Numbers numbers_;
  tensor::Substitution counts_;  // of the dimensions that are counted
};

}  // namespace tf::graph
