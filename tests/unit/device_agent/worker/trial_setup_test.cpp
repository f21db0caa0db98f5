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

}  // namespace
