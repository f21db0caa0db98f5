// What an operator's tools ask a served tuner; tests/farm asks the other daemons the same.

#include <csignal>
#include <nlohmann/json.hpp>

#include "base/file.h"
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
                            "--metrics", page.text(), "--log-format", "json"},
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
  const std::string documentation = *read_file(std::string(TF_SOURCE_DIR) + "/deploy/README.md");
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
  wait_until("a warning",
             [&] { return logged("tuner.log", "speaks TLS, and this is plain text: give --tls DIR"); });
}

}  // namespace
}  // namespace tf::integration_test
