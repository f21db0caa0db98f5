#pragma once
// Owns: the interface of learned cost models. Does not know: search strategies, measuring.

#include <span>
#include <vector>

#include "absl/status/status.h"
#include "tuner/model/learned/features.h"

namespace tf::model {

// One measured candidate.
struct Example {
  Features features;
  // The best known time of its task divided by the candidate's, in (0, 1]; 0 if it failed or was wrong.
  double speed = 0;
  int task = 0;              // only candidates of one task are compared
  bool upper_bound = false;  // it was stopped early: no faster than that
  // Tasks that are alike: a model that is asked of others is put to the test by holding out whole groups.
  int group = 0;
};

// Ranks candidates of one task by predicted speed. Not thread-safe: one owner trains and scores.
class CostModel {
 public:
  virtual ~CostModel() = default;

  // Learns from all examples given (not incrementally). May be slow; never called while scoring.
  virtual absl::Status train(std::span<const Example> examples) = 0;

  // Whether score has anything to say yet; until then callers rank by the roofline model.
  virtual bool is_trained() const = 0;

  // A number a row, higher is faster; only differences between candidates of one task mean anything.
  virtual std::vector<float> score(std::span<const Features> rows) const = 0;

  // How unsure each score is: the standard deviation of what the members of an ensemble say, in the unit of
  // scores; zeros from a model that does not know.
  virtual std::vector<float> spread(std::span<const Features> rows) const {
    return std::vector<float>(rows.size(), 0.0f);
  }
};

}  // namespace tf::model
