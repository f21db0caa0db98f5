#pragma once
// Owns: what a tuning session works on: one kernel of a network, its problem and its weight.

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/tensor/workload.h"
#include "database/record.h"

namespace tf::session {

struct Task {
  std::string label;          // "conv2d+bias+relu 64x56x56", for people
  tensor::Workload workload;  // unbound: its canonical text is the key
  tensor::Binding binding;
  std::vector<tensor::Layout> in_layouts;   // one per input that is not constant; empty: row-major
  std::vector<tensor::Layout> out_layouts;  // one per output; empty: row-major
  double weight = 1;  // occurrences in the network; 0: it runs only between layouts that were nearly chosen
  // What the network reads and writes between two runs of the kernel (graph::Task); 0: it is tuned alone.
  uint64_t reuse_distance_bytes = 0;
};

// Layout texts as records and build requests want them: one per input that is not constant (the schedule
// decides the constants'), and one per output.
std::vector<std::string> input_layout_texts(const Task& task);
std::vector<std::string> output_layout_texts(const Task& task);

// The task's name in the database.
database::Problem problem_of(const Task& task, const std::string& target, int threads);

}  // namespace tf::session
