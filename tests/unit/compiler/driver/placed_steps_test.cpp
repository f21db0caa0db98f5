#include "compiler/driver/library/placed_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/runtime/model_types.h"

namespace tf::driver {
namespace {

using runtime::ModelBuffer;
using runtime::ModelProgram;
using testing::ElementsAre;

constexpr uint32_t kHostCall = TF_STEP_CALL, kLaunch = TF_STEP_LAUNCH;

ModelBuffer arena(int64_t offset, int64_t size = 64) {
  return {TF_SPACE_ARENA, 0, offset, size};
}
ModelBuffer input() {
  return {TF_SPACE_INPUT, 0, 0, 64};
}
ModelBuffer output(int64_t offset = 0, int64_t size = 64) {
  return {TF_SPACE_OUTPUT, 0, offset, size};
}

PlacedStep step(uint32_t kind, std::vector<ModelBuffer> reads, const std::vector<ModelBuffer>& writes) {
  PlacedStep placed;
  placed.step.kind = kind;
  placed.read_count = reads.size();
  placed.step.buffers = std::move(reads);
  placed.step.buffers.insert(placed.step.buffers.end(), writes.begin(), writes.end());
  return placed;
}

// "up i0+64", "down o0+64", "host", "device", …
std::vector<std::string> texts(std::vector<PlacedStep> steps, int64_t output_bytes = 64) {
  ModelProgram program;
  program.inputs.push_back({"x", TF_ELEMENT_FLOAT32, {16}, 64});
  program.outputs.push_back({"y", TF_ELEMENT_FLOAT32, {output_bytes / 4}, output_bytes});
  std::vector<std::string> texts;
  const std::vector<runtime::ModelStep> all = *with_copies(std::move(steps), program);
  for (const runtime::ModelStep& made : all) {
    if (made.kind == kHostCall) texts.emplace_back("host");
    if (made.kind == kLaunch) texts.emplace_back("device");
    if (made.kind < TF_STEP_UPLOAD) continue;
    const ModelBuffer& buffer = made.buffers[0];
    const char* spaces = "iowa";
    texts.push_back(absl::StrCat(made.kind == TF_STEP_UPLOAD ? "up " : "down ",
                                 std::string(1, spaces[buffer.space]), buffer.offset_bytes.value, "+",
                                 buffer.size_bytes.value));
  }
  return texts;
}

TEST(PlacedSteps, OnTheHostNeedNoCopies) {
  EXPECT_THAT(texts({step(kHostCall, {input()}, {arena(0)}), step(kHostCall, {arena(0)}, {output()})}),
              ElementsAre("host", "host"));
}

TEST(PlacedSteps, OnTheDeviceCopyAtTheBorderAlone) {
  EXPECT_THAT(texts({step(kLaunch, {input()}, {arena(0)}), step(kLaunch, {arena(0), input()}, {arena(64)}),
                     step(kLaunch, {arena(64)}, {output()})}),
              ElementsAre("up i0+64", "device", "device", "device", "down o0+64"));
}

TEST(PlacedSteps, OfBothCopyWhatTheOtherSideMadeOnce) {
  EXPECT_THAT(texts({step(kLaunch, {input()}, {arena(0)}), step(kHostCall, {arena(0)}, {arena(64)}),
                     step(kHostCall, {arena(0)}, {arena(128)}),
                     step(kLaunch, {arena(0), arena(64), arena(128)}, {output()})}),
              ElementsAre("up i0+64", "device", "down a0+64", "host", "host", "up a64+64", "up a128+64",
                          "device", "down o0+64"));
}

TEST(PlacedSteps, CopyOnlyThePartsOfAConcatenationThatTheOtherSideMade) {
  EXPECT_THAT(texts({step(kLaunch, {input()}, {output(0)}), step(kHostCall, {input()}, {output(64)}),
                     step(kLaunch, {input()}, {output(128)})},
                    192),
              ElementsAre("up i0+64", "device", "host", "device", "down o0+64", "down o128+64"));
  EXPECT_THAT(texts({step(kHostCall, {input()}, {arena(0)}), step(kLaunch, {input()}, {arena(64)}),
                     step(kLaunch, {arena(0, 128)}, {output()})}),
              ElementsAre("host", "up i0+64", "device", "up a0+64", "device", "down o0+64"));
}

TEST(PlacedSteps, ForgetWhatWasWrittenOver) {
  // The device's value of 128 bytes is dead when the host writes the first half of it.
  EXPECT_THAT(texts({step(kLaunch, {input()}, {arena(0, 128)}), step(kHostCall, {input()}, {arena(0)}),
                     step(kHostCall, {arena(0)}, {output()})}),
              ElementsAre("up i0+64", "device", "host", "host"));
}

TEST(PlacedSteps, LetTheHostSeeTheIndicesThatItChecks) {
  PlacedStep gather = step(kLaunch, {input(), arena(0)}, {output()});
  gather.step.indices = {1, 8, 4};
  EXPECT_THAT(texts({step(kLaunch, {input()}, {arena(0)}), gather}),
              ElementsAre("up i0+64", "device", "down a0+64", "device", "down o0+64"));
}

TEST(PlacedSteps, CopyNothingOfWhatIsEmptyOrConstant) {
  const ModelBuffer weights = {TF_SPACE_WEIGHTS, 0, 0, 64};
  EXPECT_THAT(
      texts({step(kLaunch, {arena(0, 0), weights}, {arena(0, 0)}), step(kHostCall, {arena(0, 0)}, {})}, 0),
      ElementsAre("device", "host"));
}

using runtime::Sized;

const std::vector<int64_t> kRows = {TF_CODE_DIM, 0, TF_CODE_NUMBER, 8, TF_CODE_MUL};

// Of up to 64 bytes, from a place that varies on if it is not the first.
ModelBuffer sized(uint32_t space, int64_t offset) {
  return {space, 0, offset == 0 ? Sized(0) : Sized(offset, kRows), Sized(64, kRows)};
}

// The codes of the copies' sizes and places.
std::vector<std::string> sized_texts(std::vector<PlacedStep> steps) {
  ModelProgram program;
  program.inputs.push_back({"x", TF_ELEMENT_FLOAT32, {16}, Sized(64, kRows)});
  program.outputs.push_back({"y", TF_ELEMENT_FLOAT32, {32}, Sized(128, kRows)});
  const auto made = with_copies(std::move(steps), program);
  if (!made.ok()) return {std::string(made.status().message())};
  std::vector<std::string> texts;
  for (const runtime::ModelStep& each : *made) {
    if (each.kind < TF_STEP_UPLOAD) continue;
    const ModelBuffer& buffer = each.buffers[0];
    texts.push_back(absl::StrCat(each.kind == TF_STEP_UPLOAD ? "up " : "down ", buffer.offset_bytes.value,
                                 buffer.offset_bytes.code == kRows ? " varies" : "", ", ",
                                 buffer.size_bytes.value, buffer.size_bytes.code == kRows ? " varies" : ""));
  }
  return texts;
}

TEST(PlacedSteps, CopyWhatWasWrittenWithItsOwnSize) {
  EXPECT_THAT(sized_texts({step(kLaunch, {sized(TF_SPACE_INPUT, 0)}, {sized(TF_SPACE_OUTPUT, 0)}),
                           step(kLaunch, {sized(TF_SPACE_INPUT, 0)}, {sized(TF_SPACE_OUTPUT, 64)})}),
              ElementsAre("up 0, 64 varies", "down 0, 64 varies", "down 64 varies, 64 varies"));
}

// Of two halves, one of each side, a part is read: at another size it lies in the other half.
TEST(PlacedSteps, CopyAllThatAPartMayLieIn) {
  PlacedStep reader = step(kHostCall, {sized(TF_SPACE_ARENA, 64)}, {});
  reader.wholes[0] = {TF_SPACE_ARENA, 0, 0, Sized(128, kRows)};
  EXPECT_THAT(sized_texts({step(kLaunch, {}, {sized(TF_SPACE_ARENA, 0)}),
                           step(kLaunch, {}, {sized(TF_SPACE_ARENA, 64)}), reader}),
              ElementsAre("down 0, 64 varies", "down 64 varies, 64 varies"));
}

TEST(PlacedSteps, OfAPartThatVariesAreNotCopied) {
  EXPECT_THAT(sized_texts({step(kLaunch, {}, {sized(TF_SPACE_ARENA, 0)}), step(kLaunch, {}, {arena(0, 32)}),
                           step(kHostCall, {arena(0, 64)}, {})}),
              ElementsAre(testing::HasSubstr(": a part of a value whose size varies was overwritten")));
}

}  // namespace
}  // namespace tf::driver
