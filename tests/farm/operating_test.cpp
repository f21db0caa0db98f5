// What an operator's tools ask the daemons: gRPC health and reflection, Prometheus's page, logs that a
// collector reads.

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/files/file.h"
#include "base/files/temporary_folder.h"
#include "proto/farm/v1/trial.pb.h"
#include "tests/farm/harness.h"
#include "tests/farm/wait_until.h"
#include "tests/support/operating/probe.h"
#include "tests/support/operating/scrape.h"

namespace tf::farm_test {
namespace {

using test::health;
using test::metric;
using test::scrape;
using test::services;
using testing::HasSubstr;

class Operating : public testing::Test {
 protected:
  void TearDown() override {
    if (!HasFailure()) return;
    for (const char* log : {"tracker.log", "agent.log"}) {
      for (const std::string& line : lines_of(dir_.file(log))) std::fprintf(stderr, "  %s\n", line.c_str());
    }
  }

  std::unique_ptr<Process> tracker(std::vector<std::string> more) {
    std::vector<std::string> arguments = {program("tracker"), "serve",   "--listen",
                                          tracker_.text(),    "--state", dir_.file("tracker.db")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return std::make_unique<Process>(arguments, dir_.file("tracker.log"));
  }

  std::unique_ptr<Process> agent(const rpc::Endpoint& tracker, std::vector<std::string> more) {
    std::vector<std::string> arguments = {program("device_agent"),
                                          "--tracker",
                                          tracker.text(),
                                          "--state-dir",
                                          dir_.file("agent"),
                                          "--cpus",
                                          "0",
                                          "--without-sandbox",
                                          "missing",
                                          "--golden-seconds",
                                          "0"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return std::make_unique<Process>(arguments, dir_.file("agent.log"));
  }

  const TemporaryFolder dir_ = *TemporaryFolder::make();
  const rpc::Endpoint tracker_ = free_endpoint(), direct_ = free_endpoint(), page_ = free_endpoint(),
                      agent_page_ = free_endpoint();
};

TEST_F(Operating, DaemonsSayThatTheyServeAndWhichServicesTheyHave) {
  const auto tracker = this->tracker({"--reflection"});
  const auto agent = this->agent(tracker_, {"--key", "box", "--listen", direct_.text(), "--reflection"});
  for (const auto& [endpoint, service] :
       {std::pair(tracker_, "tunefarm.farm.v1.Operators"), std::pair(direct_, "tunefarm.farm.v1.Tuners")}) {
    ASSERT_TRUE(wait_until([&, at = endpoint] { return health(at).ok(); })) << health(endpoint).status();
    EXPECT_EQ(*health(endpoint), test::kServing);
    const auto all = services(endpoint);
    ASSERT_TRUE(all.ok()) << all.status();
    EXPECT_THAT(*all, HasSubstr(service));
    EXPECT_THAT(*all, HasSubstr("grpc.health.v1.Health"));
  }
}

TEST_F(Operating, MetricsTellOfTheFarm) {
  const auto tracker = this->tracker({"--metrics", page_.text()});
  const auto agent = this->agent(tracker_, {"--key", "box", "--metrics", agent_page_.text()});
  ASSERT_TRUE(wait_until([&] {
    return metric(scrape(agent_page_), "tunefarm_agent_devices{state=\"connected\"}") == 1;
  })) << scrape(agent_page_);
  // The page comes after the services: the agent may be quicker than the page.
  ASSERT_TRUE(wait_until([&] {
    return metric(scrape(page_), "tunefarm_tracker_devices{state=\"ready\"}") == 1;
  })) << scrape(page_);
  EXPECT_EQ(metric(scrape(page_), "tunefarm_tracker_ready_slots"), 1);
  const auto runner = measure::FarmRunner::connect({.tracker = tracker_, .device_key = "box"});
  ASSERT_TRUE(runner.ok()) << runner.status();
  const std::string leased = scrape(page_);
  EXPECT_EQ(metric(leased, "tunefarm_tracker_leases"), 1);
  EXPECT_EQ(metric(leased, "tunefarm_tracker_leases_granted_total"), 1);
  EXPECT_EQ(metric(leased, "tunefarm_tracker_lease_grant_seconds_count"), 1);
  EXPECT_EQ(metric(leased, "tunefarm_tracker_lease_grant_seconds_bucket{le=\"+Inf\"}"), 1);
  EXPECT_GE(metric(leased, "tunefarm_tracker_saving_seconds_count"), 1) << "of the lease, if not before";
  // No artifact: refused by the worker, but answered.
  tunefarm::farm::v1::Trial trial;
  const auto result = (*runner)->run(request(trial, "no artifact"));
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(metric(scrape(page_), "tunefarm_tracker_replies_relayed_total"), 1);
  const std::string text = scrape(agent_page_);
  EXPECT_EQ(metric(text, "tunefarm_agent_trials_total{outcome=\"not_measured\"}"), 1) << text;
  EXPECT_EQ(metric(text, "tunefarm_agent_trial_seconds_count"), 1);
  EXPECT_EQ(metric(text, "tunefarm_agent_trials_running"), 0);
  EXPECT_GT(metric(text, "process_cpu_seconds_total"), 0);
  const std::string documentation = *read_file(std::string(TF_SOURCE_DIR) + "/docs/reference/metrics.md");
  EXPECT_EQ(test::own_families(leased).size(), 9u);
  EXPECT_EQ(test::own_families(text).size(), 4u);
  for (const std::string& page : {leased, text}) {
    for (const std::string& name : test::own_families(page))
      EXPECT_THAT(documentation, HasSubstr("| `" + name));
  }
}

TEST_F(Operating, MetricsStayOnLoopback) {
  const auto tracker = this->tracker({"--metrics", "0.0.0.0:0"});
  EXPECT_EQ(tracker->wait(), 2);
  EXPECT_THAT(lines_of(dir_.file("tracker.log")).back(), HasSubstr("loopback"));
  const auto agent = this->agent(tracker_, {"--key", "box", "--metrics", "10.0.0.1:9100"});
  EXPECT_EQ(agent->wait(), 2);
  EXPECT_THAT(lines_of(dir_.file("agent.log")).back(), HasSubstr("loopback"));
}

TEST_F(Operating, JsonLogsHaveTheConfigurationTheDeviceAndTheLeaseAsFields) {
  const auto tracker = this->tracker({"--log-format", "json"});
  const auto agent = this->agent(tracker_, {"--key", "box", "--id", "a1", "--log-format", "json"});
  absl::StatusOr<std::unique_ptr<measure::FarmRunner>> runner = absl::NotFoundError("");
  ASSERT_TRUE(wait_until([&] {
    if (!runner.ok()) runner = measure::FarmRunner::connect({.tracker = tracker_, .device_key = "box"});
    return runner.ok();
  })) << runner.status();
  const auto some = [&](const std::string& log, const auto& is_it) {
    return wait_until([&] {
      return std::ranges::any_of(lines_of(dir_.file(log)), [&](const std::string& line) {
        const nlohmann::json record = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
        return record.is_object() && is_it(record);
      });
    });
  };
  EXPECT_TRUE(some("tracker.log", [&](const nlohmann::json& record) {
    return record.contains("configuration") && record["configuration"]["listen"] == tracker_.text();
  }));
  EXPECT_TRUE(some("tracker.log", [&](const nlohmann::json& record) {
    return record.value("device", "") == "a1" &&
           record.value("lease", "") == (*runner)->leased_device().lease_id;
  }));
  EXPECT_TRUE(some("agent.log", [](const nlohmann::json& record) {
    return record.value("device", "") == "a1" && !record.contains("lease");
  }));
}

TEST_F(Operating, HangUpDrainsAsTermDoes) {
  const auto tracker = this->tracker({});
  const auto agent = this->agent(tracker_, {"--key", "box"});
  ASSERT_TRUE(wait_until([&] { return health(tracker_).ok(); }));
  const auto says = [&](const char* log, const std::string& text) {
    return std::ranges::any_of(lines_of(dir_.file(log)),
                               [&](const std::string& line) { return line.find(text) != std::string::npos; });
  };
  ASSERT_TRUE(wait_until([&] { return says("agent.log", "serves the tracker"); }));
  agent->signal(SIGHUP);
  agent->signal(SIGHUP);  // a terminal that closes may send two
  EXPECT_EQ(agent->wait(), 0);
  EXPECT_TRUE(says("agent.log", "stopping on SIGHUP"));
  tracker->signal(SIGHUP);
  EXPECT_EQ(tracker->wait(), 0);
  EXPECT_TRUE(says("tracker.log", "stopping on SIGHUP"));
}

TEST_F(Operating, HangUpThatWasIgnoredStaysSo) {
  Process tracker({"/usr/bin/nohup", program("tracker"), "serve", "--listen", tracker_.text(), "--state",
                   dir_.file("tracker.db")},
                  dir_.file("tracker.log"));
  ASSERT_TRUE(wait_until([&] { return health(tracker_).ok(); }));
  tracker.signal(SIGHUP);
  EXPECT_FALSE(tracker.exited_within(300));
  tracker.signal(SIGTERM);
  EXPECT_EQ(tracker.wait(), 0);
}

TEST_F(Operating, SecondAgentWithAnIdEndsWithCodeTwoAndTheFirstServesOn) {
  const auto tracker = this->tracker({});
  const auto first = this->agent(tracker_, {"--key", "box", "--id", "clone"});
  const auto serves = [&](const char* log) {
    return std::ranges::any_of(lines_of(dir_.file(log)), [](const std::string& line) {
      return line.find("serves the tracker") != std::string::npos;
    });
  };
  ASSERT_TRUE(wait_until([&] { return serves("agent.log"); }));
  Process second(
      {program("device_agent"), "--tracker", tracker_.text(), "--state-dir", dir_.file("other"), "--cpus",
       "0", "--without-sandbox", "missing", "--golden-seconds", "0", "--key", "box", "--id", "clone"},
      dir_.file("second.log"));
  EXPECT_EQ(second.wait(), 2);
  const std::vector<std::string> lines = lines_of(dir_.file("second.log"));
  EXPECT_THAT(lines.back(), testing::ContainsRegex("the one at 127.0.0.1:[0-9]+ responds"));
  EXPECT_FALSE(first->has_exited());
  EXPECT_THAT(absl::StrJoin(lines_of(dir_.file("tracker.log")), "\n"),
              HasSubstr("two agents have one device id"));
}

TEST_F(Operating, JsonLogsAreAnObjectALineWhateverANameHolds) {
  const std::string hostile = "box\"}\n{\"level\":\"error\",\"message\":\"forged\x1b[31m";
  const auto tracker = this->tracker({"--log-format", "json"});
  ASSERT_TRUE(wait_until([&] { return !lines_of(dir_.file("tracker.log")).empty(); }));
  // Of no tracker: whether one would take such a key is another question.
  const auto agent = this->agent(direct_, {"--key", hostile, "--log-format", "json"});
  std::vector<nlohmann::json> records;
  ASSERT_TRUE(wait_until([&] { return lines_of(dir_.file("agent.log")).size() >= 3; }));
  for (const char* program : {"tracker", "agent"}) {
    for (const std::string& line : lines_of(dir_.file(absl::StrCat(program, ".log")))) {
      const nlohmann::json record = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
      ASSERT_TRUE(record.is_object()) << line;
      for (const char* field : {"time", "level", "program", "message"})
        EXPECT_TRUE(record.contains(field)) << line;
      EXPECT_NE(record["level"], "error") << line;
      records.push_back(record);
    }
  }
  EXPECT_THAT(records[0]["message"].get<std::string>(), HasSubstr("listening on"));
  EXPECT_TRUE(std::ranges::any_of(records, [&](const nlohmann::json& record) {
    return record["message"].get<std::string>().find(hostile) != std::string::npos;
  })) << "the key was logged";
}

}  // namespace
}  // namespace tf::farm_test
