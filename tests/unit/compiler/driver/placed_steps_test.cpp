#include "compiler/driver/library/placed_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

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
  for (const runtime::ModelStep& made : with_copies(std::move(steps), program)) {
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

}  // namespace
}  // namespace tf::driver
