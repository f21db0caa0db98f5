#pragma once
// Owns: Point, what is small of a measurement, for those who look at very many at once. Does not know: how
// points are kept.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "compiler/tensor/kernel_key.h"
#include "database/record.h"

namespace tf::database {

// What many measurements have in common beside their problem.
struct PointSetting {
  std::string device_class, fingerprint;
  std::string numerics;  // names joined by ','
  uint32_t semantics_version = 0;
  auto operator<=>(const PointSetting&) const = default;
};

// A measurement without its texts and samples. Equal problems, and equal settings, have the same address until
// the question is answered.
struct Point {
  int64_t row = 0;
  const tensor::KernelKey* problem = nullptr;
  const PointSetting* setting = nullptr;
  uint64_t schedule = 0;  // the first bytes of its text's SHA-256
  Outcome outcome = Outcome::kOk;
  double ns = 0;          // of one run; 0: it has no time
  double sampled_ns = 0;  // of all samples together
  bool untuned = false;
  bool interleaved = false;  // of a final re-measurement
  int64_t job_id = 0;
  int64_t finished_unix_ns = 0;
  std::optional<int64_t> imported_after;
};

// Called once a point; a failed status ends the scan and becomes its result.
using PointVisitor = std::function<absl::Status(const Point&)>;

}  // namespace tf::database
