// The wall clock may jump: nothing of the farm and of the tuner decides by it. It only dates what people
// read.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace {

namespace fs = std::filesystem;

// Where it may stand, and why.
const std::map<std::string, std::string>& exceptions() {
  static const std::map<std::string, std::string> files = {
      {"rpc/clock.cpp", "the clocks themselves"},
      {"rpc/identity", "certificates are valid between two dates"},
      {"tracker/ca", "the same; the audit log is dated"},
      {"tracker/service/agent_service.cpp", "tells agents what time it has, for their doctor"},
      {"tracker/service/operator_service.cpp", "reservations begin at a date"},
      {"tracker/operators/operator_commands.cpp", "the same"},
      {"rpc/doctor", "compares clocks"},
      {"device_agent/agent/doctor", "asks whether a certificate should have been renewed"},
      {"tuner/cli/doctor", "the same"},
      {"device_agent/worker/sandbox/system_calls.cpp", "names what candidates may call"},
      {"tuner/session/network/network_trial.cpp", "verdicts are dated"},
  };
  return files;
}

bool is_exception(const std::string& path) {
  for (const auto& [file, why] : exceptions())
    if (path.starts_with(file)) return true;
  return false;
}

TEST(WallClock, NothingDecidesByIt) {
  const fs::path root = TF_SOURCE_DIR;
  int looked_at = 0;
  for (const char* top : {"rpc", "tracker", "device_agent", "database", "tuner", "compiler"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
      const std::string path = fs::relative(entry.path(), root);
      if ((!path.ends_with(".h") && !path.ends_with(".cpp")) || is_exception(path)) continue;
      ++looked_at;
      std::ifstream file(entry.path());
      for (std::string line; std::getline(file, line);) {
        for (const char* reader : {"absl::Now(", "system_clock", "CLOCK_REALTIME", "gettimeofday"}) {
          EXPECT_EQ(line.find(reader), std::string::npos)
              << path << " reads the wall clock: " << line
              << "\nuse rpc::Clock or a steady clock; GetCurrentTimeNanos where a date is kept";
        }
      }
    }
  }
  EXPECT_GT(looked_at, 50) << "the test looked at too little to mean anything";
}

}  // namespace
