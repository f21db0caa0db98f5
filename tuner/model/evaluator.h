#pragma once
// Owns: judging a candidate without building it: whether it is legal, its features, and the draft model's
// estimate.

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "compiler/target/target.h"
#include "tuner/model/features.h"
#include "tuner/space/sketch.h"

namespace tf::model {

struct Judgement {
  Features features;
  double draft_seconds = 0;  // analytic estimate, good for ranking only
};

// Judges candidates of one design space. Thread-safe: const after construction.
class Evaluator {
 public:
  // `space` must outlive the evaluator.
  Evaluator(const space::DesignSpace& space, const target::Target& target, int threads);

  // Nothing if the candidate is not legal.
  std::optional<Judgement> judge(const space::Candidate& candidate) const;

 private:
  const space::DesignSpace& space_;
  target::Target target_;
  int threads_;
  // The state after each sketch's leading steps that have no open size: shared by all of the sketch's
  // candidates.
  struct Prefix;
  std::vector<std::shared_ptr<const Prefix>> prefixes_;
};

}  // namespace tf::model
