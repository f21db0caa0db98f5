// What a sketch's compiled programs say of a point is what the state of the point's schedule says: legality,
// every feature and the roofline cost, over every family of sketches.

#include "tuner/model/evaluator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "compiler/ops/convolution.h"
#include "compiler/ops/matmul.h"
#include "compiler/ops/pooling.h"
#include "compiler/ops/reduction.h"
#include "compiler/schedule/numerics.h"
#include "tests/support/schedule/examples.h"
#include "tests/unit/compiler/passes/small_workloads.h"
#include "tuner/space/sampling.h"
#include "tuner/space/space.h"

namespace tf::model {
namespace {

using ops::Builder;
using test::f32_constant;
using test::f32_input;
using test::SmallWorkload;
using test::znver4;

// Of sizes that leave every parameter a choice.
std::vector<SmallWorkload> large_workloads() {
  auto conv = [](Builder& b, std::vector<int64_t> x, std::vector<int64_t> w, int64_t stride,
                 int64_t groups = 1) {
    const int64_t pad = w[2] / 2;
    const tensor::Buffer y = ops::conv(
        b, f32_input(b, x), f32_constant(b, w),
        {.strides = {stride, stride}, .pads_begin = {pad, pad}, .pads_end = {pad, pad}, .groups = groups});
    return ops::relu(b, ops::bias_add(b, y, f32_constant(b, {w[0]}), 1));
  };
  return {
      {"large_matmul",
       [](Builder& b) {
         return ops::matmul(b, f32_input(b, {384, 1024}), f32_input(b, {1024, 500}));
       }},
      {"large_dense",
       [](Builder& b) {
         return ops::relu(
             b, ops::bias_add(b, ops::matmul(b, f32_input(b, {96, 768}), f32_constant(b, {768, 640})),
                              f32_constant(b, {640}), 1));
       }},
      {"large_gemv",
       [](Builder& b) {
         return ops::matmul(b, f32_input(b, {1, 2048}), f32_constant(b, {2048, 1000}));
       }},
      {"large_batch_matmul",
       [](Builder& b) {
         return ops::matmul(b, f32_input(b, {4, 50, 64}), f32_input(b, {4, 64, 70}));
       }},
      {"large_conv",
       [=](Builder& b) {
         return conv(b, {1, 64, 28, 30}, {96, 64, 3, 3}, 1);
       }},
      {"large_conv_stride",
       [=](Builder& b) {
         return conv(b, {1, 32, 29, 29}, {64, 32, 3, 3}, 2);
       }},
      {"large_conv_1x1",
       [=](Builder& b) {
         return conv(b, {2, 64, 14, 14}, {128, 64, 1, 1}, 1);
       }},
      {"large_conv_5x5",
       [=](Builder& b) {
         return conv(b, {1, 16, 14, 14}, {32, 16, 5, 5}, 1);
       }},
      {"large_conv_groups",
       [=](Builder& b) {
         return conv(b, {1, 64, 14, 14}, {64, 16, 3, 3}, 1, 4);
       }},
      {"large_depthwise",
       [=](Builder& b) {
         return conv(b, {1, 96, 28, 28}, {96, 1, 3, 3}, 1, 96);
       }},
      {"large_pool",
       [](Builder& b) {
         return ops::max_pool(b, f32_input(b, {1, 64, 56, 56}), {.kernel = {3, 3}, .strides = {2, 2}});
       }},
      {"large_softmax",
       [](Builder& b) {
         return ops::softmax(b, f32_input(b, {64, 1000}), 1);
       }},
      {"large_attention",
       [](Builder& b) {
         const tensor::Buffer scores = ops::matmul(b, f32_input(b, {4, 50, 64}), f32_input(b, {4, 64, 70}));
         return ops::matmul(b, ops::softmax(b, scores, 2), f32_input(b, {4, 70, 64}));
       }},
  };
}

std::vector<SmallWorkload> all_workloads() {
  std::vector<SmallWorkload> all = large_workloads();
  const auto& small = test::small_workloads();
  all.insert(all.end(), small.begin(), small.end());
  return all;
}

std::vector<tensor::PortLayouts> layouts_of(const tensor::Workload& workload) {
  const tensor::Layout blocked{{{0, 0}, {1, 0}, {2, 0}, {3, 0}, {1, znver4().fp32_lanes()}}};
  tensor::PortLayouts by_channels;
  for (const tensor::Input& input : workload.inputs) {
    if (input.constant) continue;
    if (input.buffer->rank() != 4) return {{}};
    by_channels.inputs.push_back(blocked);
  }
  for (const tensor::Buffer& output : workload.outputs) {
    if (output->rank() != 4) return {{}};
    by_channels.outputs.push_back(blocked);
  }
  return {{}, by_channels};
}

constexpr uint64_t kReuseDistanceBytes = 64 << 20;

constexpr MeasuredRates kMeasured = {.flops_per_s = 90e9, .memory_bytes_per_s = 20e9};

RooflineOptions options_of(int threads) {
  return {.threads = threads, .reuse_distance_bytes = kReuseDistanceBytes, .measured = kMeasured};
}

class EverySketch : public ::testing::TestWithParam<SmallWorkload> {
 protected:
  // Compares `draws` points of the sketch; returns how many were legal.
  int compare(const space::DesignSpace& space, size_t number, const target::Target& target, int threads,
              int draws) {
    const space::Sketch& sketch = space.sketches[number];
    Formulas formulas;
    const std::optional<Assessment> compiled =
        assess(sketch, space.ports, target, options_of(threads), formulas);
    if (!compiled) {
      ADD_FAILURE() << "the sketch is legal nowhere";
      return 0;
    }
    const Evaluator evaluator(space, target, threads, kReuseDistanceBytes, kMeasured);
    space::Random random(11);
    int legal = 0;
    for (int i = 0; i < draws && !HasFailure(); ++i) {
      space::Candidate candidate{static_cast<int>(number), {}};
      for (const space::Parameter& parameter : sketch.parameters)
        candidate.point.push_back(static_cast<uint32_t>(space::below(random, parameter.choices.size())));
      SCOPED_TRACE(recipes::to_string(candidate.point));
      legal += compare(space, candidate, evaluator, target, threads, compiled->main_nest);
    }
    return legal;
  }

  bool compare(const space::DesignSpace& space, const space::Candidate& candidate, const Evaluator& evaluator,
               const target::Target& target, int threads, size_t main_nest) {
    const schedule::Schedule schedule = space.schedule_of(candidate);
    const auto state =
        schedule::apply(*space.sketches[static_cast<size_t>(candidate.sketch)].workload, schedule);
    const std::optional<Judgement> judgement = evaluator.judge(candidate);
    Assessment expected{.legal = 0};
    if (state.ok()) expected = assess(*state, space.ports, target, options_of(threads), main_nest);
    EXPECT_EQ(judgement.has_value(), expected.legal.constant() != 0) << state.status();
    EXPECT_EQ(evaluator.legal({&candidate, 1})[0], judgement.has_value());
    if (!judgement || expected.legal.constant() == 0) return false;
    const double seconds = expected.roofline_seconds.constant();
    const bool is_exact = std::fabs(judgement->roofline_seconds - seconds) <= 1e-9 * seconds;
    for (size_t i = 0; i < kFeatureCount; ++i) {
      if (i == kRooflineFeature) continue;
      const double wanted = expected.features[i].constant();
      const bool is_share =
          i > kRooflineFeature &&
          i <= kRooflineFeature + kResources;  // of the roofline model's time: as exact as that
      EXPECT_NEAR(judgement->features[i], wanted,
                  (is_share && !is_exact ? 0.02 : 1e-5) * std::max(1.0, std::fabs(wanted)))
          << "feature " << i << " of\n"
          << schedule::to_string(schedule);
    }
    // Where a register tile is longer than the block around it, a stage that stands two regions deep may be
    // taken to start elsewhere: that costs the estimate a little, and nothing else.
    EXPECT_NEAR(judgement->roofline_seconds, seconds, 0.02 * seconds);
    EXPECT_NEAR(judgement->features[kRooflineFeature], expected.features[kRooflineFeature].constant(), 0.03);
    exact_ += is_exact;
    EXPECT_EQ(evaluator.roofline({&candidate, 1})[0], judgement->roofline_seconds);
    EXPECT_EQ(evaluator.features({&candidate, 1})[0], judgement->features);
    return true;
  }

  int exact_ = 0;  // points with the very same estimate
};

TEST_P(EverySketch, SaysOfAPointWhatTheStateOfItsScheduleSays) {
  const tensor::Workload workload = test::build_small(GetParam());
  constexpr int kDraws = 60;
  for (const tensor::PortLayouts& ports : layouts_of(workload)) {
    for (int threads : {1, 2}) {
      const space::DesignSpace space = space::generate_space({.workload = workload,
                                                              .ports = ports,
                                                              .target = znver4(),
                                                              .threads = threads,
                                                              .allowed = {schedule::kWinograd}});
      for (size_t i = 0; i < space.sketches.size() && !HasFailure(); ++i) {
        SCOPED_TRACE(space.sketches[i].family);
        exact_ = 0;
        const int legal = compare(space, i, znver4(), threads, kDraws);
        EXPECT_GT(legal, 0);
        EXPECT_GE(exact_, 0.6 * legal);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, EverySketch, ::testing::ValuesIn(all_workloads()),
                         [](const auto& each) { return each.param.name; });

TEST(Evaluator, JudgesABatchAsItJudgesEachCandidate) {
  Builder b;
  const tensor::Workload workload =
      *b.finish({ops::matmul(b, f32_input(b, {384, 1024}), f32_input(b, {1024, 500}))});
  const space::DesignSpace space =
      space::generate_space(tensor::for_target({.workload = workload}, znver4(), 2));
  const Evaluator evaluator(space, znver4(), 2);
  space::Random random(5);
  std::vector<space::Candidate> candidates;
  for (int i = 0; i < 300; ++i) candidates.push_back(space::sample(space, random));
  const std::vector<double> seconds = evaluator.roofline(candidates);
  const std::vector<bool> legal = evaluator.legal(candidates);
  const std::vector<Features> features = evaluator.features(candidates);
  for (size_t i = 0; i < candidates.size(); ++i) {
    const std::optional<Judgement> judgement = evaluator.judge(candidates[i]);
    EXPECT_EQ(judgement.has_value(), legal[i]);
    EXPECT_EQ(seconds[i], judgement ? judgement->roofline_seconds : std::numeric_limits<double>::infinity());
    if (judgement) {
      EXPECT_EQ(features[i], judgement->features);
    }
  }
}

TEST(Evaluator, JudgesForAnotherMachineWithoutBeingCompiledForIt) {
  Builder b;
  const tensor::Workload workload =
      *b.finish({ops::matmul(b, f32_input(b, {384, 1024}), f32_input(b, {1024, 500}))});
  const space::DesignSpace space =
      space::generate_space(tensor::for_target({.workload = workload}, znver4(), 1));
  const MeasuredRates slow = {.flops_per_s = 59.2e9};  // 32 operations a cycle: half the usual clock
  const Evaluator as_usual(space, znver4(), 1), made_for_it(space, znver4(), 1, 0, slow);
  const Evaluator on_it = as_usual.on(slow), and_back = on_it.on({});
  space::Random random(5);
  int legal = 0;
  for (int i = 0; i < 50; ++i) {
    const space::Candidate candidate = space::sample(space, random);
    const std::optional<Judgement> judgement = on_it.judge(candidate);
    EXPECT_EQ(as_usual.judge(candidate).has_value(), judgement.has_value());
    if (!judgement) continue;
    ++legal;
    EXPECT_EQ(judgement->roofline_seconds, made_for_it.judge(candidate)->roofline_seconds);
    EXPECT_EQ(judgement->features, made_for_it.judge(candidate)->features);
    EXPECT_EQ(and_back.judge(candidate)->roofline_seconds, as_usual.judge(candidate)->roofline_seconds);
    EXPECT_DOUBLE_EQ(judgement->roofline_seconds, 2 * as_usual.judge(candidate)->roofline_seconds);
  }
  EXPECT_GT(legal, 0);
}

}  // namespace
}  // namespace tf::model
