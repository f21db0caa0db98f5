#pragma once
// Owns: what a report says of single kernels: what they compute, and which measurement is the best one, as
// `tuner best` would say. Does not know: messages, curves.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/tensor/workload.h"
#include "database/store.h"
#include "tuner/report/columns.h"

namespace tf::report {

struct KernelFacts {
  std::string label;            // without its shape: "conv2d+bias+relu"
  std::string shape;            // of the outputs, and what tells it apart: "1x64x55x55 by 64x16x3x3"
  std::string workload;         // canonical text
  double flops = 0, bytes = 0;  // of one run; bytes: every input and output once
  std::optional<tensor::Workload> bound;  // nothing: the text cannot be read
};

// Whose records count.
struct Asked {
  std::optional<std::string> device_class;  // nothing: any
  std::vector<std::string> allowed;         // numerics
};

struct Standing {
  std::optional<database::Measurement> best;     // that a build takes
  std::string_view why;                          // why_name(); empty: there is none
  std::optional<database::Measurement> untuned;  // of the schedule of a build without tuning
  double best_ns() const { return best ? best->median_ns().value_or(0) : 0; }  // 0: there is none
  double untuned_ns() const { return untuned ? untuned->median_ns().value_or(0) : 0; }
};

// Keeps its answers, as long as they are right. Not thread-safe. Errors: the records'.
class Kernels {
 public:
  Kernels(database::Records& records, const Columns& columns) : records_(records), columns_(columns) {}

  // Before the questions of a request: reads the verdicts on networks.
  absl::Status refresh();
  // Of a text that cannot be read, as another program's may be, only what the database says of it.
  absl::StatusOr<std::shared_ptr<const KernelFacts>> facts(const tensor::KernelKey& key);
  // The label as the database has it: with the shape, and what tells it from namesakes.
  absl::StatusOr<std::string> op(const tensor::KernelKey& key);
  absl::StatusOr<std::shared_ptr<const Standing>> standing(const tensor::KernelKey& key, const Asked& asked);

 private:
  struct Kept {
    size_t entries = 0;  // of the kernel, and the verdicts, when it was found out
    size_t verdicts = 0;
    int64_t decided_unix_ns = 0;
    std::shared_ptr<const Standing> standing;
  };
  absl::StatusOr<const database::Workload*> workload(const Digest& key);
  absl::StatusOr<Standing> ask(const tensor::KernelKey& key, const Asked& asked);

  database::Records& records_;
  const Columns& columns_;
  std::vector<database::NetworkVerdict> verdicts_;
  std::map<Digest, database::Workload> workloads_;
  std::map<std::string, std::shared_ptr<const KernelFacts>> facts_;  // by kernel_id
  std::map<std::string, Kept> standings_;                            // by kernel_id and what is asked
};

}  // namespace tf::report
