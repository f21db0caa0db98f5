#pragma once
// Owns: fitting the roofline model's constants to what was measured, also without the families that they are
// judged on. Does not know: where the constants are kept.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/target/target.h"
#include "tests/bench/search/replay/model_quality.h"
#include "tuner/model/roofline/roofline.h"

namespace tf::replay {

// A measured candidate as the roofline model sees it.
struct Measured {
  std::vector<model::Nest> nests;  // of constants
  double seconds = 0;              // more than 0
};
struct MeasuredTask {
  target::Target target;
  // Its constants are not looked at; what is fitted holds on this machine, whatever others are of.
  model::RooflineOptions options;
  std::vector<Measured> candidates;
};

// What the constants are expected to be before anything is fitted: from the maker's manuals (AMD, "Software
// Optimization Guide for the Zen4 Microarchitecture"), from how such things are built, and from a look at
// where the roofline model went wrong.
model::RooflineConstants expected_constants();

// How well these constants do: the mean over tasks of the share of pairs that they order right, less a
// quarter of the mean distance of the logarithm of measured over estimated time from its mean; and less what
// they are away from the expected ones, so that what no task depends on stays as it is expected.
double fitness(std::span<const MeasuredTask* const> tasks, const model::RooflineConstants& constants,
               const model::RooflineConstants& expected);

// Coordinate descent over the logarithms of all constants from the expected ones, so many times at most; ends
// when a round gains nothing. Deterministic.
model::RooflineConstants fit(std::span<const MeasuredTask* const> tasks,
                             const model::RooflineConstants& expected, int rounds);

struct Refit {
  std::string without;  // a family; empty: fitted to all
  model::RooflineConstants constants;
};
struct Refits {
  std::vector<Refit> fits;
  // Of each task, "roofline" with the constants as they are, "roofline, expected" with those expected,
  // "roofline, refitted" with those fitted to all, and "roofline, held out" with those fitted without its
  // family.
  std::vector<ModelQuality> qualities;
};
// Fits as above, from the expected constants, on at most `most` examples of each task within three times its
// best. `measured` is of the machine that ran them, which the constants then are fitted on. Errors: the
// bindings'.
absl::StatusOr<Refits> refit(std::span<const TaskExamples> tasks, const target::Target& target, int threads,
                             const model::MeasuredRates& measured, int64_t most, int rounds);

}  // namespace tf::replay
