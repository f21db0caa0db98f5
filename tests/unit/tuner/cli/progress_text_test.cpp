#include "tuner/cli/progress_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tuner/cli/cpu_split.h"

namespace tf::tuner_cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

session::TaskProgress& add_task(session::Progress& progress, const std::string& label, double weight,
                                double flops) {
  session::TaskProgress& task = *progress.add_tasks();
  task.set_label(label);
  task.set_weight(weight);
  task.set_flops(flops);
  return task;
}

session::Progress some_progress() {
  session::Progress progress;
  progress.set_phase(session::PHASE_MEASURING);
  progress.set_trials(412);
  progress.set_trials_per_second(12.34);
  progress.set_remaining_s(151);
  progress.set_expected_gain(0.0123);
  progress.set_current_task(1);
  add_task(progress, "softmax 1x1000", 1, 5000);
  session::TaskProgress& convolution = add_task(progress, "conv2d+relu 64x56x56", 2, 231e6);
  convolution.set_trials(9);
  convolution.set_best_ns(412e3);
  return progress;
}

TEST(ProgressLine, TellsTrialsRateTheTimeLeftTheExpectedGainAndTheTasksBest) {
  EXPECT_EQ(progress_line(some_progress(), 1000),
            "412/1000 trials  12.3/s  2m31s left  est. gain 1.2%/min  "
            "[2/2] conv2d+relu 64x56x56 412.0 us (561 GFLOP/s)");
}

TEST(ProgressLine, HasWhatMattersInTheEightyColumnsOfATerminal) {
  session::Progress progress = some_progress();
  progress.mutable_tasks(0)->set_best_ns(20e6);
  for (session::TaskProgress& task : *progress.mutable_tasks()) task.set_untuned_ns(11e6);
  EXPECT_EQ(progress_line(progress, 1000).substr(0, 79),
            "412/1000 trials  12.3/s  2m31s left  kernels add up to 20.824 ms (-37%, unverif");
}

TEST(ProgressLine, TellsNoTimeThatIsNoneOrBeyondReckoning) {
  session::Progress progress = some_progress();
  const auto line_with = [&](double remaining_s) {
    progress.set_remaining_s(remaining_s);
    return progress_line(progress, 0);
  };
  EXPECT_THAT(line_with(0), Not(HasSubstr("left")));
  EXPECT_THAT(line_with(0.4), Not(HasSubstr("left")));
  EXPECT_THAT(line_with(99 * 3600), HasSubstr("/s  4d3h left"));
  EXPECT_THAT(line_with(99 * 3600 + 1), HasSubstr("/s  >99 h left"));
  EXPECT_THAT(line_with(1e300), HasSubstr("/s  >99 h left"));
  progress.set_phase(session::PHASE_OVER);
  EXPECT_THAT(line_with(60), testing::AllOf(Not(HasSubstr("left")), Not(HasSubstr("gain"))));
}

TEST(ProgressLine, LeavesOutWhatIsNotKnown) {
  session::Progress progress = some_progress();
  progress.clear_remaining_s();
  progress.clear_expected_gain();
  progress.set_current_task(0);
  EXPECT_EQ(progress_line(progress, 0), "412 trials  12.3/s  [1/2] softmax 1x1000 -");
  progress.set_current_task(-1);
  EXPECT_EQ(progress_line(progress, 0), "412 trials  12.3/s");
  progress.set_trials(1);
  EXPECT_EQ(progress_line(progress, 0), "1 trial  12.3/s");
}

TEST(ProgressLine, SaysInPlaceOfTheRateThatFinalistsAreReMeasured) {
  session::Progress progress = some_progress();
  progress.clear_remaining_s();
  progress.clear_expected_gain();
  progress.set_current_task(-1);
  progress.set_phase(session::PHASE_FINALS);
  EXPECT_EQ(progress_line(progress, 412), "412/412 trials  re-measuring finalists");
  EXPECT_EQ(nlohmann::json::parse(progress_json(progress, 0))["phase"], "PHASE_FINALS");
  progress.set_current_task(1);
  progress.set_phase(session::PHASE_OVER);
  EXPECT_EQ(progress_line(progress, 0), "412 trials  12.3/s") << "no task is served any more";
}

TEST(ProgressJson, HasEveryFieldOnOneLine) {
  const std::string line = progress_json(some_progress(), 7);
  EXPECT_THAT(line, Not(HasSubstr("\n")));
  const nlohmann::json parsed = nlohmann::json::parse(line);
  EXPECT_EQ(parsed["job"], 7);
  EXPECT_EQ(parsed["phase"], "PHASE_MEASURING");
  EXPECT_EQ(parsed["remaining_s"], 151);
  EXPECT_EQ(parsed["expected_gain"], 0.0123);
  EXPECT_EQ(parsed["tasks"][1]["best_ns"], 412e3);
  EXPECT_EQ(parsed["tasks"][0]["given_up"], "");
  for (const char* count : {"trials", "failures", "not_measured", "duplicates", "slots"})
    EXPECT_TRUE(parsed[count].is_number_integer()) << count;
  session::Progress endless = some_progress();
  endless.clear_remaining_s();
  EXPECT_FALSE(nlohmann::json::parse(progress_json(endless, 0)).contains("remaining_s"));
  EXPECT_FALSE(nlohmann::json::parse(progress_json(endless, 0)).contains("job"));
}

TEST(ProgressLine, AddsUpTheNetworkOnceEveryKernelHasATime) {
  session::Progress progress = some_progress();
  progress.clear_remaining_s();
  progress.clear_expected_gain();
  EXPECT_THAT(progress_line(progress, 0), Not(HasSubstr("add up")));
  progress.mutable_tasks(0)->set_best_ns(176e3);
  EXPECT_THAT(progress_line(progress, 0), HasSubstr("/s  kernels add up to 1.000 ms (unverified)  ["));
  progress.mutable_tasks(0)->set_untuned_ns(250e3);
  progress.mutable_tasks(1)->set_untuned_ns(500e3);
  EXPECT_THAT(progress_line(progress, 0), HasSubstr("/s  kernels add up to 1.000 ms (-20%, unverified)  ["));
  add_task(progress, "between other layouts", 0, 1e6);
  EXPECT_THAT(progress_line(progress, 0), HasSubstr("add up to 1.000 ms")) << "no part of the network";
  progress.set_phase(session::PHASE_OVER);
  EXPECT_THAT(progress_line(progress, 0), Not(HasSubstr("add up"))) << "the table says what a build takes";
}

TEST(ProgressLine, SaysHowManyFailedIfAnyDid) {
  session::Progress progress = some_progress();
  EXPECT_THAT(progress_line(progress, 0), Not(HasSubstr("failed")));
  progress.set_failures(13);
  EXPECT_THAT(progress_line(progress, 1000), HasSubstr("412/1000 trials, 13 failed  12.3/s  2m31s left"));
}

TEST(TaskTable, SaysHowManyTrialsFailedAndHow) {
  session::Progress progress = some_progress();
  EXPECT_THAT(task_table(progress, 0), Not(HasSubstr("failed")));
  progress.set_failures(13);
  EXPECT_THAT(task_table(progress, 0), testing::EndsWith("\n13 of 412 trials failed\n"));
  for (const auto& [outcome, count] : {std::pair{"wrong_output", 9}, {"implausible", 3}, {"crashed", 1}})
    (*progress.mutable_failed_by())[outcome] = count;
  EXPECT_THAT(
      task_table(progress, 0),
      testing::EndsWith("\n13 of 412 trials failed: crashed (1), implausible (3), wrong output (9)\n"));
}

TEST(TaskTable, SaysThatThereWasNothingNewToTry) {
  session::Progress progress = some_progress();
  EXPECT_THAT(task_table(progress, 0), Not(HasSubstr("nothing new")));
  EXPECT_EQ(nlohmann::json::parse(progress_json(progress, 0))["nothing_new"], false);
  progress.set_nothing_new(true);
  EXPECT_THAT(task_table(progress, 0), HasSubstr("\nsearch exhausted: "));
  EXPECT_EQ(nlohmann::json::parse(progress_json(progress, 0))["nothing_new"], true);
}

TEST(TaskTable, SaysThatNotAllFinalistsWereMeasuredAgain) {
  session::Progress progress = some_progress();
  EXPECT_EQ(notes_text(progress), "");
  progress.set_undecided(true);
  EXPECT_EQ(notes_text(progress),
            "warning: the budget ended before all finalists were re-measured; some best schedules rest on a "
            "single measurement: increase --minutes\n");
  EXPECT_EQ(nlohmann::json::parse(progress_json(progress, 0))["undecided"], true);
}

TEST(ProgressJson, HasTheNetworksTrialWithItsRatioIfItWasTimed) {
  session::NetworkTrial trial{.untuned_ns = 23e6, .tuned_ns = 20e6, .rounds = 40};
  trial.ratio = {.median_ns = 0.87, .low_ns = 0.86, .high_ns = 0.88};
  trial.verdict.takes = database::NetworkVerdict::Takes::kFastest;
  trial.verdict.why = "it is faster";
  const nlohmann::json parsed = nlohmann::json::parse(progress_json(some_progress(), 7, trial));
  EXPECT_EQ(parsed["network"]["ratio"], 0.87);
  EXPECT_EQ(parsed["network"]["rounds"], 40);
  EXPECT_EQ(parsed["network"]["takes"], "fastest");
  EXPECT_EQ(parsed["network"]["why"], "it is faster");
  EXPECT_EQ(parsed["trials"], 412);
  EXPECT_FALSE(parsed.contains("build"));
  trial.rounds = 0;
  trial.verdict.takes = database::NetworkVerdict::Takes::kUntuned;
  const nlohmann::json untimed = nlohmann::json::parse(progress_json(some_progress(), 7, trial));
  EXPECT_EQ(untimed["network"]["takes"], "untuned");
  EXPECT_FALSE(untimed["network"].contains("ratio"));
  EXPECT_FALSE(untimed["network"].contains("tuned_ns"));
}

TEST(TaskTable, WeighsTasksByTheirOccurrencesAndSaysWhatIsMissing) {
  EXPECT_THAT(task_table(some_progress(), 0),
              HasSubstr("kernels add up to 824.0 us (unverified; without kernels that have no time yet)\n"));
  session::Progress complete = some_progress();
  complete.mutable_tasks(0)->set_best_ns(176e3);
  EXPECT_THAT(task_table(complete, 0), HasSubstr("kernels add up to 1.000 ms (unverified)\n"));
}

TEST(TaskTable, SaysThatThereIsNoTimeYet) {
  session::Progress progress;
  for (const char* label : {"matmul", "conv2d"}) add_task(progress, label, 1, 1e6);
  EXPECT_THAT(task_table(progress, 0), HasSubstr("\nnothing was measured yet\n"));
  progress.mutable_tasks(1)->set_trials(3);  // all failed
  EXPECT_THAT(task_table(progress, 0), HasSubstr("\nno trial has succeeded yet\n"));
}

TEST(TaskTable, SaysOfKernelsThatTheNetworkDoesNotUseWhatTheyAre) {
  session::Progress progress = some_progress();
  const size_t rows = std::ranges::count(task_table(progress, 0), '\n');
  EXPECT_THAT(task_table(progress, 0), Not(HasSubstr("other layouts")));
  for (session::TaskProgress& task : *progress.mutable_tasks()) task.set_best_ns(1000);
  add_task(progress, "conv2d between other layouts", 0, 1e6);
  const std::string table = task_table(progress, 0);
  EXPECT_EQ(std::ranges::count(table, '\n'), rows + 4) << table;
  EXPECT_THAT(table, HasSubstr("which a build may choose:\nkernel "));
  EXPECT_THAT(table, Not(HasSubstr("no time yet"))) << "they are not in the sum";
}

TEST(BoundsText, ShowsBoundsThatAreFarOffAsFactors) {
  EXPECT_EQ(bounds_text(0.995, 1.012), "-0.5% +1.2%");
  EXPECT_EQ(bounds_text(0.667, 1.9), "-33.3% +90.0%");
  EXPECT_EQ(bounds_text(0.667, 43.75), "0.667x to 43.8x");
  EXPECT_EQ(bounds_text(0.25, 1.01), "0.25x to 1.0x");
  EXPECT_EQ(bounds_text(1, 12345), "1x to 12345x");
}

TEST(CpuSplit, SetsTheLastCpusApartForMeasuring) {
  const CpuSplit split = split_cpus({0, 2, 5, 7}, 2);
  EXPECT_THAT(split.measure, ElementsAre(5, 7));
  EXPECT_THAT(split.rest, ElementsAre(0, 2));
}

TEST(CpuSplit, SetsNothingApartWhereAllAreNeeded) {
  EXPECT_THAT(split_cpus({0, 1}, 2).measure, IsEmpty());
  EXPECT_THAT(split_cpus({0}, 4).rest, IsEmpty());
}

}  // namespace
}  // namespace tf::tuner_cli
