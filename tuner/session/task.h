#pragma once
// Owns: what a tuning session works on: one kernel of a network, its problem and its weight, and how
// often that would run it in other layouts.

#include <cstdint>
#include <map>
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
  double weight = 1;                        // occurrences in the network; 0: it would run in other layouts
  // What the network reads and writes between two runs of the kernel (graph::Task); 0: it is tuned alone.
  uint64_t reuse_distance_bytes = 0;
};

// A value of the network that could be stored in another layout: how many times more the network would then
// run each task, by index; below 0: less, at most by the task's weight.
using LayoutFlip = std::map<size_t, int64_t>;

// Layout texts as records and build requests want them: one per input that is not constant (the schedule
// decides the constants'), and one per output.
std::vector<std::string> input_layout_texts(const Task& task);
std::vector<std::string> output_layout_texts(const Task& task);

// The task's name in the database.
database::Problem problem_of(const Task& task, const std::string& target, int threads);

}  // namespace tf::session
