#include "tuner/space/space.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "compiler/ops/convolution.h"
#include "compiler/ops/matmul.h"
#include "compiler/ops/movement.h"
#include "compiler/ops/reduction.h"
#include "compiler/recipes/recipes.h"
#include "compiler/schedule/schedule.h"
#include "tests/support/tuner/test_problems.h"
#include "tuner/space/neighbourhood.h"
#include "tuner/space/sampling.h"

namespace tf::space {
namespace {

target::Target avx512() {
  return target::parse_target("x86_64:cpu=znver4").value();
}

TEST(GenerateSpace, GivesAProductItsTemplateAndTheGeneralRule) {
  const DesignSpace space = generate_space(tensor::for_target(test::matmul_problem(64, 64, 64), avx512(), 1));
  ASSERT_EQ(space.sketches.size(), 2u);
  EXPECT_EQ(space.sketches[0].family, "template dense");
  EXPECT_EQ(space.sketches[1].family, "generated tiled-reduction");
  EXPECT_GT(space.size(), 100);
}

TEST(GenerateSpace, OffersMostlyLegalPoints) {
  const tensor::KernelSpec problem = test::matmul_problem(48, 80, 32);
  const DesignSpace space = generate_space(tensor::for_target(problem, avx512(), 2));
  Random random(7);
  int legal = 0;
  for (int i = 0; i < 200; ++i)
    legal += schedule::apply(problem.workload, space.schedule_of(sample(space, random))).ok();
  EXPECT_GT(legal, 150);
}

TEST(GenerateSpace, StartsEachTiledSketchAtTheDefaultSchedule) {
  const tensor::KernelSpec problem = test::matmul_problem(56, 96, 64);
  const DesignSpace space = generate_space(tensor::for_target(problem, avx512(), 1));
  const schedule::Schedule fallback =
      recipes::default_schedule({.workload = problem.workload, .target = avx512()});
  for (const Sketch& sketch : space.sketches) {
    const schedule::Schedule seed = recipes::instantiate(sketch, sketch.default_point());
    EXPECT_EQ(schedule::to_string(seed), schedule::to_string(fallback)) << sketch.family;
  }
}

TEST(GenerateSpace, GivesASoftmaxRows) {
  ops::Builder b;
  auto x = b.input("x", tensor::Element::kFloat32, {tensor::imm(6), tensor::imm(200)});
  const tensor::KernelSpec problem{.workload = *b.finish({ops::softmax(b, x, 1)})};
  const DesignSpace space = generate_space(tensor::for_target(problem, avx512(), 2));
  ASSERT_EQ(space.sketches.size(), 1u);
  EXPECT_EQ(space.sketches[0].family, "generated rows");
  for (uint32_t partials = 0; partials < space.sketches[0].parameters[1].choices.size(); ++partials)
    EXPECT_TRUE(
        schedule::apply(problem.workload, recipes::instantiate(space.sketches[0], {1, partials, 0})).ok());
}

// a[m, k] * b[k, n], both given at run time.
tensor::KernelSpec product_problem(int64_t m, int64_t n, int64_t k) {
  tensor::KernelSpec problem = test::matmul_problem(m, n, k);
  problem.workload.inputs[1].constant = false;
  return problem;
}

TEST(GenerateSpace, StartsAtTheFormOfAProductThatTheDefaultScheduleTakes) {
  for (const tensor::KernelSpec& problem :
       {product_problem(1024, 1024, 1024), product_problem(64, 64, 64), product_problem(1, 4096, 4096),
        product_problem(512, 512, 8192)}) {
    const DesignSpace space = generate_space(tensor::for_target(problem, avx512(), 1));
    const schedule::Schedule seed =
        recipes::instantiate(space.sketches[0], space.sketches[0].default_point());
    EXPECT_EQ(
        schedule::to_string(seed),
        schedule::to_string(recipes::default_schedule({.workload = problem.workload, .target = avx512()})));
  }
}

TEST(GenerateSpace, OffersTilesOfRowsWhoseEdgesAreCheap) {
  const DesignSpace space = generate_space(tensor::for_target(product_problem(16, 1024, 1024), avx512(), 1));
  const auto parameter = std::ranges::find(space.sketches[0].parameters, "tile_m", &Parameter::name);
  ASSERT_NE(parameter, space.sketches[0].parameters.end());
  auto offers = [&](int64_t tile) {
    return std::ranges::any_of(parameter->choices, [&](const auto& choice) { return choice[1] == tile; });
  };
  EXPECT_TRUE(offers(6)) << "6, 6 and 4 rows";
  EXPECT_TRUE(offers(9)) << "9 and 7";
  EXPECT_FALSE(offers(15)) << "15 and a single one";
  EXPECT_TRUE(offers(16));
}

TEST(GenerateSpace, OffersAProductPackedColumnsAndPartialSums) {
  const DesignSpace space = generate_space(tensor::for_target(product_problem(256, 256, 1024), avx512(), 1));
  std::set<std::string> families;
  for (const Sketch& sketch : space.sketches) {
    families.insert(sketch.family);
    EXPECT_TRUE(schedule::apply(*sketch.workload, recipes::instantiate(sketch, sketch.default_point())).ok())
        << sketch.family;
  }
  EXPECT_EQ(families, (std::set<std::string>{"template dense", "template dense, packed",
                                             "template dense, packed, partial sums",
                                             "template dense, partial sums", "generated tiled-reduction"}));
}

TEST(GenerateSpace, OffersAConvolutionPartialSumsAndStartsAtTheDefaultsForm) {
  for (const int64_t extent : {7, 1}) {  // one place: nothing to read weights for twice
    ops::Builder b;
    auto x = b.input("x", tensor::Element::kFloat32,
                     {tensor::imm(1), tensor::imm(512), tensor::imm(extent), tensor::imm(extent)});
    auto w = b.constant("w", tensor::Element::kFloat32,
                        {tensor::imm(512), tensor::imm(512), tensor::imm(3), tensor::imm(3)});
    const tensor::Layout blocked{{{0, 0}, {1, 0}, {2, 0}, {3, 0}, {1, 16}}};
    const tensor::KernelSpec problem{
        .workload = *b.finish({ops::conv(b, x, w, {.pads_begin = {1, 1}, .pads_end = {1, 1}})}),
        .ports = {{blocked}, {blocked}}};
    const DesignSpace space = generate_space(tensor::for_target(problem, avx512(), 1));
    std::set<std::string> families;
    for (const Sketch& sketch : space.sketches) {
      families.insert(sketch.family);
      EXPECT_TRUE(
          schedule::apply(*sketch.workload, recipes::instantiate(sketch, sketch.default_point())).ok())
          << sketch.family;
    }
    EXPECT_TRUE(families.contains("template conv2d")) << extent;
    EXPECT_TRUE(families.contains("template conv2d, partial sums")) << extent;
    const schedule::Schedule seed =
        recipes::instantiate(space.sketches[0], space.sketches[0].default_point());
    EXPECT_EQ(schedule::to_string(seed),
              schedule::to_string(recipes::default_schedule(
                  {.workload = problem.workload, .ports = {{blocked}, {blocked}}, .target = avx512()})));
  }
}

TEST(GenerateSpace, MovesElementsInSquaresInsteadOfGatheringThem) {
  ops::Builder b;
  const auto x = b.input("x", tensor::Element::kFloat32,
                         {tensor::imm(1), tensor::imm(50), tensor::imm(4), tensor::imm(70)});
  const tensor::KernelSpec problem{.workload = *b.finish({ops::transpose(b, x, {0, 2, 3, 1})}),
                                   .ports = {{tensor::Layout{}}, {tensor::Layout{}}}};
  const DesignSpace space = generate_space(tensor::for_target(problem, avx512(), 2));
  const auto flat = std::ranges::find(space.sketches, "generated flat", &Sketch::family);
  ASSERT_NE(flat, space.sketches.end());
  ASSERT_EQ(flat->parameters.size(), 1u);
  EXPECT_EQ(flat->parameters[0].name, "side_t0");
  for (uint32_t choice = 0; choice < flat->parameters[0].choices.size(); ++choice) {
    const schedule::Schedule schedule = recipes::instantiate(*flat, Point{choice});
    EXPECT_TRUE(schedule::apply(problem.workload, schedule).ok());
    EXPECT_EQ(schedule::to_string(schedule).find("vectorize"), std::string::npos);
  }
}

TEST(GenerateSpace, GivesAttentionOneKernel) {
  ops::Builder b;
  auto input = [&](int64_t rows, int64_t columns) {
    return b.input("x", tensor::Element::kFloat32, {tensor::imm(4), tensor::imm(rows), tensor::imm(columns)});
  };
  const auto weights = ops::softmax(b, ops::matmul(b, input(50, 64), input(64, 70)), 2);
  const tensor::KernelSpec problem{.workload = *b.finish({ops::matmul(b, weights, input(70, 64))})};
  const DesignSpace space = generate_space(tensor::for_target(problem, avx512(), 2));
  ASSERT_EQ(space.sketches.size(), 1u);
  EXPECT_EQ(space.sketches[0].family, "generated attention");
  Random random(3);
  for (int i = 0; i < 50; ++i)
    EXPECT_TRUE(schedule::apply(problem.workload, space.schedule_of(sample(space, random))).ok());
}

TEST(Instantiate, LeavesNoSizeOpen) {
  const DesignSpace space = generate_space(tensor::for_target(test::matmul_problem(64, 64, 64), avx512(), 1));
  Random random(1);
  const std::string text = schedule::to_string(space.schedule_of(sample(space, random)));
  EXPECT_EQ(text.find('$'), std::string::npos) << text;
  EXPECT_EQ(schedule::to_string(schedule::parse_schedule(text).value()), text);
}

TEST(SketchHash, ChangesWithTheChoicesAndNotWithTheFamilyName) {
  DesignSpace space = generate_space(tensor::for_target(test::matmul_problem(64, 64, 64), avx512(), 1));
  Sketch sketch = space.sketches[0];
  const Digest before = sketch.hash();
  sketch.family = "renamed";
  EXPECT_EQ(sketch.hash(), before);
  sketch.parameters[0].choices.pop_back();
  EXPECT_NE(sketch.hash(), before);
}

TEST(Mutate, ChangesOneOrTwoParametersAndStaysInRange) {
  const DesignSpace space = generate_space(tensor::for_target(test::matmul_problem(64, 64, 64), avx512(), 1));
  Random random(3);
  const Neighbourhood neighbourhood(space);
  const Candidate parent = sample(space, random);
  bool changed = false;
  for (int i = 0; i < 100; ++i) {
    const Candidate child = neighbourhood.mutate(parent, random);
    int differing = 0;
    for (size_t parameter = 0; parameter < child.point.size(); ++parameter) {
      differing += child.point[parameter] != parent.point[parameter];
      EXPECT_LT(child.point[parameter],
                space.sketches[static_cast<size_t>(child.sketch)].parameters[parameter].choices.size());
    }
    EXPECT_LE(differing, 2);
    changed = changed || differing > 0;
  }
  EXPECT_TRUE(changed);
}

TEST(Neighbourhood, HoldsTheNextSmallerAndLargerPartsAndMovedFactors) {
  Sketch sketch("tiles", {});
  sketch.parameters = {{"tile", {{1, 1}, {1, 2}, {1, 4}, {2, 1}, {2, 2}, {4, 1}}}};
  DesignSpace space;
  space.sketches = {sketch};
  const Neighbourhood neighbourhood(space);
  auto of = [&](uint32_t choice) {
    std::set<std::vector<int64_t>> neighbours;
    for (uint32_t i : neighbourhood.of(0, 0, choice)) neighbours.insert(sketch.parameters[0].choices[i]);
    return neighbours;
  };
  using Choices = std::set<std::vector<int64_t>>;
  EXPECT_EQ(of(0), (Choices{{1, 2}, {2, 1}}));
  EXPECT_EQ(of(2), (Choices{{1, 2}, {2, 2}}));  // 1·4 → 2·2 moves a factor
  EXPECT_EQ(of(4), (Choices{{1, 2}, {2, 1}, {1, 4}, {4, 1}}));
}

}  // namespace
}  // namespace tf::space
