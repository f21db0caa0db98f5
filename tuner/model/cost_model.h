#pragma once
// Owns: the interface of learned cost models. Does not know: search strategies, measuring.

#include <span>
#include <vector>

#include "absl/status/status.h"
#include "tuner/model/features.h"

namespace tf::model {

// One measured candidate. `speed` is the best known time of its task divided by the candidate's time, in (0,
// 1]; a candidate that failed or was wrong has speed 0.
struct Example {
  Features features;
  double speed = 0;
};

// Ranks candidates of one task by predicted speed. Not thread-safe: one owner trains and scores.
class CostModel {
 public:
  virtual ~CostModel() = default;

  // Learns from all examples given (not incrementally). May be slow; never called while scoring.
  virtual absl::Status train(std::span<const Example> examples) = 0;

  // Whether score has anything to say yet; until then callers rank by the draft model.
  virtual bool is_trained() const = 0;

  // One predicted speed a row, higher is better.
  virtual std::vector<float> score(std::span<const Features> rows) const = 0;
};

}  // namespace tf::model
