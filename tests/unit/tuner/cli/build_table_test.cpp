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
      "  verified    the fastest; the whole network is faster with the fastest schedules\n"
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

TEST(TrialText, SaysInOneLineWhatCameOfItAndWhatBuildsTake) {
  using Takes = database::NetworkVerdict::Takes;
  session::NetworkTrial trial{.untuned_ns = 20e6, .tuned_ns = 18e6, .rounds = 24};
  trial.verdict.takes = Takes::kFastest;
  trial.verdict.why = "the tuned network is faster: ratio 0.900 (95%: 0.880 to 0.920)";
  EXPECT_EQ(
      trial_text(trial),
      "whole network: untuned 20.000 ms, tuned 18.000 ms in 24 rounds; the tuned network is faster: ratio "
      "0.900 (95%: 0.880 to 0.920); builds take the fastest records\n");
  trial.rounds = 0;
  trial.verdict.takes = Takes::kUntuned;
  trial.verdict.why = "the tuned network fails: it was killed by signal 11";
  EXPECT_EQ(
      trial_text(trial),
      "whole network: the tuned network fails: it was killed by signal 11; builds take untuned schedules\n");
}

}  // namespace
}  // namespace tf::tuner_cli
