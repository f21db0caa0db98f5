#pragma once
// Owns: what a tuning session works on: one kernel of a network, its problem and its weight.

#include <string>

#include "compiler/tensor/kernel_spec.h"

namespace tf::session {

struct Task {
  std::string label;  // "conv2d+bias+relu 64x56x56", for people
  tensor::KernelSpec kernel;
  double weight = 1;  // occurrences in the network; 0: it runs only between layouts that were nearly chosen
  // What a second of its time counts beside one of others, where the budget is shared out: of a network at several sizes, more
  // at a small size.
  double importance = 1;
};

}  // namespace tf::session
