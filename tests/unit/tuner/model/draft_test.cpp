// What the draft model counts, and what it ranks first.

#include "tuner/model/draft.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "compiler/ops/builder.h"
#include "compiler/ops/convolution.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/matmul.h"
#include "compiler/schedule/default_schedule.h"
#include "compiler/schedule/winograd_tiling.h"
#include "tuner/model/nest.h"

namespace tf::model {
namespace {

using tensor::Element;
using tensor::imm;

target::Target znver4() {
  return target::parse_target("x86_64:cpu=znver4").value();
}

schedule::PortLayouts channels_innermost() {
  const tensor::Layout layout{{{0, 0}, {1, 0}, {2, 0}, {3, 0}, {1, 16}}};
  return {{layout}, {layout}};
}

tensor::Workload convolution(int64_t channels, int64_t extent) {
  ops::Builder b;
  auto x = b.input("x", Element::kFloat32, {imm(1), imm(channels), imm(extent), imm(extent)});
  auto w = b.constant("w", Element::kFloat32, {imm(channels), imm(channels), imm(3), imm(3)});
  return *b.finish({ops::relu(
      b, ops::conv(b, x, w, {.strides = {1, 1}, .pads_begin = {1, 1}, .pads_end = {1, 1}, .groups = 1}))});
}

schedule::Schedule winograd(const tensor::Workload& workload, int64_t tile) {
  const schedule::Structure structure = schedule::structure_of(workload);
  const schedule::WinogradFrame frame =
      *schedule::winograd_frame(workload, structure, channels_innermost(), znver4(), tile);
  schedule::Schedule result;
  schedule::append_winograd(frame, schedule::default_winograd_tiling(frame, znver4(), 1), result.steps);
  return result;
}

std::vector<Nest> nests_of(const tensor::Workload& workload, const schedule::Schedule& schedule) {
  return summarize(schedule::apply(workload, schedule).value(), channels_innermost(), 16);
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

// Products of 512 x 512 matrices, rows of `rows` by one vector a tile, `blocks` tiles a block.
schedule::Schedule product_schedule(int64_t blocks, int64_t rows) {
  const std::string text = absl::StrCat(
      "schedule v1\ncache_write t0\nsplit t0 i0 ", blocks, ",", rows,
      " guard\nsplit t0 i1 4,1,16 guard\nreorder t0 i0.0,i1.0,i1.1,i0.1,i0.2,i1.2,i1.3\n"
      "annotate t0 i0.2 unroll\nannotate t0 i1.2 unroll\nannotate t0 i1.3 vectorize\n"
      "compute_at t0.acc t0 i0.1 register\nsplit t0.acc r0 8 guard\nsplit t0.acc i1 16 guard\n"
      "reorder t0.acc r0.0,r0.1,i0,i1.0,i1.1\nannotate t0.acc i0 unroll\nannotate t0.acc i1.0 unroll\n"
      "annotate t0.acc i1.1 vectorize\npragma t0.acc unroll_limit 0\n");
  return schedule::parse_schedule(text).value();
}

std::vector<Nest> product_nests(int64_t blocks, int64_t rows) {
  ops::Builder b;
  auto x = b.input("x", Element::kFloat32, {imm(512), imm(512)});
  auto w = b.input("w", Element::kFloat32, {imm(512), imm(512)});
  const tensor::Workload workload = *b.finish({ops::matmul(b, x, w)});
  return summarize(schedule::apply(workload, product_schedule(blocks, rows)).value(), {}, 16);
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

TEST(Draft, IsNearThePipesOwnTimeForTilesThatFillTheRegisters) {
  // 2^27 multiply-adds, 16 at a time, one a cycle.
  const double ideal = 8388608 / 3.7e9;
  const double seconds = draft_of(product_nests(4, 16), znver4(), 1).seconds.constant();
  EXPECT_GT(seconds, ideal);
  EXPECT_LT(seconds, 1.15 * ideal);
}

TEST(Draft, ChargesFewAccumulatorsTheWaitForThemselves) {
  const double full = draft_of(product_nests(4, 16), znver4(), 1).seconds.constant();
  const double few = draft_of(product_nests(32, 2), znver4(), 1).seconds.constant();
  EXPECT_GT(few, 1.8 * full);
}

TEST(Draft, SaysWhatBoundsIt) {
  const Draft draft = draft_of(product_nests(4, 16), znver4(), 1);
  const auto share = [&](Resource resource) {
    return draft.shares[static_cast<size_t>(resource)].constant();
  };
  EXPECT_GT(share(Resource::kMultiplyAdds), 0.85);
  EXPECT_LT(share(Resource::kLoads), share(Resource::kMultiplyAdds));
}

TEST(Draft, RanksWinogradBeforeTheDefinitionWhereItTakesAThirdOfTheProducts) {
  for (const auto& [channels, extent] : {std::pair<int64_t, int64_t>(64, 56), {128, 28}, {256, 14}}) {
    const tensor::Workload workload = convolution(channels, extent);
    const schedule::Schedule direct = schedule::default_schedule(workload, channels_innermost(), znver4(), 1);
    EXPECT_LT(draft_of(nests_of(workload, winograd(workload, 4)), znver4(), 1).seconds.constant(),
              draft_of(nests_of(workload, direct), znver4(), 1).seconds.constant())
        << channels;
  }
}

}  // namespace
}  // namespace tf::model
