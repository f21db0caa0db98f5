#include "device_agent/worker/verdict.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/text/printable.h"
#include "proto/farm/v1/trial.pb.h"

namespace {

namespace farm = tunefarm::farm::v1;
using tf::worker::ChildRun;
using tf::worker::judge_end;
using tf::worker::judge_samples;
using tf::worker::LoadedArtifact;
using tf::worker::most_gflops;
using tf::worker::was_held_up;
using tf::worker::sandbox::ChildEnd;
using tf::worker::sandbox::Job;

ChildRun ended(ChildEnd end, const std::string& detail) {
  ChildRun run;
  run.reply = {};
  run.result = {};
  run.result.end = end;
  std::memcpy(run.result.detail, detail.data(), std::min(detail.size(), sizeof run.result.detail));
  return run;
}

TEST(JudgeEnd, WhateverAChildLeftAsItsDetailIsOnePrintableLine) {
  for (const ChildEnd end :
       {ChildEnd::kKernelError, ChildEnd::kWroteOutside, ChildEnd::kBuffersDoNotFit, ChildEnd::kCannotLoad}) {
    farm::TrialResult result;
    ASSERT_TRUE(judge_end(ended(end, "bad \xff\xfe\x1b[31m\nline"), Job(), &result).ok());
    EXPECT_THAT(result.detail(), testing::EndsWith("bad ???[31m?line"));
    EXPECT_TRUE(farm::TrialResult().ParseFromString(result.SerializeAsString()));
  }
  farm::TrialResult unterminated;
  ASSERT_TRUE(judge_end(ended(ChildEnd::kKernelError, std::string(300, '\xc3')), Job(), &unterminated).ok());
  EXPECT_EQ(unterminated.detail(),
            tf::printable(std::string(sizeof tf::worker::sandbox::Result().detail, '\xc3')));
}

constexpr int64_t kMillisecond = 1'000'000;

// A child that claims 12 samples of a millisecond and worked for so long in all.
ChildRun sampled(int64_t worked_ns) {
  ChildRun run;
  run.reply = {};
  run.result = {};
  run.result.sample_count = 12;
  for (int i = 0; i < 12; ++i) run.result.samples[i] = {1 * kMillisecond, 1};
  run.sent_ns = 1;
  run.timing_started_ns = 1000 * kMillisecond;
  run.timing_ended_ns = 1013 * kMillisecond;
  run.cpu_before_loading_ns = 5 * kMillisecond;
  run.reply.cpu_ns = 5 * kMillisecond + worked_ns;
  return run;
}

TEST(JudgeSamples, BelievesWhatTheSystemsAccountConfirms) {
  Job job = {};
  job.threads = 1;
  farm::TrialResult result;
  judge_samples(sampled(18 * kMillisecond), job, &result);
  EXPECT_EQ(result.outcome(), farm::OUTCOME_UNSPECIFIED) << result.detail();
  EXPECT_EQ(result.samples_size(), 12);
  EXPECT_EQ(result.timed_until_ns() - result.timed_from_ns(), 13 * kMillisecond);
}

TEST(JudgeSamples, DoesNotBelieveAChildThatWorkedForLongerThanItsSamplesExplain) {
  Job job = {};
  job.threads = 1;
  farm::TrialResult result;
  judge_samples(sampled(150 * kMillisecond), job, &result);
  EXPECT_EQ(result.outcome(), farm::OUTCOME_IMPLAUSIBLE);
  EXPECT_THAT(result.detail(), testing::HasSubstr("more than they explain"));
  job.threads = 2;
  farm::TrialResult threads;
  judge_samples(sampled(150 * kMillisecond), job, &threads);
  EXPECT_EQ(threads.outcome(), farm::OUTCOME_UNSPECIFIED) << "threads that wait for each other work, too";
}

// So long after the samples' begin did their end arrive.
ChildRun seen_for(int64_t seen_ns) {
  ChildRun run = sampled(18 * kMillisecond);
  run.result.end = ChildEnd::kDone;
  run.timing_ended_ns = run.timing_started_ns + seen_ns;
  return run;
}

TEST(JudgeSamples, DoesNotBlameOneThreadForTimeInWhichItDidNotWork) {
  Job job = {};
  job.threads = 1;
  farm::TrialResult result;
  judge_samples(seen_for(400 * kMillisecond), job, &result);
  EXPECT_EQ(result.outcome(), farm::OUTCOME_UNSPECIFIED) << result.detail();
  EXPECT_FALSE(was_held_up(seen_for(400 * kMillisecond), job)) << "it needs no second run";
  ChildRun of_unknown_work = seen_for(400 * kMillisecond);
  of_unknown_work.cpu_before_loading_ns.reset();
  farm::TrialResult unknown;
  judge_samples(of_unknown_work, job, &unknown);
  EXPECT_EQ(unknown.outcome(), farm::OUTCOME_IMPLAUSIBLE);
}

TEST(JudgeSamples, RunsSeveralThreadsOnceMoreBeforeItBlamesThem) {
  Job job = {};
  job.threads = 2;
  EXPECT_TRUE(was_held_up(seen_for(400 * kMillisecond), job));
  EXPECT_FALSE(was_held_up(seen_for(13 * kMillisecond), job));
  ChildRun crashed = seen_for(400 * kMillisecond);
  crashed.result.end = ChildEnd::kKernelError;
  EXPECT_FALSE(was_held_up(crashed, job)) << "how it ended is known";
  farm::TrialResult result;
  judge_samples(seen_for(400 * kMillisecond), job, &result);
  EXPECT_EQ(result.outcome(), farm::OUTCOME_IMPLAUSIBLE);
  EXPECT_THAT(result.detail(), testing::HasSubstr("but taking them took 400000000 ns"));
}

TEST(MostGflops, LeavesRoomForAdditionsBesideFmas) {
  LoadedArtifact loaded;
  loaded.job.threads = 2;
  // 9 FMAs, a bias and a clip are 21 FLOPs in the time of 18, and the clock is a tenth up since.
  EXPECT_GT(most_gflops(loaded, 100), 2 * 100 * 21.0 / 18 * 1.1);
  EXPECT_LT(most_gflops(loaded, 100), 2 * 100 * 2) << "no machine has that many pipes";
  loaded.reduced_numerics = true;
  EXPECT_GT(most_gflops(loaded, 100), 2 * 100 * 8);
}

}  // namespace
