// The table of CPUs says what LLVM may use for each: what a model asks of a machine, and what the host is
// named by, depend on it.
#include "compiler/runtime/cpu_features.h"

#include <gtest/gtest.h>

#include "compiler/backends/llvm/machine.h"
#include "llvm/MC/MCSubtargetInfo.h"

namespace tf::backends {
namespace {

using target::Arch;

TEST(CpuFeatures, OfEveryKnownCpuAreThoseOfLlvm) {
  for (const Arch arch : {Arch::kX86_64, Arch::kAArch64, Arch::kArmV7, Arch::kRiscV64}) {
    for (const std::string& cpu : target::known_cpus(arch)) {
      const target::Target target =
          *target::parse_target(std::string(target::arch_name(arch)) + ":cpu=" + cpu);
      const auto machine = make_machine(target);
      ASSERT_TRUE(machine.ok()) << machine.status();
      for (const std::string& feature : target::known_features(arch))
        EXPECT_EQ(target.has(feature), (*machine)->getMCSubtargetInfo()->checkFeatures("+" + feature))
            << target.text() << " and " << feature;
    }
  }
}

TEST(CpuFeatures, OfThisArchitectureCanAllBeLookedForWhereAModelRuns) {
  for (const std::string& feature : target::known_features(target::host_target().arch)) {
    const std::string list = feature + '\0';
    const int32_t error = tf_missing_feature(list.c_str());
    EXPECT_TRUE(error == 0 || tf_missing_feature_text(error) != nullptr) << feature;
  }
}

}  // namespace
}  // namespace tf::backends
