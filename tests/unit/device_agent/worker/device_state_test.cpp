#include "device_agent/worker/device_state.h"

#include <filesystem>

#include "base/files/file.h"
#include "base/files/temporary_folder.h"
#include "proto/farm/v1/trial.pb.h"

namespace tf::worker {
namespace {

// Files of a machine that is not this one.
class DeviceStateTest : public ::testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    const std::string file = folder_.path() + path;
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    ASSERT_TRUE(write_file(file, text).ok());
  }
  tunefarm::farm::v1::DeviceState state(std::vector<int> cpus = {}) const {
    return DeviceProbe(std::move(cpus), folder_.path()).read();
  }
  uint64_t l2_bytes(std::vector<int> cpus) const {
    return DeviceProbe(std::move(cpus), folder_.path()).l2_bytes();
  }

  void write_zone(int number, const std::string& type, const std::string& millidegrees) {
    const std::string zone = "/sys/class/thermal/thermal_zone" + std::to_string(number);
    write(zone + "/type", type + "\n");
    if (!millidegrees.empty()) write(zone + "/temp", millidegrees + "\n");
  }

  // A board of four cores: two small ones, then two large ones with a larger second cache.
  void write_two_kinds_of_cores() {
    std::string text;
    for (int cpu = 0; cpu < 4; ++cpu) {
      text += "processor : " + std::to_string(cpu) +
              "\nFeatures : fp asimd\nCPU implementer : 0x41\nCPU part : " + (cpu < 2 ? "0xd03" : "0xd08") +
              "\n\n";
      const std::string cache = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cache/index2";
      write(cache + "/level", "2\n");
      write(cache + "/type", "Unified\n");
      write(cache + "/size", cpu < 2 ? "512K\n" : "1024K\n");
    }
    write("/proc/cpuinfo", text);
    write("/proc/device-tree/model", std::string("Firefly RK3399\0", 15));
  }

 private:
  const TemporaryFolder folder_ = *TemporaryFolder::make();
};

TEST_F(DeviceStateTest, CoresOfAnotherKindAreAnotherDevice) {
  write_two_kinds_of_cores();
  const auto small = state({0, 1}), large = state({2, 3});
  EXPECT_EQ(small.model(), "Firefly RK3399, cortex-a53");
  EXPECT_EQ(large.model(), "Firefly RK3399, cortex-a72");
  EXPECT_NE(small.fingerprint(), large.fingerprint());
  EXPECT_EQ(state({0}).fingerprint(), state({1}).fingerprint());
}

TEST_F(DeviceStateTest, CachesAreThoseOfTheFirstCpu) {
  write_two_kinds_of_cores();
  EXPECT_EQ(l2_bytes({1, 2}), 512u << 10);
  EXPECT_EQ(l2_bytes({2, 1}), 1u << 20);
}

TEST_F(DeviceStateTest, TemperatureIsTheCpusAndNotOfWhateverIsHotter) {
  write_zone(0, "AO-therm", "41000");
  write_zone(1, "CPU-therm", "52500");
  write_zone(2, "GPU-therm", "");  // switched off: its file cannot be read
  write_zone(3, "PMIC-Die", "100000");
  EXPECT_EQ(state().temperature_c(), 52.5);
}

TEST_F(DeviceStateTest, HottestZoneCountsWhereNoneIsTheCpus) {
  write_zone(0, "soc-thermal", "38000");
  write_zone(1, "gpu-thermal", "39000");
  write_zone(2, "PMIC-Die", "100000");
  EXPECT_EQ(state().temperature_c(), 39);
}

TEST_F(DeviceStateTest, RaspberryPiSaysItselfThatItIsThrottled) {
  const std::string bits = "/sys/bus/platform/devices/soc:firmware/get_throttled";
  write(bits, "50000\n");  // has been, since it was started
  EXPECT_FALSE(state().throttled());
  write(bits, "50005\n");  // is now
  EXPECT_TRUE(state().throttled());
}

TEST_F(DeviceStateTest, ClockLowerThanTheHardwaresIsThrottled) {
  const std::string clock = "/sys/devices/system/cpu/cpu0/cpufreq/";
  write(clock + "scaling_cur_freq", "1500000\n");
  write(clock + "cpuinfo_max_freq", "1800000\n");
  write(clock + "scaling_max_freq", "1800000\n");
  write(clock + "scaling_governor", "performance\n");
  EXPECT_FALSE(state().throttled());
  EXPECT_EQ(state().clock_mhz(), 1500);
  EXPECT_EQ(state().governor(), "performance");
  write(clock + "scaling_max_freq", "1500000\n");
  EXPECT_TRUE(state().throttled());
}

TEST_F(DeviceStateTest, ClockThatCoolsTheCpuIsThrottled) {
  write("/sys/class/thermal/cooling_device0/type", "pwm-fan\n");
  write("/sys/class/thermal/cooling_device0/cur_state", "3\n");
  write("/sys/class/thermal/cooling_device1/type", "cpufreq-cpu0\n");
  write("/sys/class/thermal/cooling_device1/cur_state", "0\n");
  EXPECT_FALSE(state().throttled());
  write("/sys/class/thermal/cooling_device1/cur_state", "2\n");
  EXPECT_TRUE(state().throttled());
}

TEST_F(DeviceStateTest, MachineThatTellsNothingIsNamedByItsArchitecture) {
  EXPECT_FALSE(state().model().empty());
  EXPECT_EQ(state().temperature_c(), 0);
  EXPECT_EQ(state().clock_mhz(), 0);
  EXPECT_EQ(state().governor(), "");
  EXPECT_FALSE(state().throttled());
}

}  // namespace
}  // namespace tf::worker
