#pragma once
// Owns: judging candidates without building them, many at a time: which are legal, their features, and the
// roofline model's estimate. Each sketch is compiled once into programs over its parameters, for all machines
// of its target.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "compiler/target/target.h"
#include "tuner/model/learned/features.h"
#include "tuner/model/roofline/measured_rates.h"
#include "tuner/space/space.h"

namespace tf::model {

struct Judgement {
  Features features;
  double roofline_seconds = 0;  // analytic estimate, good for ranking only
};

// Judges candidates of one design space. Thread-safe: const after construction.
class Evaluator {
 public:
  // `space` must outlive the evaluator. What the roofline model asks of the network and of the machine:
  // DraftOptions.
  Evaluator(const space::DesignSpace& space, const target::Target& target, int threads,
            uint64_t reuse_distance_bytes = 0, const MeasuredRates& measured = {});
  // The same for a machine of these rates; nothing is compiled again.
  Evaluator on(const MeasuredRates& measured) const;

  // Of each candidate, whether it is legal: its steps apply, and its code is of sensible size.
  std::vector<bool> legal(std::span<const space::Candidate> candidates) const;
  // Of each candidate, the roofline model's estimate; infinity if it is not legal.
  std::vector<double> roofline(std::span<const space::Candidate> candidates) const;
  // Of each candidate, which must be legal, its features.
  std::vector<Features> features(std::span<const space::Candidate> candidates) const;

  // All of it for one candidate; nothing if it is not legal.
  std::optional<Judgement> judge(const space::Candidate& candidate) const;

 private:
  struct Compiled;
  target::Target target_;
  std::shared_ptr<const Compiled> compiled_;
  std::array<double, 4> pace_;  // of the machine, as the programs' parameters
};

// What the programs compute, as values: of a sketch, formulas; of a schedule's state, constants.
struct Assessment {
  Value legal = 1;  // a condition
  Value roofline_seconds = 0;
  std::array<Value, kFeatureCount> features;
  size_t main_nest = 0;  // that the features describe
};
// Of a state without open sizes; `main_nest` is the sketch's.
Assessment assess(const schedule::State& state, const tensor::PortLayouts& ports,
                  const target::Target& target, const RooflineOptions& options, size_t main_nest);
// Of a sketch, over the choices of its parameters, and over the machine's pace, whatever the options say was
// measured: as parameters, in Pace's order. Nothing if it is legal nowhere. `formulas` must outlive it.
std::optional<Assessment> assess(const space::Sketch& sketch, const tensor::PortLayouts& ports,
                                 const target::Target& target, const RooflineOptions& options,
                                 Formulas& formulas);

}  // namespace tf::model
