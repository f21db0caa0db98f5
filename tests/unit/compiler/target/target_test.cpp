#include "compiler/target/target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/target/cuda_arch.h"

namespace tf::target {
namespace {

using testing::HasSubstr;

Target parsed(std::string_view text) {
  absl::StatusOr<Target> target = parse_target(text);
  EXPECT_TRUE(target.ok()) << target.status();
  return target.ok() ? *target : Target{};
}

TEST(Target, TextRoundTripsAndLeavesOutDefaults) {
  EXPECT_EQ(parsed("x86_64:cpu=znver4").text(), "x86_64:cpu=znver4");
  EXPECT_EQ(parsed("x86_64-linux:cpu=znver4,l2=1M,+avx512f").text(), "x86_64:cpu=znver4");
  EXPECT_EQ(parsed("x86_64:l2=2M,cpu=haswell,cores=4").text(), "x86_64:cpu=haswell,l2=2M,cores=4");
  EXPECT_EQ(parsed("x86_64:cpu=znver4,-avx512f,+avx512fp16").text(),
            "x86_64:cpu=znver4,+avx512fp16,-avx512f");
  EXPECT_EQ(parsed("cuda:arch=sm_90").text(), "cuda:arch=sm_90");
  EXPECT_EQ(parsed("aarch64").text(), "aarch64");
  for (Arch arch : {Arch::kX86_64, Arch::kAArch64, Arch::kArmV7, Arch::kRiscV64, Arch::kWasm32}) {
    for (const std::string& cpu : known_cpus(arch)) {
      Target target = parsed(std::string(arch_name(arch)) + ":cpu=" + cpu);
      EXPECT_EQ(parsed(target.text()), target);
    }
  }
}

TEST(Target, VectorUnitFollowsFromFeatures) {
  EXPECT_EQ(parsed("x86_64:cpu=znver4").fp32_lanes(), 16);
  EXPECT_EQ(parsed("x86_64:cpu=znver4").vector.registers, 32);
  EXPECT_EQ(parsed("x86_64:cpu=znver4,-avx512f").fp32_lanes(), 8);
  EXPECT_EQ(parsed("x86_64:cpu=haswell").lanes(8), 4);
  EXPECT_EQ(parsed("x86_64:cpu=znver5,vector=256").fp32_lanes(), 8);
  EXPECT_EQ(parsed("x86_64:cpu=znver5,vector=256").text(), "x86_64:cpu=znver5,vector=256");
  EXPECT_EQ(parsed("aarch64:cpu=cortex-a72").fp32_lanes(), 4);
  EXPECT_EQ(parsed("riscv64").fp32_lanes(), 1);
  EXPECT_TRUE(parsed("x86_64:cpu=haswell").vector.fma);
  EXPECT_FALSE(parsed("x86_64").vector.fma);
  EXPECT_TRUE(parsed("x86_64:cpu=znver4").has("avx512bf16"));
  EXPECT_FALSE(parsed("x86_64:cpu=haswell").has("avx512f"));
}

TEST(Target, GpuFeaturesAreInstructionsOfTheArchitecture) {
  for (const std::string& arch : known_cpus(Arch::kCuda)) {
    const Target target = parsed("cuda:arch=" + arch);
    EXPECT_EQ(parsed(target.text()), target);
    EXPECT_TRUE(target.has("ldmatrix") && target.has("mma_f16")) << arch;
    EXPECT_EQ(target.has("cp_async"), arch != "sm_75");
    EXPECT_EQ(target.has("wgmma"), arch == "sm_90a");
    EXPECT_EQ(target.has("tcgen05"), arch.starts_with("sm_1") && !arch.starts_with("sm_12") &&
                                         (arch.ends_with('a') || arch.ends_with('f')));
    EXPECT_GT(target.gpu.sm_shared_bytes, 0);
  }
  EXPECT_FALSE(parsed("cuda:arch=sm_90,-cp_async").has("cp_async"));
  EXPECT_EQ(parsed("cuda:arch=sm_90,-cp_async").text(), "cuda:arch=sm_90,-cp_async");
  EXPECT_EQ(parsed("cuda:arch=sm_90a,+wgmma").text(), "cuda:arch=sm_90a");
  EXPECT_THAT(std::string(parse_target("cuda:arch=sm_90,+wgmma").status().message()),
              HasSubstr("sm_90 has no wgmma"));
  EXPECT_FALSE(parsed("opencl").has("cp_async"));
}

TEST(Target, CudaCodeRunsOnLaterDevicesUnlessItIsForOneArchitecture) {
  const auto runs = [](const char* arch, int capability) {
    return runs_on_capability(parsed(std::string("cuda:arch=") + arch), capability);
  };
  EXPECT_TRUE(runs("sm_80", 80) && runs("sm_80", 86) && runs("sm_80", 90) && runs("sm_80", 120));
  EXPECT_FALSE(runs("sm_80", 75));
  EXPECT_TRUE(runs("sm_90a", 90));
  EXPECT_FALSE(runs("sm_90a", 100));
  EXPECT_TRUE(runs("sm_100f", 100) && runs("sm_100f", 103));
  EXPECT_FALSE(runs("sm_100f", 110) || runs("sm_103f", 100));
  EXPECT_FALSE(runs_on_capability(parsed("opencl"), 90));
}

TEST(Target, NamesWhatWasMeant) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"x86", "did you mean x86_64?"},
      {"x86-64", "did you mean x86_64?"},
      {"amd64", "did you mean x86_64?"},
      {"ARM64", "did you mean aarch64?"},
      {"armhf", "did you mean armv7?"},
      {"native", "did you mean host?"},
      {"zen4", "did you mean x86_64:cpu=znver4?"},
      {"znver3", "did you mean x86_64:cpu=znver3?"},
      {"cortex-a72", "did you mean aarch64:cpu=cortex-a72?"},
      {"sm_90", "did you mean cuda:arch=sm_90?"},
      {"aarch46", "did you mean aarch64?"},
      {"x86_64:cpu=zen4", "did you mean znver4?"},
      {"x86_64:cpu=haswel", "did you mean haswell?"},
      {"aarch64:cpu=cortex-a27", "did you mean cortex-a"}};
  for (const auto& [text, words] : rows)
    EXPECT_THAT(std::string(parse_target(text).status().message()), HasSubstr(words)) << text;
  EXPECT_THAT(std::string(parse_target("sparc").status().message()), testing::Not(HasSubstr("did you mean")));
}

TEST(Target, UnknownPartsAreNamedWithWhatIsKnown) {
  auto message = [](std::string_view text) { return std::string(parse_target(text).status().message()); };
  EXPECT_THAT(message("sparc"), HasSubstr("unknown architecture 'sparc'; known: host, x86_64, aarch64"));
  EXPECT_THAT(message("host:cpu=znver4"), HasSubstr("host is this machine as it is"));
  EXPECT_THAT(message("host-linux"), testing::Not(HasSubstr("unknown architecture")));
  EXPECT_THAT(message("x86_64:cpu=zen9"), HasSubstr("unknown cpu 'zen9'; known: x86-64, "));
  EXPECT_THAT(message("cuda:arch=sm_1"), HasSubstr("unknown arch 'sm_1'; did you mean sm_75? Known: sm_75"));
  EXPECT_THAT(message("x86_64:+avx9"), HasSubstr("unknown feature 'avx9'; known: sse4.2"));
  EXPECT_THAT(message("x86_64:colour=red"), HasSubstr("unknown key 'colour'"));
  EXPECT_THAT(message("x86_64:l1=much"), HasSubstr("l1=much is not a number"));
  EXPECT_THAT(message("x86_64:cpu=haswell,vector=512"), HasSubstr("vector=512"));
  EXPECT_THAT(message("x86_64-plan9"), HasSubstr("unknown operating system 'plan9'"));
  EXPECT_THAT(message(""), HasSubstr("unknown architecture ''"));
  EXPECT_THAT(message("x86_64:"), HasSubstr("unknown key ''"));
}

TEST(Target, HostIsAnExplicitTargetWithCaches) {
  Target host = host_target();
  EXPECT_EQ(parsed("host"), host);
  EXPECT_EQ(parsed(host.text()), host);
  EXPECT_NE(host.text(), "host");
  EXPECT_GT(host.caches.l1_bytes, 4 << 10);
  EXPECT_GE(host.caches.l2_bytes, host.caches.l1_bytes);
  EXPECT_GE(host_cores(), 1);
}

}  // namespace
}  // namespace tf::target
