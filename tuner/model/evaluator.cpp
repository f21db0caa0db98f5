#include "tuner/model/evaluator.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/check.h"
#include "tuner/model/formulas/point_program.h"
#include "tuner/model/gpu/gpu_features.h"
#include "tuner/model/gpu/gpu_model.h"
#include "tuner/model/gpu/gpu_rates.h"
#include "tuner/model/roofline/roofline.h"

namespace tf::model {
namespace {

Value is_sensible(const Nest& nest, const target::Target& target) {
  // Code that unrolls into tens of thousands of instructions takes seconds to compile and is never fast.
  constexpr double kMaxUnrolledBody = 2048;
  const Value vectors = max(1, floor(nest.lanes / target.fp32_lanes()));
  const Value small = less_equal(nest.unrolled_body * vectors, kMaxUnrolledBody);
  // Accumulators beyond the register file spill in the innermost loop, and take the code generator seconds.
  const Value in_registers =
      either(less_equal(nest.reduce_extent, 1), less_equal(nest.tile_vectors, target.vector.registers));
  return both(small, in_registers);
}

// The nest, or launch, with the most arithmetic at the default point stands for it at all points.
size_t greatest(std::span<const Value> arithmetic, const space::Sketch& sketch, Formulas& formulas) {
  const PointProgram program(sketch, formulas, arithmetic);
  const space::Point point = sketch.default_point();
  const space::Point* const points[] = {&point};
  std::vector<double> results(arithmetic.size());
  program.run(points, results);
  return static_cast<size_t>(std::max_element(results.begin(), results.end()) - results.begin());
}

void assess_nests(std::span<const Nest> nests, const target::Target& target, const RooflineOptions& options,
                  const Pace& pace, Assessment& out) {
  for (const Nest& nest : nests) out.legal = both(out.legal, is_sensible(nest, target));
  const Roofline roofline = roofline_of(nests, target, options, pace);
  out.features = features_of(nests, out.main_nest, roofline, target, options);
  out.roofline_seconds = roofline.seconds;
}

bool is_gpu(const target::Target& target) {
  return target.gpu.block_threads > 0;
}

std::vector<Value> arithmetic_of_all(std::span<const Nest> nests) {
  std::vector<Value> arithmetic;
  for (const Nest& nest : nests) arithmetic.push_back(arithmetic_of(nest));
  return arithmetic;
}

std::vector<Value> arithmetic_of_all(std::span<const GpuLaunch> launches) {
  std::vector<Value> arithmetic;
  for (const GpuLaunch& launch : launches) {
    Value flops = 0;
    for (const GpuNest& nest : launch.nests)
      flops += nest.turns * std::max(0.5, nest.flops_per_turn) * launch.threads() * launch.blocks();
    arithmetic.push_back(flops);
  }
  return arithmetic;
}

void assess_launches(std::span<const GpuLaunch> launches, const target::Target& target, const GpuPace& pace,
                     Assessment& out) {
  const GpuCost cost = cost_of(launches, target, pace);
  out.legal = both(out.legal, cost.legal);
  out.features = gpu_features(launches, out.main_nest, target, pace, cost);
  out.roofline_seconds = cost.seconds;
}

Pace any_pace(Formulas& formulas) {
  return {formulas.parameter(0), formulas.parameter(1), formulas.parameter(2), formulas.parameter(3)};
}

GpuPace any_gpu_pace(Formulas& formulas) {
  return {formulas.parameter(0), formulas.parameter(1), formulas.parameter(2), formulas.parameter(3)};
}

GpuPace pace_of_gpu(const target::Target& target, const MeasuredRates& measured) {
  const GpuRates rates = gpu_rates(target, measured);
  return {rates.units, rates.flops_per_s, rates.l2_bytes_per_s, rates.memory_bytes_per_s};
}

// In the order of the programs' parameters.
std::array<double, 4> pace_numbers(const target::Target& target, const MeasuredRates& measured) {
  if (is_gpu(target)) {
    const GpuRates rates = gpu_rates(target, measured);
    return {rates.units, rates.flops_per_s, rates.l2_bytes_per_s, rates.memory_bytes_per_s};
  }
  const Pace pace = pace_of(target, {.measured = measured});
  return {pace.hertz.constant(), pace.l2_bytes.constant(), pace.l3_bytes.constant(),
          pace.memory_bytes.constant()};
}

}  // namespace

Assessment assess(const schedule::State& state, const tensor::PortLayouts& ports,
                  const target::Target& target, const RooflineOptions& options, size_t main_nest) {
  Assessment assessment;
  assessment.main_nest = main_nest;
  if (is_gpu(target)) {
    assess_launches(launches_of(state, ports), target, pace_of_gpu(target, options.measured), assessment);
    return assessment;
  }
  assess_nests(summarize(state, ports, target), target, options, pace_of(target, options), assessment);
  return assessment;
}

std::optional<Assessment> assess(const space::Sketch& sketch, const tensor::PortLayouts& ports,
                                 const target::Target& target, const RooflineOptions& options,
                                 Formulas& formulas) {
  schedule::State state(*sketch.workload, recipes::open_sizes(sketch));
  for (const schedule::Step& step : sketch.steps.steps)
    if (state.apply(step)) return std::nullopt;
  const Reading reading(sketch, state.data().open, formulas);
  Assessment assessment;
  for (const tensor::Expr& condition : state.data().conditions)
    assessment.legal = both(assessment.legal, reading(condition));
  if (is_gpu(target)) {
    const std::vector<GpuLaunch> launches = launches_of(state, ports, reading);
    if (launches.empty()) return std::nullopt;
    assessment.main_nest = greatest(arithmetic_of_all(launches), sketch, formulas);
    assess_launches(launches, target, any_gpu_pace(formulas), assessment);
    return assessment;
  }
  const std::vector<Nest> nests = summarize(state, ports, target, reading);
  assessment.main_nest = greatest(arithmetic_of_all(nests), sketch, formulas);
  assess_nests(nests, target, options, any_pace(formulas), assessment);
  return assessment;
}

// Of each sketch. Every program gives legality first, so that nobody pays for what it does not ask for.
struct Evaluator::Compiled {
  struct Programs {
    PointProgram legal, roofline, features, all;
  };
  std::vector<Programs> sketches;

  // Runs of candidates of one sketch, each by its program; f(position, results of the candidate).
  template <typename F>
  void for_each_result(PointProgram Programs::*which, std::span<const space::Candidate> candidates,
                       std::span<const double> pace, F&& f) const {
    std::vector<std::vector<size_t>> of_sketch(sketches.size());
    for (size_t i = 0; i < candidates.size(); ++i)
      of_sketch[static_cast<size_t>(candidates[i].sketch)].push_back(i);
    std::vector<const space::Point*> points;
    std::vector<double> results;
    for (size_t sketch = 0; sketch < of_sketch.size(); ++sketch) {
      if (of_sketch[sketch].empty()) continue;
      const PointProgram& program = sketches[sketch].*which;
      points.clear();
      for (size_t i : of_sketch[sketch]) points.push_back(&candidates[i].point);
      results.resize(points.size() * program.outputs());
      program.run(points, results, pace);
      for (size_t k = 0; k < points.size(); ++k)
        f(of_sketch[sketch][k],
          std::span<const double>(results).subspan(k * program.outputs(), program.outputs()));
    }
  }
};

Evaluator::Evaluator(const space::DesignSpace& space, const target::Target& target, int threads,
                     uint64_t reuse_distance_bytes, const MeasuredRates& measured)
    : target_(target), pace_(pace_numbers(target, measured)) {
  const RooflineOptions options{.threads = threads, .reuse_distance_bytes = reuse_distance_bytes};
  Compiled compiled;
  for (const space::Sketch& sketch : space.sketches) {
    Formulas formulas;
    Assessment of = assess(sketch, space.ports, target, options, formulas).value_or(Assessment{.legal = 0});
    const std::array<Value, 1> legal = {of.legal};
    const std::array<Value, 1> roofline = {
        select(of.legal, of.roofline_seconds, std::numeric_limits<double>::infinity())};
    std::vector<Value> all(of.features.begin(), of.features.end());
    all.push_back(roofline[0]);
    compiled.sketches.push_back({{sketch, formulas, legal},
                                 {sketch, formulas, roofline},
                                 {sketch, formulas, of.features},
                                 {sketch, formulas, all}});
  }
  compiled_ = std::make_shared<const Compiled>(std::move(compiled));
}

Evaluator Evaluator::on(const MeasuredRates& measured) const {
  Evaluator other = *this;
  other.pace_ = pace_numbers(target_, measured);
  return other;
}

namespace {

void copy_features(std::span<const double> results, Features& features) {
  for (size_t i = 0; i < kFeatureCount; ++i) features[i] = static_cast<float>(results[i]);
  set_code(std::nullopt, features);
}

}  // namespace

std::vector<bool> Evaluator::legal(std::span<const space::Candidate> candidates) const {
  std::vector<bool> legal(candidates.size());
  compiled_->for_each_result(&Compiled::Programs::legal, candidates, pace_,
                             [&](size_t i, std::span<const double> results) { legal[i] = results[0] != 0; });
  return legal;
}

std::vector<double> Evaluator::roofline(std::span<const space::Candidate> candidates) const {
  std::vector<double> seconds(candidates.size());
  compiled_->for_each_result(&Compiled::Programs::roofline, candidates, pace_,
                             [&](size_t i, std::span<const double> results) { seconds[i] = results[0]; });
  return seconds;
}

std::vector<Features> Evaluator::features(std::span<const space::Candidate> candidates) const {
  std::vector<Features> features(candidates.size());
  compiled_->for_each_result(
      &Compiled::Programs::features, candidates, pace_,
      [&](size_t i, std::span<const double> results) { copy_features(results, features[i]); });
  return features;
}

std::optional<Judgement> Evaluator::judge(const space::Candidate& candidate) const {
  Judgement judgement;
  compiled_->for_each_result(&Compiled::Programs::all, {&candidate, 1}, pace_,
                             [&](size_t, std::span<const double> results) {
                               copy_features(results, judgement.features);
                               judgement.roofline_seconds = results[kFeatureCount];
                             });
  if (judgement.roofline_seconds == std::numeric_limits<double>::infinity()) return std::nullopt;
  return judgement;
}

}  // namespace tf::model
