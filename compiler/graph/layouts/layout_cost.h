#pragma once
// Owns: what the choice of layouts asks: how long a kernel takes between given layouts. Does not know: where
// the answer comes from.

#include <utility>

#include "compiler/graph/kernels/task.h"

namespace tf::graph {

class LayoutCost {
 public:
  virtual ~LayoutCost() = default;
  // Told once before the first question: all kernels between the layouts of both uniform choices, nothing
  // blocked and all that can be.
  virtual void expect(const std::vector<Task>&) {}
  // Nanoseconds of one run. Copies between layouts are asked for like any other kernel. Only ratios count.
  virtual double nanoseconds(const Task& task) = 0;
};

// An estimate that knows no device: arithmetic and memory at fixed rates, and what a layout that is not
// vectors of channels costs convolutions, and mixed layouts cost everything.
class StaticLayoutCost final : public LayoutCost {
 public:
  double nanoseconds(const Task& task) override { return std::as_const(*this).nanoseconds(task); }
  double nanoseconds(const Task& task) const;
};

}  // namespace tf::graph
