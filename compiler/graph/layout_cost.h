#pragma once
// Owns: what the choice of layouts asks: how long a kernel takes between given layouts. Does not know: where
// the answer comes from.

#include "compiler/graph/task.h"

namespace tf::graph {

class LayoutCost {
 public:
  virtual ~LayoutCost() = default;
  // Nanoseconds of one run. Copies between layouts are asked for like any other kernel. Only ratios count. So
  // far the one implementation is the estimate below: tasks are tuned between the layouts that it chooses, so
  // there are no records of others to choose by.
  virtual double nanoseconds(const Task& task) const = 0;
};

// An estimate that knows no device: arithmetic and memory at fixed rates, and what a layout that is not
// vectors of channels costs convolutions, and mixed layouts cost everything.
class StaticLayoutCost final : public LayoutCost {
 public:
  double nanoseconds(const Task& task) const override;
};

}  // namespace tf::graph
