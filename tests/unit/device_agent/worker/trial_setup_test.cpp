#include "device_agent/worker/trial_setup.h"

#include <gtest/gtest.h>

#include "proto/farm/v1/trial.pb.h"

namespace {

namespace farm = tunefarm::farm::v1;
using tf::worker::sandbox::Job;

constexpr uint64_t kMiB = 1 << 20;

Job set_up(uint64_t reuse_distance_bytes, uint64_t last_cache_bytes, uint32_t threads = 1) {
  farm::Trial trial;
  trial.set_threads(threads);
  trial.mutable_options()->set_cache_mode(farm::CACHE_MODE_ROTATE);
  trial.mutable_options()->set_reuse_distance_bytes(reuse_distance_bytes);
  Job job = {};
  job.workspace_bytes = 10;
  tf::worker::set_up_trial(trial, 100, {.l2_bytes = kMiB, .last_bytes = last_cache_bytes}, &job);
  return job;
}

TEST(SetUpTrial, OfAKernelAloneRotatesBeyondTheL2OfItsThreads) {
  EXPECT_EQ(set_up(0, 32 * kMiB).rotate_bytes, 2 * kMiB);
  EXPECT_EQ(set_up(0, 32 * kMiB, 4).rotate_bytes, 8 * kMiB);
  EXPECT_EQ(set_up(0, 32 * kMiB).reuse_distance_bytes, 0u);
  EXPECT_EQ(set_up(0, 32 * kMiB).rotate, 1u);
}

TEST(SetUpTrial, GoesAsFarAsTheReuseDistanceWhileThatMakesADifference) {
  EXPECT_EQ(set_up(12 * kMiB, 32 * kMiB).reuse_distance_bytes, 12 * kMiB);
  EXPECT_EQ(set_up(400 * kMiB, 32 * kMiB).reuse_distance_bytes, 64 * kMiB) << "twice the last cache";
  EXPECT_EQ(set_up(400 * kMiB, 500 * kMiB).reuse_distance_bytes, 256 * kMiB) << "all that is filled";
}

TEST(SetUpTrial, OfASmallNetworkRotatesNoFartherThanItGoes) {
  EXPECT_EQ(set_up(kMiB, 32 * kMiB).rotate_bytes, kMiB);
}

TEST(SetUpTrial, GivesEveryThreadItsWorkspace) {
  EXPECT_EQ(set_up(0, kMiB, 3).workspace_bytes, 310u);
}

TEST(LimitMemory, CountsWhatElseTheTrialChooses) {
  Job job = set_up(32 * kMiB, 32 * kMiB, 4);
  job.memory_bytes = uint64_t{1} << 40;
  tf::worker::limit_memory(1000 * kMiB, &job);
  EXPECT_EQ(job.memory_bytes, (1000 - 32 - 4 * 16) * kMiB);
  tf::worker::limit_memory(UINT64_MAX, &job);
  EXPECT_EQ(job.memory_bytes, (1000 - 32 - 4 * 16) * kMiB) << "it gets no more than it asks for";
  tf::worker::limit_memory(50 * kMiB, &job);
  EXPECT_EQ(job.memory_bytes, 0u) << "threads and distance alone are more";
}

tf::worker::LoadedArtifact with_output(uint64_t bytes, uint64_t workspace_bytes = 0) {
  tf::worker::LoadedArtifact loaded;
  loaded.job.memory_bytes = 100 * kMiB;
  loaded.job.workspace_bytes = workspace_bytes;
  loaded.job.port_count = 1;
  loaded.job.ports[0].role = tf::worker::sandbox::Role::kOutput;
  loaded.job.ports[0].size_bytes = bytes;
  loaded.result_bytes = 2 * bytes;
  return loaded;
}

TEST(DoesNotFit, CountsOutputsAndTheirAnswersWhileTheyAreMadeAndCompared) {
  EXPECT_FALSE(tf::worker::does_not_fit(with_output(25 * kMiB)));
  const auto run = tf::worker::does_not_fit(with_output(26 * kMiB));
  ASSERT_TRUE(run);
  EXPECT_EQ(run->result.end, tf::worker::sandbox::ChildEnd::kBuffersDoNotFit);
  EXPECT_STREQ(run->result.detail, "its buffers need 104 MiB, but the limit is 100 MiB");
}

TEST(DoesNotFit, CountsTheWorkspaceWhateverItsSize) {
  EXPECT_FALSE(tf::worker::does_not_fit(with_output(kMiB, 97 * kMiB)));
  EXPECT_TRUE(tf::worker::does_not_fit(with_output(kMiB, 98 * kMiB)));
  EXPECT_TRUE(tf::worker::does_not_fit(with_output(kMiB, UINT64_MAX)));
}

}  // namespace
