#include "tuner/cli/build_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "absl/strings/str_split.h"

namespace tf::tuner_cli {
namespace {

using database::Why;
using session::KernelChoice;
using testing::HasSubstr;
using testing::Not;

std::vector<KernelChoice> some_kernels() {
  return {{.label = "conv2d+relu 1x64x56x56",
           .key = "e3b98a4da31a127d",
           .runs = 2,
           .flops = 231e6,
           .untuned_ns = 500e3,
           .build_ns = 400e3,
           .is_untuned = false,
           .why = Why::kVerified},
          {.label = "matmul 1x1000",
           .key = "ca495991b7852b85",
           .runs = 1,
           .flops = 1e6,
           .untuned_ns = 200e3,
           .build_ns = 200e3,
           .is_untuned = true,
           .why = Why::kUnproven}};
}

TEST(BuildTable, ShowsWhatABuildTakesOfEachKernelAndWhy) {
  EXPECT_EQ(
      build_table(some_kernels(), 0),
      "kernel                  runs   untuned     build  ratio  takes    why       GFLOP/s  key\n"
      "conv2d+relu 1x64x56x56     2  500.0 us  400.0 us  0.800  tuned    verified    577.5  e3b98a4da31a\n"
      "matmul 1x1000              1  200.0 us  200.0 us      -  untuned  unproven      5.0  ca495991b785\n"
      "  verified    faster than the untuned schedule inside the network\n"
      "  unproven    no schedule is significantly faster than the untuned one\n"
      "kernels add up to 1.000 ms, untuned 1.200 ms (not a measurement of the network)\n");
}

TEST(BuildTable, FitsATerminalOfEightyColumns) {
  std::vector<KernelChoice> kernels = some_kernels();
  kernels[0].label = "conv2d+bias+batch_norm+relu+add 1x1024x112x112";
  const std::string table = build_table(kernels, 80);
  for (const absl::string_view line : absl::StrSplit(table, '\n')) EXPECT_LE(line.size(), 82u) << line;
  EXPECT_THAT(table, HasSubstr("  0.800  tuned    verified\n"));
  EXPECT_THAT(table, Not(HasSubstr("GFLOP/s"))) << "what matters least is left out";
}

TEST(BuildTable, AddsNothingUpWhereAKernelHasNoTime) {
  std::vector<KernelChoice> kernels = some_kernels();
  kernels.push_back({.label = "softmax 1x1000", .key = "aa", .runs = 1, .flops = 5000});
  const std::string table = build_table(kernels, 0);
  EXPECT_THAT(table, HasSubstr("  untuned  unmeasured        -  aa\n"));
  EXPECT_THAT(table, HasSubstr("  unmeasured  there are no records; the build takes the untuned schedule\n"));
  EXPECT_THAT(table, Not(HasSubstr("add up")));
  kernels[2] = kernels[0];
  kernels[2].untuned_ns = 0;
  kernels[2].why = Why::kUnchecked;
  EXPECT_THAT(build_table(kernels, 0), HasSubstr("         -  400.0 us      -  tuned    unchecked"));
}

TEST(BuildJson, HasTheSameNumbersAsTheTable) {
  const nlohmann::json rows = build_json(some_kernels());
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["build_ns"], 400e3);
  EXPECT_EQ(rows[0]["why"], "verified");
  EXPECT_EQ(rows[1]["untuned"], true);
}

session::NetworkTrial trial_of(double ratio, double low, double high) {
  session::NetworkTrial trial{.untuned_ns = 20e6, .tuned_ns = 20e6 * ratio, .visits = 24};
  trial.ratio = {.median_ns = ratio, .low_ns = low, .high_ns = high};
  return trial;
}

TEST(TrialText, SaysPlainlyWhetherTunedIsFaster) {
  EXPECT_EQ(trial_text(trial_of(0.9, 0.88, 0.92)),
            "whole network, 24 visits to both builds in turn: untuned 20.000 ms, tuned 18.000 ms, ratio "
            "0.900 (95%: "
            "0.880 to 0.920)\n"
            "tuned is faster.\n");
  EXPECT_THAT(trial_text(trial_of(0.99, 0.95, 1.02)),
              HasSubstr("\ntuned is not measurably faster or slower.\n"));
  EXPECT_THAT(trial_text(trial_of(1.1, 1.05, 1.2)),
              HasSubstr("\ntuned is slower: build without --db, or tune for longer\n"));
}

TEST(TrialText, SaysWhereTheNextBuildIsNotTheOneThatWasTimed) {
  session::NetworkTrial trial = trial_of(0.9, 0.88, 0.92);
  trial.lost = 2;
  trial.failed = 1;
  EXPECT_THAT(trial_text(trial),
              testing::EndsWith("\ntuned is faster.\n"
                                "2 kernels were reset to an earlier schedule after the timing, so the next "
                                "build differs from the timed one\n"
                                "the network crashed or hung with 1 schedule; builds no longer use them\n"));
}

TEST(TrialText, HasNoRatioWhereEveryKernelIsTheUntunedOne) {
  EXPECT_EQ(trial_text({.all_untuned = true, .kernels = 5}),
            "whole network: no measurable gain; the build uses the untuned schedule of every kernel\n");
}

}  // namespace
}  // namespace tf::tuner_cli
