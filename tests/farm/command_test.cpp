// The commands' answers to mistakes: one clear line and a documented exit code.

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/files/temporary_folder.h"
#include "rpc/connection/protocol.h"
#include "tests/farm/harness.h"

namespace tf::farm_test {
namespace {

using testing::HasSubstr;

class CommandTest : public testing::Test {
 protected:
  // Runs to its end and returns the exit code; what it wrote is in output().
  int run(std::vector<std::string> arguments) {
    unlink((dir_.path() + "/out").c_str());
    arguments[0] = program(arguments[0]);
    return Process(arguments, dir_.path() + "/out").wait();
  }

  std::string output() {
    std::string text;
    for (const std::string& line : lines_of(dir_.path() + "/out")) text += line + "\n";
    return text;
  }

  void expect_one_line_with(const std::string& part) {
    EXPECT_EQ(lines_of(dir_.path() + "/out").size(), 1u) << output();
    EXPECT_THAT(output(), HasSubstr(part));
  }

  std::string write(const std::string& name, const std::string& text) {
    const std::string path = dir_.path() + "/" + name;
    std::ofstream(path) << text;
    return path;
  }

  // A tracker that has said that it serves.
  std::unique_ptr<Process> serving_tracker(const rpc::Endpoint& endpoint) {
    const std::string log = dir_.path() + "/tracker.log";
    auto tracker =
        std::make_unique<Process>(std::vector<std::string>{program("tracker"), "serve", "--listen",
                                                           endpoint.text(), "--state", dir_.path() + "/t.db"},
                                  log);
    for (int i = 0; i < 3000 && lines_of(log).empty(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return tracker;
  }

  const TemporaryFolder dir_ = *TemporaryFolder::make();
};

TEST_F(CommandTest, EveryCommandHasHelpWithAnExample) {
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"tracker", "--help"},
                                             {"tracker", "serve", "--help"},
                                             {"tracker", "devices", "--help"},
                                             {"tracker", "waiting", "--help"},
                                             {"tracker", "cordon", "--help"},
                                             {"tracker", "uncordon", "--help"},
                                             {"tracker", "drain", "--help"},
                                             {"tracker", "readmit", "--help"},
                                             {"tracker", "forget", "--help"},
                                             {"tracker", "pardon", "--help"},
                                             {"tracker", "reserve", "--help"},
                                             {"tracker", "unreserve", "--help"},
                                             {"tracker", "reservations", "--help"},
                                             {"tracker", "release", "--help"},
                                             {"device_agent", "--help"},
                                             {"device_agent", "doctor", "--help"}}) {
    EXPECT_EQ(run(command), 0);
    EXPECT_THAT(output(), HasSubstr("Example:"));
  }
}

TEST_F(CommandTest, TrackerAndAgentTellTheVersionOfTheirProtocol) {
  for (const char* name : {"tracker", "device_agent"}) {
    EXPECT_EQ(run({name, "--version"}), 0);
    expect_one_line_with(absl::StrCat(name, " "));
    EXPECT_THAT(output(), HasSubstr(absl::StrCat("(farm protocol ", rpc::kProtocolVersion)));
  }
}

TEST_F(CommandTest, UsageMistakesExitWithTwo) {
  EXPECT_EQ(run({"tracker"}), 2);
  EXPECT_EQ(run({"tracker", "drain"}), 2);
  EXPECT_EQ(run({"tracker", "serve", "--lease-seconds", "0"}), 2);
  EXPECT_EQ(run({"device_agent"}), 2);
  expect_one_line_with("--key");
  EXPECT_EQ(run({"device_agent", "--key", "box", "--cpus", "x"}), 2);
  expect_one_line_with("0-3,6");
  EXPECT_EQ(run({"device_agent", "--key", "box", "--cpus", "0,0"}), 2);
  expect_one_line_with("name each CPU once");
  EXPECT_EQ(run({"device_agent", "--key", "box", "--slots", "0,0"}), 2);
  expect_one_line_with("CPU 0 is given twice");
  EXPECT_EQ(run({"device_agent", "--key", "box", "--slots", "0,1023"}), 2);
  expect_one_line_with("this process may run on");
  EXPECT_EQ(run({"device_agent", "--key", "box", "--slots", "0", "--cpus", "0"}), 2);
  expect_one_line_with("give one of them");
  EXPECT_EQ(run({"device_agent", "--key", "box", "--cpus", "0", "--advertise", "127.0.0.1:1"}), 2);
  expect_one_line_with("without --listen");
  EXPECT_EQ(run({"tracker", "devices", "--tracker", "nonsense"}), 2);
  expect_one_line_with("tracker devices: \"nonsense\" is not HOST:PORT");
}

TEST_F(CommandTest, WhatIsNoNumberNoTimeOrNoDurationIsOneLineThatSaysSo) {
  EXPECT_EQ(run({"tracker", "unreserve", "abc"}), 2);
  expect_one_line_with("tracker unreserve: ID: 'abc' is not a whole number; see `tracker unreserve --help`");
  EXPECT_EQ(run({"tracker", "unreserve", "--", "-1"}), 2);
  expect_one_line_with("tracker unreserve: ID: '-1' is below 0; see `tracker unreserve --help`");
  for (const char* length : {"0s", "-1h", "0d"}) {
    EXPECT_EQ(run({"tracker", "reserve", "--user", "ada", "--for", length}), 2) << length;
    expect_one_line_with(" is not above zero: give a duration such as 2d or 1h30m\n");
  }
  const auto reserve = [this](const std::string& option, const std::string& value) {
    return run({"tracker", "reserve", "--user", "ada", "--for", "1h", option, value});
  };
  EXPECT_EQ(reserve("--from", "yesterday"), 2);
  expect_one_line_with("--from yesterday is not a time: write it as in 2026-05-01T09:00:00Z\n");
  for (const char* length : {"10", "d", "1.5d", "2d-1h", "2dd"}) {
    EXPECT_EQ(run({"tracker", "reserve", "--user", "ada", "--for", length}), 2) << length;
    expect_one_line_with(" is not a duration: give numbers with their units (d, h, m, s), as in 2d or 1h30m");
  }
}

TEST_F(CommandTest, PlainTextBeyondLoopbackIsRefused) {
  EXPECT_EQ(run({"tracker", "serve", "--listen", "0.0.0.0:0", "--state", dir_.path() + "/t.db"}), 2);
  expect_one_line_with("loopback");
  EXPECT_EQ(run({"device_agent", "--key", "box", "--tracker", "10.0.0.1:7190"}), 2);
  expect_one_line_with("loopback");
}

TEST_F(CommandTest, DoctorSaysWhatFailsAndWhatToDo) {
  const rpc::Endpoint endpoint = free_endpoint();
  const std::vector<std::string> doctor = {"device_agent",
                                           "doctor",
                                           "--tracker",
                                           endpoint.text(),
                                           "--key",
                                           "box",
                                           "--cpus",
                                           "0",
                                           "--state-dir",
                                           dir_.path() + "/agent",
                                           "--without-sandbox",
                                           "missing"};
  EXPECT_EQ(run(doctor), 1);
  EXPECT_THAT(output(), HasSubstr("FAILED  tracker"));
  EXPECT_THAT(output(), HasSubstr(endpoint.text()));
  EXPECT_THAT(output(), HasSubstr("the golden kernel takes"));
  EXPECT_THAT(output(), HasSubstr("  holds: "));
  const auto tracker = serving_tracker(endpoint);
  std::vector<std::string> json = doctor;
  json.push_back("--json");
  EXPECT_EQ(run(json), 0) << output();
  EXPECT_THAT(output(), HasSubstr("\"check\": \"clock\""));
  EXPECT_THAT(output(), HasSubstr("on both sides"));
}

TEST_F(CommandTest, DoctorWithoutAKeyExaminesEverythingElse) {
  const auto examined = [this](std::vector<std::string> more) {
    std::vector<std::string> doctor = {"device_agent",         "doctor",      "--tracker",
                                       free_endpoint().text(), "--state-dir", dir_.path(),
                                       "--without-sandbox",    "missing",     "--json"};
    doctor.insert(doctor.end(), more.begin(), more.end());
    EXPECT_EQ(run(doctor), 1);
    std::map<std::string, nlohmann::json> checks;
    for (const nlohmann::json& check : nlohmann::json::parse(output(), nullptr, /*allow_exceptions=*/false)) {
      checks[check.value("check", "")] = check;
      EXPECT_EQ(check.value("ok", false), check.value("remedy", "").empty() || check["health"] == "weak")
          << "what fails says what to do: " << check;
    }
    return checks;
  };
  auto nameless = examined({"--cpus", "0"});
  EXPECT_THAT(nameless["device"].value("detail", ""), HasSubstr("it has no key"));
  EXPECT_THAT(nameless["device"].value("remedy", ""), HasSubstr("give --key"));
  for (const char* check : {"CPUs", "governor", "memory", "state folder", "sandbox", "measuring"})
    EXPECT_TRUE(nameless.contains(check)) << check;
  EXPECT_EQ(nameless["CPUs"].value("detail", ""), "slots: 0");
  auto wrong = examined({"--cpus", "x"});
  EXPECT_THAT(wrong["device"].value("detail", ""),
              HasSubstr("its slots, state folder and port were not checked"));
  for (const char* check : {"governor", "memory", "sandbox", "measuring"})
    EXPECT_TRUE(wrong.contains(check)) << check;
}

TEST_F(CommandTest, OneAgentOffersSeveralDevicesOfItsConfigurationFile) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "two devices need two CPUs";
  const rpc::Endpoint endpoint = free_endpoint();
  const Process tracker(
      {program("tracker"), "serve", "--listen", endpoint.text(), "--state", dir_.path() + "/t.db"},
      dir_.path() + "/tracker.log");
  const std::string config =
      write("agent.txtpb", "tracker: \"" + endpoint.text() + "\"\nstate_dir: \"" + dir_.path() +
                               "\"\ndevices { key: \"big\" cpus: \"0\" }\n"
                               "devices { key: \"little\" slots: \"1\" }\n");
  Process agent({program("device_agent"), "--config", config}, dir_.path() + "/agent.log");
  for (int i = 0; i < 200; ++i) {
    run({"tracker", "devices", "--tracker", endpoint.text()});
    if (lines_of(dir_.path() + "/out").size() == 3) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_THAT(output(), HasSubstr(" big "));
  EXPECT_THAT(output(), HasSubstr(" little "));
  agent.signal(SIGTERM);
  EXPECT_EQ(agent.wait(), 0);
  for (const std::string& line : lines_of(dir_.path() + "/agent.log")) {
    if (HasFailure()) std::fprintf(stderr, "  %s\n", line.c_str());
  }
}

TEST_F(CommandTest, TrackerThatIsNotThereIsNamed) {
  const rpc::Endpoint nobody = free_endpoint();
  EXPECT_EQ(run({"tracker", "devices", "--tracker", nobody.text()}), 1);
  expect_one_line_with(nobody.text());
}

TEST_F(CommandTest, MistakeInAConfigurationFileIsShownWithItsPlace) {
  const std::string config = write("c.txtpb", "listen: \"127.0.0.1:0\"\nlisten_on: 3\n");
  EXPECT_EQ(run({"tracker", "serve", "--config", config}), 2);
  expect_one_line_with("c.txtpb:2:");
  EXPECT_EQ(run({"tracker", "serve", "--config", dir_.path() + "/none"}), 1);
  expect_one_line_with("none");
}

TEST_F(CommandTest, FlagsOverrideTheConfigurationFile) {
  const std::string config =
      write("c.txtpb", "listen: \"0.0.0.0:0\"\nlease_seconds: 17\nstate: \"" + dir_.path() + "/t.db\"\n");
  Process tracker({program("tracker"), "serve", "--config", config, "--listen", "127.0.0.1:0"},
                  dir_.path() + "/out");
  for (int i = 0; i < 3000 && lines_of(dir_.path() + "/out").empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_THAT(output(), HasSubstr("listening on 127.0.0.1:"));
  EXPECT_THAT(output(), HasSubstr("lease_seconds: 17"));
  tracker.signal(SIGTERM);
  EXPECT_EQ(tracker.wait(), 0);
}

TEST_F(CommandTest, MistakesInUsersPoliciesAreNamed) {
  EXPECT_EQ(run({"tracker", "serve", "--listen", "127.0.0.1:0", "--config",
                 write("share.txtpb", "users { name: \"ci\" share: -1 }\n")}),
            2);
  expect_one_line_with("user 'ci' has the share -1");
  EXPECT_EQ(run({"tracker", "serve", "--listen", "127.0.0.1:0", "--config",
                 write("twice.txtpb", "users { name: \"ci\" }\nusers { name: \"ci\" }\n")}),
            2);
  expect_one_line_with("user ci appears twice in `users`");
  EXPECT_EQ(run({"tracker", "serve", "--listen", "127.0.0.1:0", "--config",
                 write("low.txtpb", "users { name: \"ci\" highest_priority: -11 }\n")}),
            2);
  expect_one_line_with("user 'ci' has the highest_priority -11: give one from -10 to 10");
  EXPECT_EQ(run({"tracker", "serve", "--listen", "127.0.0.1:0", "--highest-priority", "11"}), 2);
  expect_one_line_with("--highest-priority");
}

TEST_F(CommandTest, PriorityOfUsersWhomNobodyNamedIsBoundByAFlag) {
  Process tracker({program("tracker"), "serve", "--listen", "127.0.0.1:0", "--state", dir_.path() + "/t.db",
                   "--highest-priority=-3"},
                  dir_.path() + "/out");
  for (int i = 0; i < 3000 && lines_of(dir_.path() + "/out").empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_THAT(output(), HasSubstr("highest_priority: -3"));
  tracker.signal(SIGTERM);
  EXPECT_EQ(tracker.wait(), 0);
}

TEST_F(CommandTest, FileThatIsNoTrackerStateIsRefusedAndKept) {
  const std::string path = write("state", std::string(5000, 'x'));
  EXPECT_EQ(run({"tracker", "serve", "--listen", "127.0.0.1:0", "--state", path}), 1);
  expect_one_line_with(path);
  EXPECT_EQ(lines_of(path).at(0).size(), 5000u);
}

TEST_F(CommandTest, PowerCycleCommandThatIsNotThereIsRefusedAtOnce) {
  EXPECT_EQ(run({"tracker", "serve", "--listen", "127.0.0.1:0", "--state", dir_.path() + "/t.db",
                 "--power-cycle-command", "/nonesuch/power off"}),
            1);
  expect_one_line_with("--power-cycle-command: cannot find an executable program /nonesuch/power");
  EXPECT_FALSE(std::filesystem::exists(dir_.path() + "/t.db"));
}

TEST_F(CommandTest, TrackerWhosePortIsInUseMakesNoState) {
  const rpc::Endpoint used = free_endpoint();
  const auto tracker = serving_tracker(used);
  const std::string state = dir_.path() + "/other.db";
  EXPECT_EQ(run({"tracker", "serve", "--listen", used.text(), "--state", state}), 1);
  expect_one_line_with("--listen: cannot listen on " + used.text() + ": the port is in use");
  EXPECT_EQ(run({"tracker", "serve", "--listen", "127.0.0.1:0", "--metrics", used.text(), "--state", state}),
            1);
  expect_one_line_with("--metrics: cannot listen on " + used.text() + ": the port is in use");
  const std::string free = free_endpoint().text();
  EXPECT_EQ(run({"tracker", "serve", "--listen", free, "--metrics", free, "--state", state}), 2);
  expect_one_line_with("is the same as --listen");
  for (const char* suffix : {"", ".lock", ".artifacts", "-wal"})
    EXPECT_FALSE(std::filesystem::exists(state + suffix)) << suffix;
}

TEST_F(CommandTest, AgentWhosePortIsInUseMakesNoState) {
  const rpc::Endpoint used = free_endpoint();
  const auto tracker = serving_tracker(used);
  const std::string state = dir_.path() + "/agent";
  for (const char* option : {"--listen", "--metrics"}) {
    EXPECT_EQ(run({"device_agent", "--tracker", used.text(), "--key", "box", "--without-sandbox", "missing",
                   option, used.text(), "--state-dir", state}),
              1);
    expect_one_line_with(absl::StrCat(option, ": cannot listen on ", used.text(), ": the port is in use"));
    EXPECT_FALSE(std::filesystem::exists(state)) << option;
  }
  const std::string free = free_endpoint().text();
  EXPECT_EQ(run({"device_agent", "--tracker", used.text(), "--key", "box", "--without-sandbox", "missing",
                 "--listen", free, "--metrics", free, "--state-dir", state}),
            2);
  expect_one_line_with("is the same as --listen");
  EXPECT_FALSE(std::filesystem::exists(state));
}

TEST_F(CommandTest, UnknownDeviceOrLeaseExitsWithThree) {
  const rpc::Endpoint endpoint = free_endpoint();
  const auto tracker = serving_tracker(endpoint);
  EXPECT_EQ(run({"tracker", "drain", "nobody", "--tracker", endpoint.text()}), 3);
  expect_one_line_with("nobody");
  EXPECT_EQ(run({"tracker", "release", "nobody", "--tracker", endpoint.text()}), 3);
  expect_one_line_with("no device, slot or active lease is called nobody: see `tracker devices`");
  EXPECT_EQ(run({"tracker", "unreserve", "7", "--tracker", endpoint.text()}), 3);
  expect_one_line_with("no reservation 7");
  EXPECT_EQ(run({"tracker", "devices", "--json", "--tracker", endpoint.text()}), 0);
  EXPECT_EQ(output(), "[]\n");
  EXPECT_EQ(run({"tracker", "devices", "--key", "nope", "--json", "--tracker", endpoint.text()}), 0);
  EXPECT_EQ(output(), "[]\n");
  EXPECT_EQ(run({"tracker", "devices", "--key", "nope", "--tracker", endpoint.text()}), 0);
  EXPECT_THAT(output(), HasSubstr("tracker devices: no device matches the key and labels"));
}

TEST_F(CommandTest, ReservationsAreMadeListedAndEnded) {
  const rpc::Endpoint endpoint = free_endpoint();
  const auto tracker = serving_tracker(endpoint);
  EXPECT_EQ(run({"tracker", "reserve", "--user", "alice", "--selector", "room=lab3", "--from",
                 "2099-05-01T09:00:00Z", "--for", "1h30m", "--tracker", endpoint.text()}),
            0);
  EXPECT_EQ(lines_of(dir_.path() + "/out").size(), 3u) << output();
  EXPECT_THAT(output(), HasSubstr("1\n"));
  EXPECT_THAT(output(), HasSubstr("user alice neither holds nor waits for a device"));
  EXPECT_THAT(output(), HasSubstr("no device matches the key and labels yet; reservation 1 applies"));
  EXPECT_EQ(run({"tracker", "reservations", "--tracker", endpoint.text()}), 0);
  EXPECT_THAT(output(),
              HasSubstr("1   alice  -    room=lab3  2099-05-01T09:00:00Z  2099-05-01T10:30:00Z  no"));
  EXPECT_EQ(run({"tracker", "reserve", "--user", "bob", "--selector", "room in (a)", "--for", "1h",
                 "--tracker", endpoint.text()}),
            2);
  expect_one_line_with("room in (a)");
  EXPECT_EQ(run({"tracker", "reserve", "--user", "bob", "--for", "soon", "--tracker", endpoint.text()}), 2);
  expect_one_line_with("1h30m");
  EXPECT_EQ(
      run({"tracker", "reserve", "--user", "bob", "--for", "9999999999999h", "--tracker", endpoint.text()}),
      2);
  expect_one_line_with("longer than 366 days");
  EXPECT_EQ(run({"tracker", "reserve", "--user", "bob", "--for", "400d", "--tracker", endpoint.text()}), 2);
  expect_one_line_with("longer than 366 days");
  EXPECT_EQ(run({"tracker", "unreserve", "-1", "--tracker", endpoint.text()}), 2);
  expect_one_line_with("-1");
  EXPECT_EQ(run({"tracker", "reserve", "--user", "bob", "--key", "pi", "--for", "1h", "--json", "--tracker",
                 endpoint.text()}),
            0);
  const nlohmann::json second = nlohmann::json::parse(output(), nullptr, /*allow_exceptions=*/false);
  ASSERT_TRUE(second.is_object()) << output();
  EXPECT_EQ(second.value("id", 0), 2);
  EXPECT_EQ(second.value("user", ""), "bob");
  EXPECT_EQ(second.value("in_force", false), true);
  EXPECT_EQ(run({"tracker", "unreserve", "2", "--tracker", endpoint.text()}), 0);
  EXPECT_EQ(run({"tracker", "unreserve", "1", "--tracker", endpoint.text()}), 0);
  EXPECT_EQ(run({"tracker", "reservations", "--json", "--tracker", endpoint.text()}), 0);
  EXPECT_EQ(output(), "[]\n");
  EXPECT_EQ(run({"tracker", "waiting", "--json", "--tracker", endpoint.text()}), 0);
  EXPECT_THAT(output(), HasSubstr("\"requests\": []"));
  EXPECT_EQ(run({"tracker", "waiting", "--tracker", endpoint.text()}), 0);
  EXPECT_EQ(output(), "nobody is waiting\n");
}

}  // namespace
}  // namespace tf::farm_test
