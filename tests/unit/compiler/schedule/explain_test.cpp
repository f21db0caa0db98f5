// The sentence that each illegal step gets: the step, what is true, what would be legal.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/ops/builder.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/matmul.h"
#include "compiler/schedule/schedule.h"

namespace tf::schedule {
namespace {

using tensor::imm;
using ::testing::HasSubstr;

// p0[10, 8] · p1[8, 12] (t0), + p2 (t1), relu (t2).
tensor::Workload relu_of_product() {
  ops::Builder b;
  auto x = b.input("x", tensor::Element::kFloat32, {imm(10), imm(8)});
  auto w = b.constant("w", tensor::Element::kFloat32, {imm(8), imm(12)});
  auto bias = b.constant("b", tensor::Element::kFloat32, {imm(12)});
  return *b.finish({ops::relu(b, ops::bias_add(b, ops::matmul(b, x, w), bias, 1))});
}

// What apply() says of the last of `steps`; all before it must be legal.
std::string explained(const tensor::Workload& workload, std::vector<std::string> steps) {
  const absl::StatusOr<Schedule> schedule =
      parse_schedule(absl::StrCat("schedule v1\n", absl::StrJoin(steps, "\n")));
  EXPECT_TRUE(schedule.ok()) << schedule.status();
  const absl::Status status = apply(workload, *schedule).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  const std::string message(status.message());
  const std::string start = absl::StrCat("step ", steps.size(), " '", steps.back(), "' is not legal: ");
  EXPECT_THAT(message, testing::StartsWith(start));
  return message.substr(std::min(start.size(), message.size()));
}

std::string explained(std::vector<std::string> steps) {
  return explained(relu_of_product(), std::move(steps));
}

TEST(Explain, NamesTheFactorTheLoopAndItsExtent) {
  EXPECT_EQ(explained({"inline t1", "split t0 i0 4,0 guard"}),
            "factor 0 is out of range: loop i0 of t0 has extent 10; a factor from 1 to 10 is useful; a "
            "larger one only adds masked iterations");
  EXPECT_EQ(explained({"split t0 i0 1073741824,2 guard"}),
            "the product of the factors is out of range: loop i0 of t0 has extent 10; a product of at most "
            "1073741824 is legal");
  EXPECT_EQ(
      explained({"split t2 i0 11 shift"}),
      "loop i0 of t2 has extent 10, less than the tile 11; a shifted tail needs at least one whole tile; "
      "use guard");
  EXPECT_THAT(explained({"split t0 i0 4 shift"}), HasSubstr("t0 is a reduction"));
  EXPECT_EQ(explained({"pragma t0 unroll_limit 5000"}),
            "unroll_limit 5000 is out of range; 0 to 1024 is legal");
  EXPECT_EQ(explained({"storage_align t0 0 0 1"}), "factor 0 is out of range; 1 to 4096 is legal");
  EXPECT_EQ(explained({"storage_align t0 0 8 -1"}), "offset -1 is out of range; 0 to 4096 is legal");
}

TEST(Explain, SaysWhatAPipelineAndARasterNeed) {
  EXPECT_THAT(explained({"pipeline t0 r0 2"}),
              HasSubstr("nothing is copied into shared memory in loop r0 of t0; cache_read what it reads"));
  EXPECT_EQ(explained({"pipeline t0 r0 9"}), "stages 9 is out of range; 1 to 8 is legal");
  EXPECT_EQ(explained({"annotate t0 i1 thread_x", "split t0 r0 4 guard", "cache_read p0 t0 row_major global",
                       "compute_at p0.pack t0 r0.0 shared", "pipeline t0 r0.0 2", "annotate t0 r0.0 unroll"}),
            "loop r0.0 of t0 is a pipeline, whose iterations follow one another: it stays serial");
  EXPECT_THAT(explained({"annotate t0 i0 grid_x", "raster t0 2"}),
              HasSubstr("t0 has no grid_x loop and grid_y loop"));
  EXPECT_THAT(explained({"annotate t1 i0 grid_y", "annotate t1 i1 grid_x", "raster t1 2",
                         "compute_at t0 t1 i0 register"}),
              HasSubstr("between the two grid loops"));
  EXPECT_EQ(explained({"raster t0 0"}), "group 0 is out of range; 1 to 64 is legal");
}

TEST(Explain, ListsWhatAnUnknownNameCouldBe) {
  EXPECT_EQ(explained({"split t9 i0 2 guard"}), "there is no stage t9; there are t0, t1, t2");
  EXPECT_EQ(explained({"split p0 i0 2 guard"}), "there is no stage p0; there are t0, t1, t2");
  EXPECT_EQ(explained({"layout_rewrite p9 1,0"}),
            "there is no stage or input p9; there are p0, p1, p2, t0, t1, t2");
  EXPECT_EQ(explained({"inline t1", "compute_at t0 t1 i0 global"}),
            "t1 was inlined by an earlier step and is no longer a stage");
  EXPECT_EQ(explained({"split t0 i0 2 guard", "split t0 i0 2 guard"}),
            "t0 has no loop i0 at this point; it has i0.0 (extent 5), i0.1 (extent 2), i1 (extent 12), r0 "
            "(extent 8)");
  EXPECT_THAT(explained({"inline t1", "compute_at t0 t2 r0 global"}), HasSubstr("t2 has no loop r0"));
}

TEST(Explain, ListsTheLoopsThatAnOrderOrAFusionIsOf) {
  const std::string loops = "i0 (extent 10), i1 (extent 12), r0 (extent 8)";
  EXPECT_EQ(explained({"fuse t0 i0"}), "fuse needs two or more neighbouring loops");
  EXPECT_EQ(explained({"fuse t0 i1,i0"}),
            "i1,i0 are not neighbours in this order; t0 has, outermost first: " + loops + "; reorder first");
  EXPECT_THAT(explained({"fuse t0 i1,r0"}), HasSubstr("not of one kind"));
  EXPECT_EQ(explained({"reorder t0 i0,i1"}),
            "the order must name each loop of t0 exactly once; it has: " + loops);
  EXPECT_THAT(explained({"split t0 i0 2 guard", "cache_write t0"}),
              HasSubstr("t0 now has the loops i0.0 (extent 5)"));
  EXPECT_EQ(explained({"rfactor t0 i0"}),
            "i0 is a spatial loop; rfactor needs a reduce loop; t0 has: " + loops);
}

TEST(Explain, SaysWhichLoopCannotRunThatWay) {
  EXPECT_EQ(explained({"inline t1", "annotate t0 r0 parallel"}),
            "iterations of the reduce loop r0 depend on each other; rfactor it first, and annotate the new "
            "spatial loop");
  EXPECT_EQ(explained({"fuse t2 i0,i1", "annotate t2 i0*i1 vectorize"}),
            "loop i0*i1 has extent 120; a vectorized loop has at most 64 iterations; split it first");
  EXPECT_EQ(
      explained({"annotate t2 i0 vectorize"}),
      "loop i0 is not innermost; t2 has, outermost first: i0 (extent 10), i1 (extent 12); vectorize the "
      "innermost loop, or reorder first");
  EXPECT_EQ(explained({"annotate t2 i1 vectorize", "reorder t2 i1,i0"}),
            "loop i1 of t2 is vectorized and must stay innermost");
  EXPECT_THAT(explained({"annotate t2 i1 vectorize", "inline t1", "compute_at t0 t2 i1 global"}),
              HasSubstr("loop i1 of t2 is vectorized: nothing can be computed inside it"));
  EXPECT_EQ(explained({"annotate t2 i0 parallel", "annotate t2 i1 parallel"}),
            "loop i0 of t2 is already parallel; a stage can have one parallel loop: fuse the two first");
}

TEST(Explain, LimitsUnrollingByTheLoopsExtent) {
  ops::Builder b;
  auto x = b.input("x", tensor::Element::kFloat32, {imm(300)});
  EXPECT_EQ(explained(*b.finish({ops::relu(b, x)}), {"annotate t0 i0 unroll"}),
            "loop i0 of t0 has extent 300; a loop of at most 256 iterations can be unrolled; split it first");
}

TEST(Explain, ComparesThreadsWithThoseOfTheLoopAround) {
  EXPECT_EQ(
      explained({"inline t1", "split t2 i1 4 guard", "annotate t2 i1.1 thread_x",
                 "compute_at t0 t2 i0 global", "annotate t0 i1 thread_x"}),
      "t0 is computed inside loop i0 of t2, which no loop of the same thread axis surrounds; annotate one "
      "there first");
  EXPECT_EQ(
      explained({"inline t1", "split t2 i1 4 guard", "reorder t2 i1.1,i0,i1.0", "annotate t2 i1.1 thread_x",
                 "compute_at t0 t2 i1.1 shared", "annotate t0 i1 thread_x"}),
      "loop i1 of t0 has extent 12, but the thread loop i1.1 of t2 around it has only 4; split it first");
}

TEST(Explain, SaysWhereAStageIsComputed) {
  const std::string at = "compute_at t0 t2 i0 global";
  EXPECT_EQ(explained({at}),
            "t1 reads t0 and is not computed inside loop i0 of t2; inline it or compute it there first");
  EXPECT_EQ(explained({"inline t1", at, "compute_at t0 t2 i1 global"}),
            "t0 is computed inside loop i0 of t2; this step needs a stage at root: `root t0` first");
  EXPECT_EQ(explained({"root t0"}), "t0 is already at root; root needs a stage that compute_at placed");
  EXPECT_EQ(explained({"inline t1", at, "split t2 i0 2 guard"}),
            "t0 is computed inside loop i0 of t2: the loops down to that one are fixed now; put this step "
            "before `compute_at t0`, or `root t0` first");
  EXPECT_THAT(explained({"inline t1", at, "cache_write t2"}),
              HasSubstr("t0 is computed inside loop i0 of t2"));
  EXPECT_EQ(
      explained({"inline t1", at, "annotate t0 i0 parallel"}),
      "t0 is computed inside loop i0 of t2; only loops of a stage at root can be parallel or of the grid");
  EXPECT_THAT(explained({"inline t1", "annotate t0 i0 parallel", at}), HasSubstr("a loop of t0 is parallel"));
  EXPECT_EQ(
      explained({"compute_at t1 t0 i0 global"}),
      "t0 does not come after t1 in the workload; a stage is computed inside a later stage that reads it");
  EXPECT_EQ(explained({"cache_read p0 t2 row_major global"}), "t2 does not read p0; t0 does");
}

TEST(Explain, GivesTheBytesThatAScopeCannotHold) {
  ops::Builder b;
  auto x = b.input("x", tensor::Element::kFloat32, {imm(64), imm(128)});
  const tensor::Workload workload = *b.finish({ops::relu(b, ops::relu(b, x))});
  EXPECT_EQ(
      explained(workload, {"reorder t1 i1,i0", "split t1 i1 128 guard", "compute_at t0 t1 i1.0 register"}),
      "one iteration of loop i1.0 needs 64 x 128 elements of t0, of 4 bytes each; registers hold at most "
      "16384 bytes; choose a loop further inside, or scope global");
  EXPECT_THAT(explained(workload, {"compute_at t0 t1 i0 fragment"}),
              HasSubstr("a fragment is held by the 32 lanes of a warp"));
  EXPECT_THAT(explained(workload, {"cache_read p0 t0 row_major register"}), HasSubstr("global memory"));
}

TEST(Explain, SaysWhatALayoutMustNameAndWhichBufferMayHaveOne) {
  EXPECT_EQ(explained({"layout_rewrite p2 1,0"}),
            "the layout does not fit p2, which has 1 axis: name each of 0 to 0 once without a block, as in "
            "0,1,2,3,1:16; blocks are 1 to 4096");
  EXPECT_EQ(explained({"storage_align t0 1 16 1"}), "axis 1 of t0 is not the last but one; axis 0 is legal");
  EXPECT_THAT(explained({"layout_rewrite t0 1,0", "storage_align t0 0 16 1"}),
              HasSubstr("layout of its own"));
  EXPECT_THAT(explained({"storage_align t0 0 16 1", "layout_rewrite t0 1,0"}), HasSubstr("padded pitch"));
  EXPECT_THAT(explained({"layout_rewrite p0 1,0"}), HasSubstr("p0 is not a constant"));
  EXPECT_THAT(explained({"layout_rewrite t2 1,0"}), HasSubstr("t2 is an output"));
}

TEST(Explain, SaysWhatTheRewritingStepsNeed) {
  EXPECT_THAT(explained({"inline t0"}), HasSubstr("t0 is a reduction"));
  EXPECT_THAT(explained({"winograd t0 4"}), HasSubstr("t0 is not a 3x3 or 5x5 convolution"));
  EXPECT_EQ(explained({"winograd t0 3"}), "tile 3 is out of range; 2, 4 and 6 are legal");
  EXPECT_THAT(explained({"narrow p0 bf16"}), HasSubstr("p0 cannot be narrowed"));
  EXPECT_THAT(explained({"offset t0 p0 128"}), HasSubstr("t0 is not a sum of byte products in which p0"));
  EXPECT_THAT(explained({"split t0 i0 $0.0 guard"}), HasSubstr("fill in the sketch first"));
}

TEST(Explain, LimitsTheNumberOfSteps) {
  std::vector<std::string> steps(kMaxSteps + 1, "annotate t0 i0 serial");
  EXPECT_EQ(explained(steps), "a schedule has at most 1000 steps");
}

// Names of every kind in every place, also such as do not exist there, in all orders that come by chance.
std::string random_step(std::mt19937_64& random) {
  const auto one_of = [&](std::vector<std::string> words) { return words[random() % words.size()]; };
  const auto stage = [&] {
    return one_of({"t0", "t1", "t2", "t0.acc", "t0.rf", "p0.pack", "p0", "p1", "t9"});
  };
  const auto loop = [&] {
    return one_of({"i0", "i1", "r0", "i0.0", "i0.1", "i1.0", "i1.1", "r0.0", "i0*i1", "i9"});
  };
  const auto loops = [&] {
    return one_of({"i0,i1", "i1,i0", "i0,i1,r0", "r0,i1,i0", "i0", "i0,r0", "i1,r0"});
  };
  const auto number = [&] { return one_of({"-1", "0", "1", "2", "4", "7", "128", "5000", "2000000000"}); };
  const auto layout = [&] { return one_of({"row_major", "0", "1,0", "0,1,1:4", "0,1:5000,1", "0,1,2"}); };
  const auto scope = [&] { return one_of({"global", "register", "shared", "fragment"}); };
  switch (random() % 16) {
    case 0:
      return absl::StrCat("split ", stage(), " ", loop(), " ", number(), one_of({" guard", " shift"}));
    case 1:
      return absl::StrCat("fuse ", stage(), " ", loops());
    case 2:
      return absl::StrCat("reorder ", stage(), " ", loops());
    case 3:
    case 4:
    case 5:
      return absl::StrCat("annotate ", stage(), " ", loop(), " ",
                          one_of({"serial", "parallel", "vectorize", "unroll", "grid_x", "thread_x"}));
    case 6:
    case 7:
      return absl::StrCat("compute_at ", stage(), " ", stage(), " ", loop(), " ", scope());
    case 8:
      return absl::StrCat(one_of({"inline ", "root ", "cache_write "}), stage());
    case 9:
      return absl::StrCat("cache_read ", stage(), " ", stage(), " ", layout(), " ", scope());
    case 10:
      return absl::StrCat("rfactor ", stage(), " ", loop());
    case 11:
      return absl::StrCat("layout_rewrite ", stage(), " ", layout());
    case 12:
      return absl::StrCat("storage_align ", stage(), " ", number(), " ", number(), " ", number());
    case 13:
      return absl::StrCat("pragma ", stage(), " unroll_limit ", number());
    case 14:
      return absl::StrCat("narrow ", stage(), one_of({" bf16", " f16"}));
    default:
      return one_of(
          {absl::StrCat("winograd ", stage(), " ", number()),
           absl::StrCat("offset ", stage(), " ", stage(), " ", number()),
           absl::StrCat("matrices ", stage(), one_of({" i0 r0", " i0,i1 r0", " i1 r0"}), " turned ",
                        number()),
           absl::StrCat("tensorize ", stage(), " ", loop(), one_of({" mma_m16n8k16_f16", " mma"}))});
  }
}

TEST(Explain, HasALineForWhateverStepIsRefused) {
  std::mt19937_64 random(7);
  std::set<Illegal> reasons;
  for (int run = 0; run < 2000; ++run) {
    State state(relu_of_product());
    for (int i = 0; i < 12; ++i) {
      const Step step = parse_schedule("schedule v1\n" + random_step(random)).value().steps[0];
      const std::optional<StepError> error = state.apply(step);
      if (!error) continue;
      reasons.insert(error->reason);
      const std::string line = explain(*error, step, state);
      EXPECT_THAT(line, HasSubstr("' is not legal: "));
      EXPECT_EQ(line.find('\n'), std::string::npos) << line;
      EXPECT_EQ(line.find("  "), std::string::npos) << line;
    }
  }
  EXPECT_GE(reasons.size(), 20u) << "the steps are too much alike";
}

}  // namespace
}  // namespace tf::schedule
