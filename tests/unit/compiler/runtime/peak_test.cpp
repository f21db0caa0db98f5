#include "compiler/runtime/peak.h"

#include <gtest/gtest.h>

#include "compiler/runtime/thread_pool.h"

namespace {

TEST(Peak, IsAPlausibleRate) {
  const double gflops = tf_peak_gflops(20'000'000);
  EXPECT_GT(gflops, 0.5) << tf_peak_isa();
  EXPECT_LT(gflops, 2000) << tf_peak_isa();
}

TEST(Peak, OfOneWorkerIsThatOfOneThread) {
  tf_runtime* runtime = tf_runtime_create(1);
  const double alone = tf_peak_gflops(50'000'000);
  const double pooled = tf_peak_gflops_threads(runtime, 50'000'000);
  tf_runtime_destroy(runtime);
  EXPECT_GT(pooled, alone * 0.3);
  EXPECT_LT(pooled, alone * 3);
}

}  // namespace
