#include "device_agent/agent/machine/facts.h"

#include <algorithm>
#include <filesystem>

#include "base/files/file.h"
#include "base/files/temporary_folder.h"
#include "proto/farm/v1/farm.pb.h"

namespace tf::agent {
namespace {

using testing::ElementsAre;

TEST(Facts, KernelsFlagsGetLlvmsNames) {
  EXPECT_THAT(llvm_features("x86_64", "fpu pni abm avx512_vnni sse4_1 lm"),
              ElementsAre("avx512vnni", "lzcnt", "sse3", "sse4.1"));
}

TEST(Facts, Arms64BitKernelsGiveLlvmsNames) {
  // A Raspberry Pi 4, a Raspberry Pi 5, a Graviton 3.
  EXPECT_THAT(llvm_features("aarch64", "fp asimd evtstrm crc32 cpuid"),
              ElementsAre("crc", "fp-armv8", "neon"));
  EXPECT_THAT(
      llvm_features("aarch64",
                    "fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm "
                    "lrcpc dcpop asimddp"),
      ElementsAre("aes", "crc", "dotprod", "fp-armv8", "fullfp16", "lse", "neon", "rcpc", "rdm", "sha2"));
  EXPECT_THAT(llvm_features("aarch64", "asimd asimdhp asimddp sve i8mm bf16 svebf16 svei8mm"),
              ElementsAre("bf16", "dotprod", "fullfp16", "i8mm", "neon", "sve"));
}

TEST(Facts, A32BitAgentHasArmV7sFeaturesUnderKernelsOfEitherWidth) {
  EXPECT_THAT(llvm_features(
                  "armv7l",
                  "half thumb fastmult vfp edsp neon vfpv3 tls vfpv4 idiva idivt vfpd32 lpae evtstrm crc32"),
              ElementsAre("crc", "hwdiv", "hwdiv-arm", "neon", "vfp3", "vfp4"));
  EXPECT_THAT(llvm_features("armv7l", "fp asimd evtstrm crc32 cpuid"),
              ElementsAre("crc", "neon", "vfp3", "vfp4"));
}

TEST(Facts, BoardWithTwoKindsOfCoresIsDescribedByThoseThatItOffers) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const auto write = [&](const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(folder.path() + path).parent_path());
    ASSERT_TRUE(write_file(folder.path() + path, text).ok());
  };
  write("/proc/device-tree/model", "Firefly RK3399");
  write("/proc/cpuinfo",
        "processor : 0\nFeatures : fp asimd crc32\nCPU implementer : 0x41\nCPU architecture: 8\nCPU part : "
        "0xd03\n\n"
        "processor : 4\nFeatures : fp asimd crc32\nCPU implementer : 0x41\nCPU architecture: 8\nCPU part : "
        "0xd08\n");
  for (const auto& [cpu, size] : {std::pair("0", "32K"), std::pair("4", "48K")}) {
    const std::string cache = std::string("/sys/devices/system/cpu/cpu") + cpu + "/cache/index0";
    write(cache + "/level", "1");
    write(cache + "/type", "Data");
    write(cache + "/size", size);
  }
  const tunefarm::farm::v1::DeviceFacts facts = read_facts({4}, folder.path(), "aarch64");
  EXPECT_EQ(facts.arch(), "aarch64");
  EXPECT_EQ(facts.cpu_model(), "Firefly RK3399, cortex-a72");
  EXPECT_EQ(facts.cpu_vendor(), "0x41");
  EXPECT_EQ(facts.cpu_family(), 8u);
  EXPECT_EQ(facts.cpu_model_number(), 0xd08u);
  EXPECT_EQ(facts.l1d_bytes(), 48u << 10);
  EXPECT_THAT(facts.cpu_features(), ElementsAre("crc", "fp-armv8", "neon"));
}

TEST(Facts, EveryLayerOfTheSandboxHasItsNameInTheProtocol) {
  tunefarm::farm::v1::DeviceFacts facts;
  add_sandbox({}, facts);
  EXPECT_EQ(facts.capabilities_size(), static_cast<int>(worker::sandbox::kCapabilityCount));
  facts.clear_capabilities();
  worker::CapabilitySet without;
  without.add(worker::Capability::kSeccomp);
  add_sandbox(without, facts);
  EXPECT_EQ(facts.capabilities_size(), static_cast<int>(worker::sandbox::kCapabilityCount) - 1);
  EXPECT_THAT(facts.capabilities(), testing::Not(testing::Contains(tunefarm::farm::v1::CAPABILITY_SECCOMP)));
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
