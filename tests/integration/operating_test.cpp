// What an operator's tools ask a served tuner; tests/farm asks the other daemons the same.

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>

#include "base/files/file.h"
#include "tests/integration/tuning_fixture.h"
#include "tests/support/operating/probe.h"
#include "tests/support/operating/scrape.h"

namespace tf::integration_test {
namespace {

using test::metric;
using test::scrape;
using testing::HasSubstr;

TEST_F(Tuning, AServedTunerShowsItsHealthItsServicesItsNumbersAndLogsAsJson) {
  const rpc::Endpoint at = farm_test::free_endpoint(), page = farm_test::free_endpoint();
  const rpc::Endpoint nobody = farm_test::free_endpoint();
  const auto tuner = start("tuner",
                           {"serve", "--db", file("t.db"), "--tracker", nobody.text(), "--listen", at.text(),
                            "--metrics", page.text(), "--log-format", "json", "--reflection"},
                           "tuner.log");
  wait_until("health", [&] { return test::health(at).ok(); });
  EXPECT_EQ(*test::health(at), test::kServing);
  const auto services = test::services(at);
  ASSERT_TRUE(services.ok()) << services.status();
  EXPECT_THAT(*services, HasSubstr("tunefarm.tune.v1.Records"));
  wait_until("its page", [&] { return !scrape(page).empty(); });
  const std::string text = scrape(page);
  EXPECT_EQ(metric(text, "tunefarm_tuner_jobs{state=\"queued\"}"), 0) << text;
  EXPECT_EQ(metric(text, "tunefarm_tuner_results_durable_total"), 0);
  EXPECT_EQ(metric(text, "tunefarm_tuner_trials_running"), 0);
  EXPECT_GT(metric(text, "process_resident_memory_bytes"), 0);
  const std::string documentation = *read_file(std::string(TF_SOURCE_DIR) + "/docs/reference/metrics.md");
  EXPECT_EQ(test::own_families(text).size(), 5u);
  for (const std::string& name : test::own_families(text))
    EXPECT_THAT(documentation, HasSubstr("| `" + name));
  tuner->signal(SIGTERM);
  EXPECT_EQ(tuner->wait(), 0);
  const std::vector<std::string> lines = farm_test::lines_of(file("tuner.log"));
  EXPECT_GE(lines.size(), 3u);
  for (const std::string& line : lines) {
    const nlohmann::json record = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    ASSERT_TRUE(record.is_object()) << line;
    EXPECT_EQ(record["program"], "tuner") << line;
  }
}

TEST_F(Tuning, TunerWithoutTlsSaysAtOnceThatItsTrackerSpeaksTls) {
  const rpc::Endpoint at = farm_test::free_endpoint();
  ASSERT_EQ(run("tracker", {"ca", "init", "--dir", file("ca")}).code, 0);
  const auto tracker =
      start("tracker", {"serve", "--tls", file("ca"), "--listen", at.text(), "--state", file("state.db")},
            "tracker.log");
  const auto logged = [&](const std::string& log, const std::string& part) {
    for (const std::string& line : farm_test::lines_of(file(log))) {
      if (line.find(part) != std::string::npos) return true;
    }
    return false;
  };
  wait_until("the tracker", [&] { return logged("tracker.log", "mutual TLS"); });
  const auto tuner =
      start("tuner", {"serve", "--db", file("t.db"), "--tracker", at.text(), "--listen", "127.0.0.1:0"},
            "tuner.log");
  wait_until("a warning", [&] { return logged("tuner.log", "requires TLS: give --tls DIR"); });
}

TEST_F(Tuning, ATunerWhoseCertificateIsRevokedSaysWhyItStops) {
  const rpc::Endpoint at = farm_test::free_endpoint();
  const std::string admin = file("ca") + "/admin";
  ASSERT_EQ(run("tracker", {"ca", "init", "--dir", file("ca")}).code, 0);
  const auto tracker =
      start("tracker", {"serve", "--tls", file("ca"), "--listen", at.text(), "--state", file("state.db")},
            "tracker.log");
  const auto first_with = [&](const std::string& log, const std::string& part) {
    for (const std::string& line : farm_test::lines_of(file(log))) {
      if (line.find(part) != std::string::npos) return line;
    }
    return std::string();
  };
  wait_until("the tracker", [&] { return !first_with("tracker.log", "mutual TLS").empty(); });
  const Result token =
      run("tracker", {"ca", "token", "--role", "tuner", "--tracker", at.text(), "--tls", admin});
  ASSERT_EQ(token.code, 0) << token.err;
  ASSERT_EQ(run("tuner", {"join", "--tracker", at.text(), "--token",
                          token.out.substr(0, token.out.find('\n')), "--name", "ada", "--tls", file("ada")})
                .code,
            0);
  const auto tuner = start("tuner",
                           {"serve", "--db", file("t.db"), "--tracker", at.text(), "--listen", "127.0.0.1:0",
                            "--tls", file("ada")},
                           "tuner.log");
  wait_until("the tuner", [&] { return !first_with("tuner.log", "listening on").empty(); });
  ASSERT_EQ(run("tracker", {"ca", "revoke", "tuner/ada", "--tracker", at.text(), "--tls", admin}).code, 0);
  EXPECT_EQ(tuner->wait(), 1);
  const std::string stops = first_with("tuner.log", "stopping");
  EXPECT_THAT(stops, HasSubstr("of tuner ada is revoked: join again with a new token into another folder"));
  EXPECT_THAT(stops, testing::Not(HasSubstr("Ctrl-C")));
}

TEST_F(ServedTuning, AJobThatHasNoTrackerOrNoDeviceSaysSoAsLongAsThatIsTrue) {
  wait_for_agent();
  ASSERT_EQ(run("tuner", submission(5000)).code, 0);
  wait_for_measurements("tune.db", 3);
  const auto jobs_say = [&](const std::string& part) {
    return run("tuner", {"jobs", "--server", tuner_at_.text()}).out.find(part) != std::string::npos;
  };
  const auto operate = [&](const std::string& command, const std::string& what) {
    return run("tracker", {command, what, "--tracker", tracker_at_.text()}).code;
  };
  const auto log_says = [&](const std::string& part) {
    const std::vector<std::string> lines = farm_test::lines_of(file("tuner.log"));
    return std::ranges::any_of(lines,
                               [&](const std::string& line) { return line.find(part) != std::string::npos; });
  };
  EXPECT_FALSE(jobs_say("waits: "));
  tracker_->kill_9();
  wait_until("no tracker", [&] { return jobs_say("waits: no tracker answers at " + tracker_at_.text()); });
  wait_until("a warning", [&] { return log_says("; jobs get no devices until it is reachable"); });
  start_tracker();
  wait_until("the tracker", [&] { return !jobs_say("waits: "); });
  wait_until("a line", [&] { return log_says("the tracker at " + tracker_at_.text() + " answers"); });
  const Result devices = run("tracker", {"devices", "--json", "--tracker", tracker_at_.text()});
  const nlohmann::json listed = nlohmann::json::parse(devices.out, nullptr, /*allow_exceptions=*/false);
  ASSERT_TRUE(listed.is_array() && !listed.empty()) << devices.out << devices.err;
  const std::string device = listed[0].value("device", "");
  ASSERT_EQ(operate("drain", device), 0);
  ASSERT_EQ(operate("release", device), 0);  // or else it goes on until the lease is to be renewed
  wait_until("no device", [&] { return jobs_say("the device " + device + " of key box is draining"); });
  ASSERT_EQ(operate("uncordon", device), 0);
  wait_until("the device", [&] { return !jobs_say("waits"); });
}

}  // namespace
}  // namespace tf::integration_test
