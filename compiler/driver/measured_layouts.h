#pragma once
// Owns: what kernels cost between layouts, by records: the time of the best one where there is one, else an
// estimate scaled to what was measured. Does not know: where records come from (ScheduleSource).

#include <map>
#include <string>
#include <vector>

#include "compiler/driver/build_model.h"
#include "compiler/graph/layouts/layout_cost.h"

namespace tf::driver {

// A record that was looked at.
struct ConsultedRecord {
  tensor::KernelKey query;
  std::string label;  // of the task
  ScheduleChoice choice;
};

// For one plan_program. Estimates are StaticLayoutCost's times a ratio of measured to estimated time, the
// median of what is nearest: the same computation between other layouts, else the same operator, else
// everything that the network has records of; and more, by as much as the ratios of all records scatter
// (their upper quartile over their median; a quarter where records are few), so that what was measured is not
// given up for what merely may be faster. Without any record only estimates are compared, as they are. Times
// of another reuse distance than the network's are none.
class MeasuredLayoutCost final : public graph::LayoutCost {
 public:
  // The source outlives this.
  MeasuredLayoutCost(ScheduleSource& source, const target::Target& target, int threads)
      : source_(source), target_(target), threads_(threads) {}

  void expect(const std::vector<graph::Task>& tasks) override;
  double nanoseconds(const graph::Task& task) override;

  // The first error of the source; costs are then estimates.
  const absl::Status& status() const { return status_; }
  const std::vector<ConsultedRecord>& consulted() const { return consulted_; }

 private:
  const ScheduleChoice* find(const graph::Task& task);

  ScheduleSource& source_;
  const target::Target target_;
  const int threads_;
  const graph::StaticLayoutCost estimate_;
  absl::Status status_;
  std::map<std::string, int> known_;  // by task_key: position in consulted_, -1 if there is no record
  std::vector<ConsultedRecord> consulted_;
  std::map<std::string, std::vector<double>> ratios_;  // measured / estimated, by computation and by operator
};

}  // namespace tf::driver
