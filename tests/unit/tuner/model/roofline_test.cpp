// What the roofline model counts, and what it ranks first.

#include "tuner/model/roofline/roofline.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "compiler/ops/builder.h"
#include "compiler/ops/convolution.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/matmul.h"
#include "compiler/recipes/emit/winograd.h"
#include "compiler/recipes/recipes.h"
#include "tests/support/schedule/examples.h"
#include "tuner/model/nests/nest.h"

namespace tf::model {
namespace {

using tensor::Element;
using tensor::imm;
using test::channels_innermost;
using test::znver4;

tensor::Workload convolution(int64_t channels, int64_t extent) {
  ops::Builder b;
  auto x = b.input("x", Element::kFloat32, {imm(1), imm(channels), imm(extent), imm(extent)});
  auto w = b.constant("w", Element::kFloat32, {imm(channels), imm(channels), imm(3), imm(3)});
  return *b.finish({ops::relu(
      b, ops::conv(b, x, w, {.strides = {1, 1}, .pads_begin = {1, 1}, .pads_end = {1, 1}, .groups = 1}))});
}

schedule::Schedule winograd(const tensor::Workload& workload, int64_t tile) {
  const recipes::WinogradFrame frame = *recipes::winograd_frame(
      {.workload = workload, .ports = channels_innermost(16), .target = znver4()}, tile);
  schedule::Schedule result;
  recipes::append_winograd(frame, recipes::default_winograd_tiling(frame, znver4(), 1), result.steps);
  return result;
}

std::vector<Nest> nests_of(const tensor::Workload& workload, const schedule::Schedule& schedule) {
  return summarize(schedule::apply(workload, schedule).value(), channels_innermost(16), znver4());
}

const Nest& nest_of(const std::vector<Nest>& nests, const std::string& stage) {
  for (const Nest& nest : nests)
    if (nest.stage == stage) return nest;
  ADD_FAILURE() << "no stage " << stage;
  return nests.front();
}

TEST(Summarize, CountsOfSelectsThatUnrollingDecidesOnlyTheBranchTaken) {
  const tensor::Workload workload = convolution(64, 56);
  const std::vector<Nest> nests = nests_of(workload, winograd(workload, 2));
  // Each row of F(2, 3)'s B^T has two entries that are not zero, of A^T three (Lavin and Gray, section 4.1).
  EXPECT_EQ(nest_of(nests, "t1.bd").flops_per_iteration, 1);
  EXPECT_EQ(nest_of(nests, "t1.v").flops_per_iteration, 1);
  EXPECT_EQ(nest_of(nests, "t1.am").flops_per_iteration, 2);
  // Four rows of the input are four loads, and the store.
  EXPECT_EQ(nest_of(nests, "t1.bd").accesses.size(), 5u);
}

TEST(Summarize, CountsBothBranchesWhereALoopDecides) {
  const tensor::Workload workload = convolution(64, 56);
  schedule::Schedule schedule = winograd(workload, 2);
  std::erase_if(schedule.steps, [](const schedule::Step& step) {
    const auto* annotate = std::get_if<schedule::Annotate>(&step);
    return annotate != nullptr && annotate->stage == "t1.bd" &&
           annotate->annotation == schedule::Annotation::kUnroll;
  });
  EXPECT_EQ(nest_of(nests_of(workload, schedule), "t1.bd").flops_per_iteration, 4);
}

TEST(Summarize, LetsABufferThatEachIterationUsesAnewStandStill) {
  const tensor::Workload workload = convolution(64, 56);
  const std::vector<Nest> nests = nests_of(workload, winograd(workload, 4));
  const Nest& product = nest_of(nests, "t1.m.acc");
  // The transformed block of tiles: the loops over blocks lead to no other memory.
  const NestAccess& tiles = product.accesses.front();
  EXPECT_EQ(tiles.touched_elems[0].constant(), tiles.touched_elems[3].constant());
  EXPECT_LT(tiles.touched_elems[0].constant(), 36.0 * 64 * 14 * 14);
}

// Products of 512 x 512 matrices, `rows` by `vectors` a tile, `blocks` tiles a block.
schedule::Schedule product_schedule(int64_t blocks, int64_t rows, int64_t vectors) {
  const std::string text = absl::StrCat(
      "schedule v1\ncache_write t0\nsplit t0 i0 ", blocks, ",", rows, " guard\nsplit t0 i1 4,", vectors,
      ",16 guard\nreorder t0 i0.0,i1.0,i1.1,i0.1,i0.2,i1.2,i1.3\n"
      "annotate t0 i0.2 unroll\nannotate t0 i1.2 unroll\nannotate t0 i1.3 vectorize\n"
      "compute_at t0.acc t0 i0.1 register\nsplit t0.acc r0 8 guard\nsplit t0.acc i1 16 guard\n"
      "reorder t0.acc r0.0,r0.1,i0,i1.0,i1.1\nannotate t0.acc i0 unroll\nannotate t0.acc i1.0 unroll\n"
      "annotate t0.acc i1.1 vectorize\npragma t0.acc unroll_limit 0\n");
  return schedule::parse_schedule(text).value();
}

std::vector<Nest> product_nests(int64_t blocks, int64_t rows, int64_t vectors = 1, int64_t depth = 512) {
  ops::Builder b;
  auto x = b.input("x", Element::kFloat32, {imm(512), imm(depth)});
  auto w = b.input("w", Element::kFloat32, {imm(depth), imm(512)});
  const tensor::Workload workload = *b.finish({ops::matmul(b, x, w)});
  return summarize(schedule::apply(workload, product_schedule(blocks, rows, vectors)).value(), {}, znver4());
}

TEST(Summarize, LeavesOutTilesBeyondTheEdgeOfAnAxis) {
  // Blocks of 16 tiles of 14 rows cover 672 rows; 37 tiles, 518 rows, have something to do.
  const std::vector<Nest> nests = product_nests(16, 14);
  for (const Nest& nest : nests) {
    EXPECT_DOUBLE_EQ(nest.started.constant(), 518.0 / 672) << nest.stage;
    EXPECT_DOUBLE_EQ(nest.wanted.constant(), 512.0 / 672) << nest.stage;
    EXPECT_EQ(nest.reduced.constant(), 1) << nest.stage;
  }
}

TEST(Roofline, IsNearThePipesOwnTimeForTilesThatFillTheRegisters) {
  // 2^27 multiply-adds, 16 at a time, one a cycle.
  const double ideal = 8388608 / 3.7e9;
  const double seconds = roofline_of(product_nests(4, 16), znver4()).seconds.constant();
  EXPECT_GT(seconds, ideal);
  EXPECT_LT(seconds, 1.15 * ideal);
}

TEST(Roofline, ChargesFewAccumulatorsTheWaitForThemselves) {
  const double full = roofline_of(product_nests(4, 16), znver4()).seconds.constant();
  const double few = roofline_of(product_nests(32, 2), znver4()).seconds.constant();
  EXPECT_GT(few, 1.8 * full);
}

TEST(Roofline, LetsTheNextTilesOfShortReductionsFillTheWait) {
  const auto waits = [](int64_t depth) {
    const Roofline roofline = roofline_of(product_nests(32, 2, 1, depth), znver4());
    return roofline.shares[static_cast<size_t>(Resource::kWaits)].constant() /
           roofline.shares[static_cast<size_t>(Resource::kMultiplyAdds)].constant();
  };
  EXPECT_GT(waits(512), 0.9);
  EXPECT_LT(waits(16), 0.5 * waits(512));
}

TEST(Roofline, ChargesATileThatRegistersHaveNoRoomFor) {
  // 7 by 4 accumulators, four vectors and a broadcast value are 33 registers; of 6 by 4, 29.
  const double full = roofline_of(product_nests(4, 6, 4), znver4()).seconds.constant();
  const double beyond = roofline_of(product_nests(4, 7, 4), znver4()).seconds.constant();
  EXPECT_GT(beyond, 1.4 * full);
}

TEST(Roofline, LetsMultiplyAddsTakeBroadcastValuesFromMemory) {
  // 31 accumulators and a vector; the values of the rows need no register.
  const Roofline roofline = roofline_of(product_nests(1, 31), znver4());
  EXPECT_EQ(roofline.shares[static_cast<size_t>(Resource::kSpills)].constant(), 0);
}

// Seven pixels a tile; inside of the window's columns four channels and the window's rows are unrolled, and
// by the limit the columns, too.
schedule::Schedule window_schedule(int64_t unroll_limit) {
  const std::string text = absl::StrCat(
      "schedule v1\nlayout_rewrite t0 0,1,2,3,1:16\nsplit t0 i1 16 guard\nreorder t0 i0,i1.0,i2,i3,i1.1\n"
      "annotate t0 i1.1 vectorize\nlayout_rewrite p1 0,1,2,3,1:16,0:16\nsplit t2 i0 1,1 guard\n"
      "split t2 i1 4,1,16 guard\nsplit t2 i2 1,1 guard\nsplit t2 i3 8,7 guard\n"
      "reorder t2 i0.0,i1.0,i2.0,i3.0,i0.1,i1.1,i2.1,i3.1,i0.2,i1.2,i2.2,i3.2,i1.3\n"
      "annotate t2 i0.2 unroll\nannotate t2 i1.2 unroll\nannotate t2 i2.2 unroll\nannotate t2 i3.2 unroll\n"
      "annotate t2 i1.3 vectorize\ncompute_at t1 t2 i3.1 register\nsplit t1 r0 4 guard\n"
      "split t1 r1 3 guard\nsplit t1 r2 1 guard\nsplit t1 i1 16 guard\n"
      "reorder t1 r0.0,r1.0,r2.0,r0.1,r1.1,r2.1,i0,i2,i3,i1.0,i1.1\nannotate t1 i0 unroll\n"
      "annotate t1 i2 unroll\nannotate t1 i3 unroll\nannotate t1 i1.0 unroll\nannotate t1 i1.1 vectorize\n"
      "pragma t1 unroll_limit ",
      unroll_limit, "\n");
  return schedule::parse_schedule(text).value();
}

TEST(Roofline, ChargesWhatUnrolledTurnsOfAWindowShareAndRegistersCannotKeep) {
  const tensor::Workload workload = convolution(64, 56);
  const auto spills = [&](int64_t unroll_limit) {
    const Roofline roofline = roofline_of(nests_of(workload, window_schedule(unroll_limit)), znver4());
    return roofline.shares[static_cast<size_t>(Resource::kSpills)].constant();
  };
  EXPECT_EQ(spills(128), 0) << "84 copies, which share nothing";
  // 252 copies: a column's 84 values wait for the next column.
  EXPECT_GT(spills(256), 0.2);
}

// Four pixels a tile of a depthwise convolution; by the limit, its window of nine is unrolled wholly.
std::vector<Nest> depthwise_nests(int64_t unroll_limit) {
  ops::Builder b;
  auto x = b.input("x", Element::kFloat32, {imm(1), imm(64), imm(56), imm(56)});
  auto w = b.constant("w", Element::kFloat32, {imm(64), imm(1), imm(3), imm(3)});
  const tensor::Workload workload = *b.finish({ops::relu(
      b, ops::conv(b, x, w, {.strides = {1, 1}, .pads_begin = {1, 1}, .pads_end = {1, 1}, .groups = 64}))});
  const std::string text = absl::StrCat(
      "schedule v1\nlayout_rewrite t0 0,1,2,3,1:16\nsplit t0 i1 16 guard\nreorder t0 i0,i1.0,i2,i3,i1.1\n"
      "annotate t0 i1.1 vectorize\nlayout_rewrite p1 0,1,2,3,0:16\nsplit t2 i0 1,1 guard\n"
      "split t2 i1 1,1,16 guard\nsplit t2 i2 1,1 guard\nsplit t2 i3 14,4 guard\n"
      "reorder t2 i0.0,i1.0,i2.0,i3.0,i0.1,i1.1,i2.1,i3.1,i0.2,i1.2,i2.2,i3.2,i1.3\n"
      "annotate t2 i0.2 unroll\nannotate t2 i1.2 unroll\nannotate t2 i2.2 unroll\nannotate t2 i3.2 unroll\n"
      "annotate t2 i1.3 vectorize\ncompute_at t1 t2 i3.1 register\nsplit t1 r0 3 guard\n"
      "split t1 r1 3 guard\nsplit t1 i1 16 guard\nreorder t1 r0.0,r1.0,r0.1,r1.1,i0,i2,i3,i1.0,i1.1\n"
      "annotate t1 i0 unroll\nannotate t1 i2 unroll\nannotate t1 i3 unroll\nannotate t1 i1.0 unroll\n"
      "annotate t1 i1.1 vectorize\npragma t1 unroll_limit ",
      unroll_limit, "\n");
  return nests_of(workload, schedule::parse_schedule(text).value());
}

TEST(Summarize, KnowsWhatTheLoopAroundUnrolledTurnsLeavesWhereItIs) {
  const auto stays = [](int64_t unroll_limit, bool is_constant) {
    const std::vector<Nest> nests = depthwise_nests(unroll_limit);
    for (const NestAccess& access : nest_of(nests, "t1").accesses)
      if (!access.is_store && access.is_constant == is_constant) return access.stays.constant();
    return -1.0;
  };
  // From pixel to pixel the weights are the same; within a window they are not.
  EXPECT_EQ(stays(512, /*is_constant=*/true), 1);
  EXPECT_EQ(stays(512, /*is_constant=*/false), 0);
  EXPECT_EQ(stays(0, /*is_constant=*/true), 0);
}

TEST(Roofline, DoesNotLoadAgainWhatRegistersKeep) {
  const auto loads = [](int64_t unroll_limit) {
    const Roofline roofline = roofline_of(depthwise_nests(unroll_limit), znver4());
    return roofline.shares[static_cast<size_t>(Resource::kLoads)].constant() * roofline.seconds.constant();
  };
  // Of a tile three rows of six pixels, instead of four pixels and a weight nine times.
  EXPECT_LT(loads(512), 0.5 * loads(0));
}

TEST(Roofline, SaysWhatBoundsIt) {
  const Roofline roofline = roofline_of(product_nests(4, 16), znver4());
  const auto share = [&](Resource resource) {
    return roofline.shares[static_cast<size_t>(resource)].constant();
  };
  EXPECT_GT(share(Resource::kMultiplyAdds), 0.85);
  EXPECT_LT(share(Resource::kLoads), share(Resource::kMultiplyAdds));
}

TEST(Roofline, HidesTheShorterOfComputingAndMovingUnlessItIsNearlyAsLong) {
  const std::vector<Nest> nests = product_nests(4, 16);
  RooflineOptions options;
  options.constants.l2_run = options.constants.l3_run = 0;  // moves are as long as bytes take
  const auto estimated = [&](double times) {
    Pace pace = pace_of(znver4(), options);
    for (Value* bytes : {&pace.l2_bytes, &pace.l3_bytes, &pace.memory_bytes}) *bytes = *bytes / times;
    return roofline_of(nests, znver4(), options, pace);
  };
  const double computing = estimated(1e-6).seconds.constant();
  const Roofline as_is = estimated(1);
  double moving = 0;
  for (const Resource each : {Resource::kL2, Resource::kL3, Resource::kMemory})
    moving += as_is.shares[static_cast<size_t>(each)].constant() * as_is.seconds.constant();
  const auto beside = [&](double share) {
    return estimated(share * computing / moving).seconds.constant() / computing;
  };
  EXPECT_LT(beside(0.5), 1.01);
  EXPECT_GT(beside(1), 1.1);
  EXPECT_GT(beside(1), 1.05 * beside(0.8));
  EXPECT_NEAR(beside(4), 4, 0.01);
}

// A row of a matrix of constants a vector of results: 8 MB, read once.
std::vector<Nest> streaming_nests() {
  ops::Builder b;
  auto x = b.input("x", Element::kFloat32, {imm(1), imm(2048)});
  auto w = b.constant("w", Element::kFloat32, {imm(2048), imm(1024)});
  const tensor::Workload workload = *b.finish({ops::matmul(b, x, w)});
  return summarize(
      schedule::apply(workload, recipes::default_schedule({.workload = workload, .target = znver4()}))
          .value(),
      {}, znver4());
}

TEST(Roofline, TakesConstantsFromMemoryOnlyWhereANetworkReadsTooMuchInBetween) {
  const std::vector<Nest> nests = streaming_nests();
  const auto of = [&](uint64_t reuse_distance_bytes, Resource resource) {
    const Roofline roofline = roofline_of(nests, znver4(), {.reuse_distance_bytes = reuse_distance_bytes});
    return roofline.shares[static_cast<size_t>(resource)].constant() * roofline.seconds.constant();
  };
  // 32 MB of L3 keep 8 MB of weights over 16 MB of others, not over 96 MB.
  EXPECT_EQ(of(0, Resource::kMemory), 0);
  EXPECT_EQ(of(16 << 20, Resource::kMemory), 0);
  EXPECT_GT(of(16 << 20, Resource::kL3), 0);
  EXPECT_GT(of(96 << 20, Resource::kMemory), 8e6 / 3.7e9 / 16) << "16 bytes a cycle would be fast";
}

TEST(Roofline, BelievesATargetThatSaysItsSharedCache) {
  const std::vector<Nest> nests = streaming_nests();
  const auto from_memory = [&](const std::string& target) {
    const Roofline roofline = roofline_of(nests, target::parse_target(target).value());
    return roofline.shares[static_cast<size_t>(Resource::kMemory)].constant();
  };
  // 8 MB of weights.
  EXPECT_EQ(from_memory("x86_64:cpu=znver4,l3=16M"), 0);
  EXPECT_GT(from_memory("x86_64:cpu=znver4,l3=4M"), 0);
}

// Seconds of one of the resources of streaming_nests(), behind a network that leaves nothing in the caches.
double seconds_of(Resource resource, const MeasuredRates& measured, const FittedOn& fitted_on,
                  const RooflineConstants& constants = {}) {
  const Roofline roofline = roofline_of(streaming_nests(), znver4(),
                                        {.reuse_distance_bytes = 96 << 20,
                                         .constants = constants,
                                         .measured = measured,
                                         .fitted_on = fitted_on});
  return roofline.shares[static_cast<size_t>(resource)].constant() * roofline.seconds.constant();
}

constexpr FittedOn kThere = {.rates = {.flops_per_s = 192e9,  // at 3 GHz
                                       .l2_bytes_per_s = 120e9,
                                       .shared_bytes_per_s = 60e9,
                                       .memory_bytes_per_s = 30e9},
                             .flops_a_cycle = 64};

TEST(Roofline, TakesTheClockFromThePeakThatWasMeasured) {
  const std::vector<Nest> nests = product_nests(4, 16);
  const Roofline as_usual = roofline_of(nests, znver4());
  // A Zen 4 core does 32 operations a cycle: 1.85 GHz, half of what is usual.
  const Roofline slow = roofline_of(nests, znver4(), {.measured = {.flops_per_s = 59.2e9}, .fitted_on = {}});
  EXPECT_DOUBLE_EQ(slow.seconds.constant(), 2 * as_usual.seconds.constant());
  for (size_t r = 0; r < kResources; ++r)
    EXPECT_EQ(slow.shares[r].constant(), as_usual.shares[r].constant()) << "nothing to compare levels with";
}

TEST(Roofline, MovesBytesAsMuchFasterAsTheyWereMeasuredBesideTheMachineOfTheFit) {
  using enum Resource;
  // Half the operations a cycle at the same clock, so that cycles are as long.
  const MeasuredRates same = {
      .flops_per_s = 96e9, .l2_bytes_per_s = 120e9, .shared_bytes_per_s = 60e9, .memory_bytes_per_s = 30e9};
  MeasuredRates slow_memory = same;
  slow_memory.memory_bytes_per_s = 1e9;
  // Cycles more for each run of lines stay as they are: the bytes alone take thirty times as long.
  const double bytes_s = 8.0 * (1 << 20) / RooflineConstants().memory_bytes / 3e9;
  EXPECT_NEAR(seconds_of(kMemory, slow_memory, kThere), seconds_of(kMemory, same, kThere) + 29 * bytes_s,
              0.01 * bytes_s);
  for (const Resource other : {kL2, kL3, kMultiplyAdds})
    EXPECT_DOUBLE_EQ(seconds_of(other, slow_memory, kThere), seconds_of(other, same, kThere));
  for (const Resource each : {kL2, kL3, kMemory})
    EXPECT_DOUBLE_EQ(seconds_of(each, same, kThere), seconds_of(each, {.flops_per_s = 96e9}, {}))
        << "on the machine of the fit the constants hold";
}

TEST(Roofline, MovesBytesInTheSameTimeWhateverTheClock) {
  using enum Resource;
  MeasuredRates fast = {.flops_per_s = 96e9, .l2_bytes_per_s = 100e9, .memory_bytes_per_s = 20e9};
  const MeasuredRates slow = fast;
  fast.flops_per_s *= 2;
  RooflineConstants bytes_only;
  bytes_only.memory_run = 0;
  EXPECT_DOUBLE_EQ(seconds_of(kMemory, slow, kThere, bytes_only),
                   seconds_of(kMemory, fast, kThere, bytes_only));
  EXPECT_DOUBLE_EQ(seconds_of(kMultiplyAdds, slow, kThere), 2 * seconds_of(kMultiplyAdds, fast, kThere));
  EXPECT_DOUBLE_EQ(seconds_of(kL3, slow, kThere), 2 * seconds_of(kL3, fast, kThere))
      << "it was not measured: so many bytes a cycle";
}

TEST(Traffic, OfACacheIsByItsOwnRoom) {
  const std::vector<Nest> nests = product_nests(4, 16);
  const Nest& product = nest_of(nests, "t0.acc");
  RooflineConstants constants;
  constants.l2 = {100, 1};
  constants.l2_sets = {1e9, 1};
  constants.shared = {0.1, 0.1};
  // All three matrices fit, a tenth of that does not.
  const double all = line_bytes(product, 0).constant();
  const auto bytes = [&](Level level) { return traffic_of(product, level, all, constants).bytes.constant(); };
  EXPECT_GT(bytes(Level::kShared), 2 * bytes(Level::kL2));
}

TEST(Roofline, RanksWinogradBeforeTheDefinitionWhereItTakesAThirdOfTheProducts) {
  for (const auto& [channels, extent] : {std::pair<int64_t, int64_t>(64, 56), {128, 28}, {256, 14}}) {
    const tensor::Workload workload = convolution(channels, extent);
    const schedule::Schedule direct = recipes::default_schedule(
        {.workload = workload, .ports = channels_innermost(16), .target = znver4()});
    EXPECT_LT(roofline_of(nests_of(workload, winograd(workload, 4)), znver4()).seconds.constant(),
              roofline_of(nests_of(workload, direct), znver4()).seconds.constant())
        << channels;
  }
}

}  // namespace
}  // namespace tf::model
