#pragma once
// Owns: the tasks on which strategies and cost models are compared, with the groups that are held out
// together. Does not know: how they are measured.

#include <span>
#include <string>
#include <vector>

#include "compiler/target/target.h"
#include "tuner/session/task.h"

namespace tf::replay {

struct BenchTask {
  session::Task task;   // its label is the pool's name
  std::string family;   // of operators
  std::string network;  // that it is from; empty: none
  double flops = 0;  // as people count them: a multiply-add is 2, bias and activation nothing; 0: not counted
};

// Layouts are those that the graph would choose on that target.
std::vector<BenchTask> bench_tasks(const target::Target& target);

}  // namespace tf::replay
