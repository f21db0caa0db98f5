// Schedules in, loop IR out: each case's NAME.ir holds the workload, the schedule, and the function after
// building loops and after the last pass. TF_UPDATE_GOLDEN=1 writes the files anew.

#include <gtest/gtest.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "base/files/file.h"
#include "compiler/ir/print.h"
#include "compiler/ops/builder.h"
#include "compiler/ops/convolution.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/matmul.h"
#include "compiler/ops/movement.h"
#include "compiler/passes/lower.h"
#include "tests/support/ir/ir_checks.h"

namespace tf::passes {
namespace {

using tensor::Element;
using tensor::imm;

void check_golden(const std::string& name, const tensor::Workload& workload, const std::string& steps,
                  const tensor::PortLayouts& ports = {}, const Pipeline& pipeline = cpu_pipeline()) {
  const absl::StatusOr<schedule::Schedule> schedule = schedule::parse_schedule("schedule v1\n" + steps);
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  std::string text = absl::StrCat(tensor::canonical_text(workload), "\n", to_string(*schedule));
  LowerOptions options{.pipeline = pipeline};
  options.after = [&](std::string_view pass, const ir::Function& function) {
    test::check_round_trip(function);
    if (pass == "build_loops") absl::StrAppend(&text, "\n", ir::to_string(function));
  };
  const absl::StatusOr<Lowered> lowered = lower(workload, *schedule, ports, options);
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  absl::StrAppend(&text, "\n", ir::to_string(lowered->function));

  const std::string path = absl::StrCat(TF_SOURCE_DIR, "/tests/golden/lowering/", name, ".ir");
  if (std::getenv("TF_UPDATE_GOLDEN")) {
    ASSERT_TRUE(write_file(path, text).ok());
    return;
  }
  const absl::StatusOr<std::string> golden = read_file(path);
  ASSERT_TRUE(golden.ok()) << golden.status() << "; run with TF_UPDATE_GOLDEN=1";
  EXPECT_EQ(text, *golden) << "run with TF_UPDATE_GOLDEN=1 if this is what it should be";
}

tensor::Workload dense_relu(int64_t m, int64_t n, int64_t k) {
  ops::Builder b;
  auto x = b.input("x", Element::kFloat32, {imm(m), imm(k)});
  auto w = b.constant("w", Element::kFloat32, {imm(k), imm(n)});
  return *b.finish({ops::relu(b, ops::matmul(b, x, w))});
}

tensor::Workload doubled(int64_t n) {
  ops::Builder b;
  auto x = b.input("x", Element::kFloat32, {imm(n)});
  return *b.finish({ops::binary(b, ops::BinaryKind::kMul, x, 2.0)});
}

TEST(GoldenLowering, GuardsATailThatDoesNotDivide) {
  check_golden("guarded_tail", doubled(10), "split t0 i0 4 guard\n");
}

TEST(GoldenLowering, ShiftsATailInsteadOfGuardingIt) {
  check_golden("shifted_tail", doubled(10), "split t0 i0 4 shift\nannotate t0 i0.1 vectorize\n");
}

TEST(GoldenLowering, MasksAVectorTail) {
  check_golden("masked_vector", doubled(10), "split t0 i0 4 guard\nannotate t0 i0.1 vectorize\n");
}

TEST(GoldenLowering, PartsTheLastLanesOfThreads) {
  check_golden("parted_lanes", doubled(10),
               "split t0 i0 2,4 guard\nannotate t0 i0.0 grid_x\nannotate t0 i0.1 thread_x\n"
               "annotate t0 i0.2 vectorize\n",
               {}, gpu_pipeline());
}

TEST(GoldenLowering, BranchesInsideAParallelLoop) {
  check_golden("parallel_tail", doubled(10), "split t0 i0 4 guard\nannotate t0 i0.0 parallel\n");
}

TEST(GoldenLowering, KeepsARegisterTileInConstantPlaces) {
  check_golden("register_tile", dense_relu(4, 8, 3),
               "layout_rewrite p1 1,0,1:4\nsplit t1 i0 2 guard\nsplit t1 i1 4 guard\n"
               "reorder t1 i0.0,i1.0,i0.1,i1.1\nannotate t1 i0.1 unroll\nannotate t1 i1.1 vectorize\n"
               "compute_at t0 t1 i1.0 register\nreorder t0 r0,i0,i1\nannotate t0 i0 unroll\n"
               "annotate t0 i1 vectorize\n");
}

TEST(GoldenLowering, TilesOfABlockBeyondTheEdgeAreNotComputed) {
  // 9 rows in blocks of 4 tiles of 2 rows: the second block has half a tile.
  check_golden("edge_of_blocks", dense_relu(9, 4, 3),
               "split t1 i0 4,2 guard\nreorder t1 i0.0,i0.1,i0.2,i1\nannotate t1 i0.2 unroll\n"
               "annotate t1 i1 vectorize\ncompute_at t0 t1 i0.1 register\nreorder t0 r0,i0,i1\n"
               "annotate t0 i0 unroll\nannotate t0 i1 vectorize\n");
}

TEST(GoldenLowering, TheLastVectorOfARegisterTileIsNarrower) {
  check_golden("narrow_vector", dense_relu(2, 20, 3),
               "split t1 i1 1,16 guard\nreorder t1 i1.0,i0,i1.1,i1.2\nannotate t1 i0 unroll\n"
               "annotate t1 i1.1 unroll\nannotate t1 i1.2 vectorize\ncompute_at t0 t1 i1.0 register\n"
               "split t0 i1 16 guard\nreorder t0 r0,i0,i1.0,i1.1\nannotate t0 i0 unroll\n"
               "annotate t0 i1.0 unroll\nannotate t0 i1.1 vectorize\n");
}

TEST(GoldenLowering, PartialResultsOfASplitReduction) {
  check_golden("rfactor", dense_relu(2, 3, 8), "split t0 r0 4 guard\nrfactor t0 r0.0\n");
}

TEST(GoldenLowering, FoldsTheLanesOfAReduction) {
  check_golden("folded_lanes", dense_relu(2, 3, 10), "split t0 r0 4 guard\nannotate t0 r0.1 vectorize\n");
}

TEST(GoldenLowering, PacksAnInputForItsReader) {
  check_golden("cache_read", dense_relu(4, 4, 4),
               "cache_read p0 t0 1,0 global\ncompute_at p0.pack t0 i0 global\n");
}

TEST(GoldenLowering, PaddingIsInlinedAsPredicatesAndPeeled) {
  ops::Builder b;
  auto x = b.input("x", Element::kFloat32, {imm(1), imm(1), imm(8), imm(8)});
  auto w = b.constant("w", Element::kFloat32, {imm(1), imm(1), imm(3), imm(3)});
  check_golden("inlined_padding", *b.finish({ops::conv(b, x, w, {.pads_begin = {1, 1}, .pads_end = {1, 1}})}),
               "inline t0\n");
}

TEST(GoldenLowering, BlockedPortsGiveContiguousVectors) {
  ops::Builder b;
  auto x = b.input("x", Element::kFloat32, {imm(1), imm(8), imm(2), imm(2)});
  const tensor::Layout blocked = tensor::Layout::parse("0,1,2,3,1:4", 4).value();
  check_golden("blocked_ports", *b.finish({ops::relu(b, x)}),
               "split t0 i1 4 guard\nreorder t0 i0,i1.0,i2,i3,i1.1\nannotate t0 i1.1 vectorize\n",
               {{blocked}, {blocked}});
}

TEST(GoldenLowering, LanesOwnTheirPartsOfFragments) {
  ops::Builder b;
  auto x = b.input("x", Element::kFloat16, {imm(16), imm(40)});
  auto w = b.constant("w", Element::kFloat16, {imm(40), imm(7)});
  check_golden("matrix_instruction", *b.finish({ops::matmul(b, x, w)}),
               "split t1 i0 1,1,2,8 guard\nsplit t1 i1 1,1,4,2 guard\n"
               "reorder t1 i0.0,i1.0,i0.1,i1.1,i0.4,i1.3,i0.2,i1.2,i0.3,i1.4\nfuse t1 i0.4,i1.3\n"
               "annotate t1 i0.4*i1.3 thread_x\ncompute_at t0 t1 i0.4*i1.3 fragment\nsplit t0 r0 16 guard\n"
               "split t0 i0 16 guard\nsplit t0 i1 8 guard\nreorder t0 r0.0,i0.0,i1.0,i0.1,i1.1,r0.1\n"
               "cache_read p0 t0 row_major global\ncache_read p0.pack t0 row_major global\n"
               "compute_at p0.pack.pack t0 r0.0 fragment\ncompute_at p0.pack t0 r0.0 shared\n"
               "cache_read p1 t0 row_major global\ncache_read p1.pack t0 row_major global\n"
               "compute_at p1.pack.pack t0 r0.0 fragment\ncompute_at p1.pack t0 r0.0 shared\n"
               "tensorize t0 i0.1 mma_m16n8k16_f16\n",
               {}, gpu_pipeline());
}

TEST(GoldenLowering, LoadsShiftedChannelsOfBlocksInRuns) {
  ops::Builder b;
  auto x = b.input("x", Element::kFloat32, {imm(1), imm(8), imm(2), imm(2)});
  const tensor::Layout blocked = tensor::Layout::parse("0,1,2,3,1:4", 4).value();
  check_golden("shifted_channels", *b.finish({ops::slice(b, x, {{1}, {1}, {4}, {1}})}),
               "reorder t0 i0,i2,i3,i1\nannotate t0 i1 vectorize\n", {{blocked}, {blocked}});
}

}  // namespace
}  // namespace tf::passes
