// A state takes steps whose sizes are open: extents become expressions, and what only some sizes allow
// becomes a condition.

#include <gtest/gtest.h>

#include "compiler/ops/builder.h"
#include "compiler/ops/elementwise.h"
#include "compiler/schedule/schedule.h"

namespace tf::schedule {
namespace {

tensor::Workload row(int64_t extent) {
  ops::Builder b;
  auto x = b.input("x", tensor::Element::kFloat32, {tensor::imm(extent)});
  return *b.finish({ops::relu(b, x)});
}

// What the expression is for that size.
int64_t at(const tensor::Expr& expr, const OpenSize& size, int64_t value) {
  return tensor::as_int(tensor::substitute(expr, {{size.var.get(), tensor::imm(value)}})).value();
}

TEST(OpenSizes, MakeExtentsExpressions) {
  const OpenSize size{tensor::var("s"), 1, 16};
  State state(row(20), {{size}});
  ASSERT_FALSE(state.apply(Split{"t0", "i0", {Size::open(0, 0)}}));
  const StageState& stage = state.stages()[0];
  for (int64_t factor : {1, 3, 4, 16}) {
    EXPECT_EQ(at(stage.loops[0].extent.expr(), size, factor), (20 + factor - 1) / factor);
    EXPECT_EQ(at(stage.loops[1].extent.expr(), size, factor), factor);
  }
  // A factor that divides needs no guard.
  ASSERT_EQ(stage.guards.size(), 1u);
  EXPECT_EQ(at(stage.guards[0], size, 5), 1);
  EXPECT_TRUE(state.data().conditions.empty()) << "every choice is a legal factor";
}

TEST(OpenSizes, MakeConditionsOfWhatOnlySomeAllow) {
  const OpenSize size{tensor::var("s"), 8, 128};
  State state(row(200), {{size}});
  ASSERT_FALSE(state.apply(Split{"t0", "i0", {Size::open(0, 0)}}));
  ASSERT_FALSE(state.apply(Annotate{"t0", "i0.1", Annotation::kVectorize}));
  ASSERT_EQ(state.data().conditions.size(), 1u);
  EXPECT_EQ(at(state.data().conditions[0], size, 64), 1);
  EXPECT_EQ(at(state.data().conditions[0], size, 128), 0);
}

TEST(OpenSizes, AreRefusedWhereNoChoiceIsLegal) {
  State state(row(200), {{{tensor::var("s"), 100, 128}}});
  ASSERT_FALSE(state.apply(Split{"t0", "i0", {Size::open(0, 0)}}));
  EXPECT_TRUE(state.apply(Annotate{"t0", "i0.1", Annotation::kVectorize}));
}

TEST(OpenSizes, AreRefusedByAStateThatDoesNotKnowThem) {
  State state(row(20));
  const std::optional<StepError> error = state.apply(Split{"t0", "i0", {Size::open(0, 0)}});
  ASSERT_TRUE(error);
  EXPECT_EQ(error->reason, Illegal::kOpenSize);
}

// A row as long as a run wants it.
TEST(OpenSizes, OfARunAreNoNumberOfThreads) {
  ops::Builder b;
  const tensor::Var n = tensor::var("n");
  b.dimension({n, 1, 64});
  const auto x = b.input("x", tensor::Element::kFloat32, {n});
  const tensor::Workload workload = *b.finish({ops::relu(b, x)});
  const auto refused = [&](const std::vector<Step>& steps) {
    return std::string(apply(workload, Schedule{steps}).status().message());
  };
  const Split split{"t0", "i0", {Size(8)}};
  EXPECT_EQ(refused({split, Annotate{"t0", "i0.0", Annotation::kGridX},
                     Annotate{"t0", "i0.1", Annotation::kThreadX}}),
            "");
  EXPECT_EQ(refused({Annotate{"t0", "i0", Annotation::kThreadX}}),
            "step 'annotate t0 i0 thread_x' is legal for some sizes only: where n == 64");
  EXPECT_NE(refused({split, Annotate{"t0", "i0.0", Annotation::kThreadX}}), "");
}

}  // namespace
}  // namespace tf::schedule
