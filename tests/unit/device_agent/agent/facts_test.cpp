#include "device_agent/agent/facts.h"

#include <algorithm>

#include "proto/farm/v1/farm.pb.h"

namespace tf::agent {
namespace {

using testing::ElementsAre;

TEST(Facts, KernelsFlagsGetLlvmsNames) {
  EXPECT_THAT(llvm_features("x86_64", "fpu pni abm avx512_vnni sse4_1 lm"),
              ElementsAre("avx512vnni", "lzcnt", "sse3", "sse4.1"));
  EXPECT_THAT(llvm_features("aarch64", "fp asimd asimddp atomics"),
              ElementsAre("dotprod", "fp-armv8", "lse", "neon"));
}

TEST(Facts, ThisMachineHasAnArchitectureCoresAndMemory) {
  const tunefarm::farm::v1::DeviceFacts facts = read_facts();
  EXPECT_FALSE(facts.arch().empty());
  EXPECT_GT(facts.threads(), 0u);
  EXPECT_GT(facts.cores(), 0u);
  EXPECT_GT(facts.memory_bytes(), 1u << 20);
  EXPECT_FALSE(allowed_cpus().empty());
}

}  // namespace
}  // namespace tf::agent
