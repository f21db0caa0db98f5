#include "device_agent/agent/facts.h"

#include <algorithm>

#include "proto/farm/v1/farm.pb.h"

namespace tf::agent {
namespace {

using testing::ElementsAre;

TEST(Facts, CpuListsAreParsedAndSorted) {
  EXPECT_THAT(*parse_cpu_list("3,0-1"), ElementsAre(0, 1, 3));
  EXPECT_THAT(*parse_cpu_list("5"), ElementsAre(5));
}

TEST(Facts, MalformedCpuListsAreRefused) {
  for (const char* text : {"", ",", "1,", "a", "2-1", "1-2-3", "1,1", "0-3,2", "-1", "99999"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(parse_cpu_list(text).status())) << text;
  }
}

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
