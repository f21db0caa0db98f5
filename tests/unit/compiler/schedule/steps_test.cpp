// Each step's effect on the state and each reason that makes it illegal.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "compiler/ops/builder.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/matmul.h"
#include "compiler/schedule/schedule.h"
#include "compiler/tensor/text.h"

namespace tf::schedule {
namespace {

using tensor::imm;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// p0[10, 8] · p1[8, 12] (t0), + p2 (t1), relu (t2).
tensor::Workload dense() {
  ops::Builder b;
  auto x = b.input("x", tensor::Element::kFloat32, {imm(10), imm(8)});
  auto w = b.constant("w", tensor::Element::kFloat32, {imm(8), imm(12)});
  auto bias = b.constant("b", tensor::Element::kFloat32, {imm(12)});
  return *b.finish({ops::relu(b, ops::bias_add(b, ops::matmul(b, x, w), bias, 1))});
}

Schedule parsed(std::string_view steps) {
  absl::StatusOr<Schedule> schedule =
      parse_schedule(absl::StrCat("schedule v1\n", absl::string_view(steps.data(), steps.size())));
  EXPECT_TRUE(schedule.ok()) << schedule.status();
  return *std::move(schedule);
}

State after(std::string_view steps) {
  absl::StatusOr<State> state = apply(dense(), parsed(steps));
  EXPECT_TRUE(state.ok()) << state.status();
  return *std::move(state);
}

// The reason why the last step is illegal; all before it must be legal.
std::optional<Illegal> reason_of(std::string_view steps) {
  const Schedule schedule = parsed(steps);
  State state(dense());
  for (size_t i = 0; i < schedule.steps.size(); ++i)
    if (std::optional<StepError> error = state.apply(schedule.steps[i])) {
      EXPECT_EQ(error->step, static_cast<int>(i));
      EXPECT_EQ(i + 1, schedule.steps.size()) << explain(*error, schedule.steps[i], state);
      return error->reason;
    }
  return std::nullopt;
}

// What a person is told of it.
std::string why(const std::string& steps) {
  return std::string(apply(dense(), parsed(steps)).status().message());
}

std::vector<std::string> loops_of(const State& state, std::string_view stage) {
  std::vector<std::string> out;
  for (const Loop& loop : state.data().find_stage(stage)->loops)
    out.push_back(absl::StrCat(loop.name, ":", static_cast<int64_t>(loop.extent)));
  return out;
}

TEST(State, StartsWithOneLoopAnAxis) {
  EXPECT_THAT(loops_of(after(""), "t0"), ElementsAre("i0:10", "i1:12", "r0:8"));
  EXPECT_THAT(loops_of(after(""), "t2"), ElementsAre("i0:10", "i1:12"));
}

// Of rows that a named dimension counts.
tensor::Workload rows(int64_t most) {
  return *tensor::parse_workload(
      absl::StrCat("workload v1\ndim d0 in 1..", most,
                   "\ninput p0: f32[d0, 24]\n"
                   "stage t0: f32[i0 < d0, i1 < 24] = p0[i0, i1] + 1f32\noutput t0\n"));
}

TEST(OpenDimension, GuardsATailWhateverTheTailWasToBe) {
  for (const char* tail : {"guard", "shift"}) {
    const auto state =
        apply(rows(64), *parse_schedule(absl::StrCat("schedule v1\nsplit t0 i0 8 ", tail, "\n")));
    ASSERT_TRUE(state.ok()) << state.status();
    EXPECT_EQ(state->stages()[0].guards.size(), 1u);
    EXPECT_TRUE(state->stages()[0].loops[0].extent.is_open());
    EXPECT_EQ(state->stages()[0].loops[1].extent, 8);
  }
}

TEST(OpenDimension, RefusesAStepThatIsLegalForSomeSizesOnly) {
  const Schedule schedule = *parse_schedule("schedule v1\nreorder t0 i1,i0\nannotate t0 i0 vectorize\n");
  const absl::Status refused = apply(rows(1024), schedule).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.message(), HasSubstr("legal for some sizes only"));
}

TEST(State, StaysAsItIsAfterAnIllegalStep) {
  State state(dense());
  EXPECT_TRUE(state.apply(Split{"t0", "i7", {2}}));
  EXPECT_TRUE(state.apply(CacheWrite{"t9"}));
  EXPECT_THAT(loops_of(state, "t0"), ElementsAre("i0:10", "i1:12", "r0:8"));
}

TEST(Split, GivesTheOutermostLoopWhatIsLeftRoundedUp) {
  const State state = after("split t0 i0 2,2 guard");
  EXPECT_THAT(loops_of(state, "t0"), ElementsAre("i0.0:3", "i0.1:2", "i0.2:2", "i1:12", "r0:8"));
  EXPECT_EQ(state.data().find_stage("t0")->guards.size(), 1u);
}

TEST(Split, NeedsNoGuardWhereFactorsDivideOrTilesShift) {
  EXPECT_TRUE(after("split t0 i1 4 guard").data().find_stage("t0")->guards.empty());
  EXPECT_TRUE(after("split t2 i0 4 shift").data().find_stage("t2")->guards.empty());
}

TEST(Split, RejectsWhatItCannotDo) {
  EXPECT_EQ(reason_of("split t9 i0 2 guard"), Illegal::kUnknownStage);
  EXPECT_EQ(reason_of("split t0 i2 2 guard"), Illegal::kUnknownLoop);
  EXPECT_EQ(reason_of("split t0 i0 0 guard"), Illegal::kBadFactor);
  EXPECT_EQ(reason_of("split t0 i0 1073741824,1073741824,1073741824 guard"), Illegal::kBadFactor);
  EXPECT_EQ(reason_of("split t0 i0 $0.1 guard"), Illegal::kOpenSize);
  EXPECT_EQ(reason_of("split t0 i0 4 shift"), Illegal::kShiftTail);
  EXPECT_EQ(reason_of("split t2 i0 11 shift"), Illegal::kShiftTail);
}

TEST(Fuse, JoinsNeighboursOfOneKind) {
  EXPECT_THAT(loops_of(after("fuse t2 i0,i1"), "t2"), ElementsAre("i0*i1:120"));
  EXPECT_EQ(reason_of("fuse t0 i1,r0"), Illegal::kMixedFuse);
  EXPECT_EQ(reason_of("fuse t0 i1,i0"), Illegal::kNotAdjacent);
  EXPECT_EQ(reason_of("fuse t0 i0"), Illegal::kNotAdjacent);
  EXPECT_EQ(reason_of("fuse t0 i0,i9"), Illegal::kUnknownLoop);
}

TEST(Reorder, TakesEveryLoopOnce) {
  EXPECT_THAT(loops_of(after("reorder t0 r0,i1,i0"), "t0"), ElementsAre("r0:8", "i1:12", "i0:10"));
  EXPECT_EQ(reason_of("reorder t0 r0,i1"), Illegal::kIncompleteOrder);
  EXPECT_EQ(reason_of("reorder t0 r0,i1,i1"), Illegal::kIncompleteOrder);
  EXPECT_EQ(reason_of("annotate t2 i1 vectorize\nreorder t2 i1,i0"), Illegal::kNotInnermost);
}

TEST(Annotate, KeepsVectorsInnermostAndThreadsOutOfReductions) {
  EXPECT_EQ(reason_of("annotate t2 i1 vectorize"), std::nullopt);
  EXPECT_EQ(reason_of("annotate t2 i0 vectorize"), Illegal::kNotInnermost);
  EXPECT_EQ(reason_of("annotate t0 r0 vectorize"), std::nullopt);
  EXPECT_EQ(reason_of("annotate t0 r0 parallel"), Illegal::kReductionParallel);
  EXPECT_EQ(reason_of("fuse t2 i0,i1\nannotate t2 i0*i1 vectorize"), Illegal::kVectorExtent);
  EXPECT_EQ(reason_of("annotate t2 i0 parallel\nannotate t2 i1 parallel"), Illegal::kNestedParallel);
  EXPECT_EQ(reason_of("inline t1\ncompute_at t0 t2 i0 global\nannotate t0 i0 parallel"),
            Illegal::kNestedParallel);
}

TEST(ComputeAt, GivesTheStageTheRegionThatOneIterationNeeds) {
  const State state = after(
      "inline t1\nsplit t2 i0 4 guard\nsplit t2 i1 6 guard\nreorder t2 i0.0,i1.0,i0.1,i1.1\n"
      "compute_at t0 t2 i1.0 register");
  EXPECT_THAT(loops_of(state, "t0"), ElementsAre("i0:4", "i1:6", "r0:8"));
  const StageState* stage = state.data().find_stage("t0");
  EXPECT_EQ(tensor::to_string(stage->origin[0]), "i0.0 * 4");
  EXPECT_EQ(stage->scope, tensor::Scope::kRegister);
}

TEST(ComputeAt, RejectsPlacesThatDoNotHoldAllReaders) {
  EXPECT_EQ(reason_of("compute_at t0 t2 i0 global"), Illegal::kNoConsumer);  // t1 reads t0 too
  EXPECT_EQ(reason_of("compute_at t2 t1 i0 global"), Illegal::kIsOutput);
  EXPECT_EQ(reason_of("inline t1\nsplit t0 i0 2 guard\ncompute_at t0 t2 i0 global"), Illegal::kAlreadySplit);
  EXPECT_EQ(reason_of("inline t1\ncompute_at t0 t2 i0 global\ncompute_at t0 t2 i1 global"),
            Illegal::kAlreadyPlaced);
  EXPECT_EQ(reason_of("inline t1\ncompute_at t0 t2 i9 global"), Illegal::kUnknownLoop);
  EXPECT_EQ(reason_of("inline t1\ncompute_at t0 t2 i0 fragment"), Illegal::kBadScope);
}

TEST(ComputeAt, HoldsTheLoopsAroundInPlace) {
  const std::string placed = "inline t1\ncompute_at t0 t2 i0 global\n";
  EXPECT_EQ(reason_of(placed + "split t2 i0 2 guard"), Illegal::kHoldsStages);
  EXPECT_EQ(reason_of(placed + "reorder t2 i1,i0"), Illegal::kHoldsStages);
  EXPECT_EQ(reason_of(placed + "fuse t2 i0,i1"), Illegal::kHoldsStages);
  EXPECT_EQ(reason_of(placed + "split t2 i1 4 guard"), std::nullopt);
}

TEST(Root, UndoesComputeAt) {
  const State state = after("inline t1\ncompute_at t0 t2 i0 global\nroot t0");
  EXPECT_THAT(loops_of(state, "t0"), ElementsAre("i0:10", "i1:12", "r0:8"));
  EXPECT_EQ(reason_of("root t0"), Illegal::kAlreadyPlaced);
  EXPECT_EQ(reason_of("inline t1\ncompute_at t0 t2 i0 global\nsplit t0 i1 4 guard\nroot t0"),
            Illegal::kAlreadySplit);
}

TEST(Inline, MovesTheBodyIntoItsReaders) {
  const State state = after("inline t1");
  EXPECT_EQ(state.data().find_stage("t1")->place, StageState::Place::kInlined);
  EXPECT_THAT(tensor::to_string(state.data().find_stage("t2")->stage.body), HasSubstr("+"));
  EXPECT_EQ(reason_of("inline t0"), Illegal::kNotElementwise);
  EXPECT_EQ(reason_of("inline t2"), Illegal::kIsOutput);
  EXPECT_EQ(reason_of("inline t1\nsplit t1 i0 2 guard"), Illegal::kUnknownStage);
}

TEST(CacheWrite, SplitsTheComputationOff) {
  const State state = after("cache_write t0");
  EXPECT_THAT(loops_of(state, "t0.acc"), ElementsAre("i0:10", "i1:12", "r0:8"));
  EXPECT_THAT(loops_of(state, "t0"), ElementsAre("i0:10", "i1:12"));
  EXPECT_EQ(reason_of("split t0 i0 2 guard\ncache_write t0"), Illegal::kAlreadySplit);
}

TEST(CacheRead, MakesTheReaderReadACopy) {
  const State state = after("cache_read p0 t0 1,0 global");
  EXPECT_THAT(loops_of(state, "p0.pack"), ElementsAre("i0:10", "i1:8"));
  EXPECT_EQ(state.data().layouts.at("p0.pack").closed().text(), "1,0");
  EXPECT_EQ(reason_of("cache_read p0 t2 row_major global"), Illegal::kNoConsumer);
  EXPECT_EQ(reason_of("cache_read p0 t0 0 global"), Illegal::kBadLayout);
  EXPECT_EQ(reason_of("cache_read p0 t0 row_major register"), Illegal::kBadScope);
}

TEST(RFactor, MakesThePartialResultsAStage) {
  const State state = after("split t0 r0 4 guard\nrfactor t0 r0.0");
  EXPECT_THAT(loops_of(state, "t0.rf"), ElementsAre("i0:2", "i1:10", "i2:12", "r0:4"));
  EXPECT_THAT(loops_of(state, "t0"), ElementsAre("i0:10", "i1:12", "r0:2"));
  EXPECT_EQ(reason_of("rfactor t0 i0"), Illegal::kNotReduce);
  EXPECT_EQ(reason_of("split t0 i0 2 guard\nrfactor t0 r0"), Illegal::kAlreadySplit);
  EXPECT_EQ(reason_of("split t0 r0 1024 guard\nrfactor t0 r0.1"), std::nullopt);
  EXPECT_THAT(
      why("split t0 r0 1048576 guard\nrfactor t0 r0.1"),
      HasSubstr("loop r0.1 of t0 has extent 1048576; partial results are over at most 1024 iterations"));
}

TEST(LayoutRewrite, IsForConstantsAndTemporaries) {
  EXPECT_EQ(after("layout_rewrite p1 1,0,1:4").data().layouts.at("p1").closed().text(), "1,0,1:4");
  EXPECT_EQ(reason_of("layout_rewrite t0 1,0"), std::nullopt);
  EXPECT_EQ(reason_of("layout_rewrite p0 1,0"), Illegal::kNotConstant);
  EXPECT_EQ(reason_of("layout_rewrite t2 1,0"), Illegal::kIsOutput);
  EXPECT_EQ(reason_of("layout_rewrite p2 1,0"), Illegal::kBadLayout);
  EXPECT_EQ(reason_of("layout_rewrite p1 1,0,1:$0.0"), Illegal::kOpenSize);
}

TEST(StorageAlign, IsForRowMajorTemporaries) {
  EXPECT_EQ(reason_of("storage_align t0 0 16 1"), std::nullopt);
  EXPECT_EQ(reason_of("storage_align t0 1 16 1"), Illegal::kBadLayout);
  EXPECT_EQ(reason_of("storage_align t0 0 0 1"), Illegal::kBadFactor);
  EXPECT_EQ(reason_of("storage_align t2 0 16 1"), Illegal::kIsOutput);
  EXPECT_EQ(reason_of("layout_rewrite t0 1,0\nstorage_align t0 0 16 1"), Illegal::kBadLayout);
}

constexpr char kCopied[] =
    "annotate t0 i1 thread_x\nsplit t0 r0 4 guard\ncache_read p0 t0 row_major global\ncompute_at p0.pack t0 "
    "r0.0 shared\n";

TEST(Pipeline, IsForLoopsThatCopyIntoSharedMemory) {
  const std::string copied = kCopied;
  const State state = after(copied + "pipeline t0 r0.0 3");
  EXPECT_EQ(state.data().find_stage("t0")->pipelined_loop, "r0.0");
  EXPECT_EQ(state.data().copied_in(*state.data().find_stage("t0"), "r0.0").size(), 1u);
  EXPECT_EQ(reason_of(copied + "pipeline t0 r0.0 1"), std::nullopt);
  EXPECT_EQ(reason_of(copied + "pipeline t0 r0.0 0"), Illegal::kBadFactor);
  EXPECT_EQ(reason_of(copied + "pipeline t0 r0.0 9"), Illegal::kBadFactor);
  EXPECT_EQ(reason_of(copied + "pipeline t0 r0.1 2"), Illegal::kNotPipeline);
  EXPECT_EQ(reason_of(copied + "pipeline t0 r1 2"), Illegal::kUnknownLoop);
  EXPECT_EQ(reason_of(copied + "annotate t0 r0.0 unroll\npipeline t0 r0.0 2"), Illegal::kNotPipeline);
  EXPECT_EQ(reason_of("pipeline t0 r0 2"), Illegal::kNotPipeline);
  EXPECT_EQ(reason_of(copied + "pipeline t0 r0.0 $0.0"), Illegal::kOpenSize);
  EXPECT_EQ(reason_of(copied + "pipeline t0 r0.0 3 bulk 0"), std::nullopt);
  EXPECT_EQ(reason_of(copied + "pipeline t0 r0.0 3 bulk 1"), Illegal::kNotBulk);
  EXPECT_EQ(reason_of(copied + "pipeline t0 r0.0 3 bulk 2"), Illegal::kBadFactor);
  EXPECT_EQ(why(copied + "pipeline t0 r0.0 1 bulk 1"),
            "step 5 'pipeline t0 r0.0 1 bulk 1' is not legal: `bulk 1` is for copies ahead, and a pipeline "
            "of 1 stage "
            "has none; "
            "take 2 to 8 stages, or leave it out");
}

TEST(Pipeline, ItsLoopStaysSerial) {
  const std::string copied = kCopied, pipeline = "pipeline t0 r0.0 2\n";
  for (const char* annotation : {"grid_x", "thread_y", "parallel", "unroll", "vectorize"})
    EXPECT_EQ(reason_of(copied + pipeline + "annotate t0 r0.0 " + annotation), Illegal::kNotPipeline)
        << annotation;
  EXPECT_EQ(reason_of(copied + pipeline + "annotate t0 r0.0 serial"), std::nullopt);
  EXPECT_EQ(reason_of(copied + pipeline + "annotate t0 r0.1 unroll"), std::nullopt);
}

TEST(Pipeline, HasRoomForTilesThatJoinIt) {
  ops::Builder b;
  auto x = b.input("x", tensor::Element::kFloat32, {imm(64), imm(512)});
  auto w = b.constant("w", tensor::Element::kFloat32, {imm(512), imm(64)});
  const tensor::Workload workload = *b.finish({ops::matmul(b, x, w)});
  // Each tile has 64 KiB.
  const auto reason = [&](const std::string& stages, bool joins) {
    const std::string pipeline = "pipeline t0 r0.0 " + stages + "\n",
                      right = "compute_at p1.pack t0 r0.0 shared\n";
    const auto state =
        apply(workload, parsed("split t0 r0 256 guard\nreorder t0 r0.0,i0,i1,r0.1\n"
                               "cache_read p0 t0 row_major global\ncache_read p1 t0 row_major global\n"
                               "compute_at p0.pack t0 r0.0 shared\n" +
                               (joins ? pipeline + right : right + pipeline)));
    return std::string(state.status().message());
  };
  for (const bool joins : {true, false}) {
    EXPECT_EQ(reason("1", joins), "");
    EXPECT_THAT(reason("2", joins), HasSubstr("the tiles that are copied in loop r0.0"));
  }
}

TEST(Raster, IsForGridsOfTwoAxes) {
  EXPECT_EQ(reason_of("annotate t0 i0 grid_y\nannotate t0 i1 grid_x\nraster t0 4"), std::nullopt);
  EXPECT_EQ(reason_of("annotate t0 i0 grid_y\nannotate t0 i1 grid_x\nraster t0 65"), Illegal::kBadFactor);
  EXPECT_EQ(reason_of("annotate t0 i0 grid_y\nraster t0 4"), Illegal::kNotRaster);
  EXPECT_EQ(reason_of("raster t9 4"), Illegal::kUnknownStage);
  const std::string grid = "annotate t1 i0 grid_y\nannotate t1 i1 grid_x\n",
                    outer = "compute_at t0 t1 i0 global\n", inner = "compute_at t0 t1 i1 global\n",
                    raster = "raster t1 4\n";
  EXPECT_EQ(reason_of(grid + raster + outer), Illegal::kInRaster);
  EXPECT_EQ(reason_of(grid + outer + raster), Illegal::kInRaster);
  EXPECT_EQ(reason_of(grid + raster + inner), std::nullopt);
  EXPECT_EQ(reason_of(grid + inner + raster), std::nullopt);
}

}  // namespace
}  // namespace tf::schedule
