#include "base/machine/processors.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/files/file.h"
#include "base/files/temporary_folder.h"

namespace tf {
namespace {

// As Linux writes it: two kinds of cores, and lines of the board after the last.
constexpr const char* kRockchip = R"(processor	: 0
BogoMIPS	: 48.00
Features	: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp
CPU implementer	: 0x41
CPU architecture: 8
CPU variant	: 0x2
CPU part	: 0xd05
CPU revision	: 0

processor	: 1
BogoMIPS	: 48.00
Features	: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp
CPU implementer	: 0x41
CPU architecture: 8
CPU variant	: 0x4
CPU part	: 0xd0b
CPU revision	: 0

Serial		: 0000000000000000
)";

constexpr const char* kOldKernel = R"(Processor	: ARMv7 Processor rev 5 (v7l)
processor	: 0
BogoMIPS	: 38.40

processor	: 1
BogoMIPS	: 38.40

Features	: half thumb fastmult vfp edsp neon vfpv3 tls vfpv4 idiva idivt
CPU implementer	: 0x41
CPU architecture: 7
CPU part	: 0xc07

Hardware	: BCM2709
)";

class Machine : public ::testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root() + path).parent_path());
    ASSERT_TRUE(write_file(root() + path, text).ok());
  }
  std::string root() const { return folder_.path(); }

 private:
  const TemporaryFolder folder_ = *TemporaryFolder::make();
};

TEST_F(Machine, HasACoreOfItsKindForEachProcessor) {
  write("/proc/cpuinfo", kRockchip);
  const std::vector<Processor> processors = read_processors(root());
  ASSERT_EQ(processors.size(), 2u);
  EXPECT_EQ(processors[1].number, 1u);
  EXPECT_EQ(arm_core(processors[0]), "cortex-a55");
  EXPECT_EQ(arm_core(processors[1]), "cortex-a76");
  EXPECT_EQ(processors[1].field("CPU variant"), "0x4");
  EXPECT_EQ(processors[0].field("no such field"), "");
}

TEST_F(Machine, IsNamedAfterItsBoardAndTheCoresThatAreUsed) {
  write("/proc/cpuinfo", kRockchip);
  write("/proc/device-tree/model", std::string("Radxa ROCK 5B\0", 14));
  const std::vector<Processor> processors = read_processors(root());
  EXPECT_EQ(processor_model(processors, {}, root()), "Radxa ROCK 5B, cortex-a55+cortex-a76");
  EXPECT_EQ(processor_model(processors, {1}, root()), "Radxa ROCK 5B, cortex-a76");
}

TEST_F(Machine, TellsOfItsBoardWhereEachProcessorSaysLittle) {
  write("/proc/cpuinfo", kOldKernel);
  const std::vector<Processor> processors = read_processors(root());
  ASSERT_EQ(processors.size(), 2u);
  EXPECT_EQ(arm_core(processors[1]), "cortex-a7");
  EXPECT_EQ(processor_model(processors, {}, root()), "BCM2709, cortex-a7");
}

TEST_F(Machine, KeepsTheNumbersOfACoreThatHasNoName) {
  write("/proc/cpuinfo", "processor : 0\nCPU implementer : 0x61\nCPU part : 0x022\n");
  EXPECT_EQ(processor_model(read_processors(root()), {}, root()), "core 0x61:0x022");
}

TEST_F(Machine, IsNamedByItsProcessorOnX86) {
  write("/proc/cpuinfo", "processor : 0\nvendor_id : AuthenticAMD\nmodel name : AMD EPYC 9R14\n\n");
  EXPECT_EQ(processor_model(read_processors(root()), {}, root()), "AMD EPYC 9R14");
}

TEST_F(Machine, WithoutFilesHasNoProcessorAndNoName) {
  EXPECT_TRUE(read_processors(root()).empty());
  EXPECT_EQ(processor_model({}, {}, root()), "");
}

}  // namespace
}  // namespace tf
