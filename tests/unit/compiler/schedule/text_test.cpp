// The schedule's text form: canonical, and clear about mistakes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/ops/builder.h"
#include "compiler/ops/convolution.h"
#include "compiler/schedule/schedule.h"
#include "tests/support/schedule/random_schedule.h"

namespace tf::schedule {
namespace {

using ::testing::HasSubstr;

TEST(ScheduleText, RoundTripsEveryKindOfStep) {
  Schedule schedule;
  const tensor::Layout layout = tensor::Layout::parse("0,1,2,3,1:16", 4).value();
  OpenLayout open = layout;
  open.axes.back().block = Size::open(3, 0);
  schedule.steps = {Split{"t0", "i0", {4, Size::open(2, 1)}, Tail::kShift},
                    Fuse{"t0", {"i0", "i1.0"}},
                    Reorder{"t0", {"i0*i1.0", "r0"}},
                    Annotate{"t0", "r0", Annotation::kUnroll},
                    ComputeAt{"t0", "t1", "i0*i1.0", tensor::Scope::kRegister},
                    Inline{"t2"},
                    Root{"t0"},
                    CacheRead{"p0", "t0", layout, tensor::Scope::kGlobal},
                    CacheRead{"p0", "t0", {}, tensor::Scope::kGlobal},
                    Recompute{"t0", "t1"},
                    CacheWrite{"t1"},
                    RFactor{"t0", "r0.0"},
                    LayoutRewrite{"p1", layout},
                    LayoutRewrite{"p1", open},
                    StorageAlign{"t0", 0, 16, 1},
                    Pragma{"t0", PragmaKind::kUnrollLimit, 64},
                    Pipeline{"t0", "r0.0", 3},
                    Pipeline{"t0", "r0.0", Size::open(1, 0)},
                    Pipeline{"t0", "r0.0", 3, 1},
                    Raster{"t0", 4},
                    Rescale{"t1", "t2", "t3", Size::open(0, 1)}};
  const std::string text = to_string(schedule);
  const absl::StatusOr<Schedule> parsed = parse_schedule(text);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(*parsed, schedule);
  EXPECT_EQ(to_string(*parsed), text);
}

TEST(ScheduleText, RoundTripsRandomSchedules) {
  ops::Builder b;
  using tensor::imm;
  auto x = b.input("x", tensor::Element::kFloat32, {imm(1), imm(5), imm(6), imm(7)});
  auto w = b.constant("w", tensor::Element::kFloat32, {imm(4), imm(5), imm(3), imm(3)});
  const tensor::Workload workload =
      *b.finish({ops::conv(b, x, w, {.pads_begin = {1, 1}, .pads_end = {1, 1}})});
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Schedule schedule = test::random_schedule(workload, seed);
    const absl::StatusOr<Schedule> parsed = parse_schedule(to_string(schedule));
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(*parsed, schedule);
  }
}

TEST(ScheduleText, NamesTheLineOfAMistake) {
  auto message = [](const char* text) { return std::string(parse_schedule(text).status().message()); };
  EXPECT_THAT(message("schedule v0\n"), HasSubstr("another version"));
  EXPECT_THAT(message(""), HasSubstr("schedule v1"));
  EXPECT_THAT(message("schedule v1\ninline t0\nsplat t0"), HasSubstr("line 3: 'splat' is not a step"));
  EXPECT_THAT(message("schedule v1\nsplit t0 i0"), HasSubstr("missing"));
  EXPECT_THAT(message("schedule v1\nsplit t0 i0 x guard"), HasSubstr("'x' is not a number"));
  EXPECT_THAT(message("schedule v1\nsplit t0 i0 4 wrap"), HasSubstr("'wrap' is not a tail"));
  EXPECT_THAT(message("schedule v1\ninline t0 t1"), HasSubstr("'t1' is one word too many"));
  EXPECT_LT(message(("schedule v1\n" + std::string(100'000, 'x')).c_str()).size(), 100u);
  EXPECT_THAT(message("\x1b[2J"), HasSubstr("not '?[2J'"));
  EXPECT_THAT(message("schedule v1\nlayout_rewrite p0 0,0"), HasSubstr("layout"));
  EXPECT_THAT(message("schedule v1\nlayout_rewrite p0 0,x:$1.0"), HasSubstr("'x:$1.0' is not AXIS"));
  EXPECT_THAT(message("schedule v1\nlayout_rewrite p0 0,0:$1"), HasSubstr("'$1' is not a number"));
}

}  // namespace
}  // namespace tf::schedule
