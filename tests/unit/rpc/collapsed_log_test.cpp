#include "rpc/daemon/collapsed_log.h"

#include <gmock/gmock.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "rpc/daemon/daemon_log.h"
#include "rpc/daemon/log_fields.h"

namespace tf::rpc {
namespace {

using testing::ElementsAre;
using testing::EndsWith;

class CollapsedLogTest : public testing::Test {
 protected:
  spdlog::logger begin(absl::Duration window, std::unique_ptr<spdlog::formatter> format) {
    auto inner = std::make_shared<spdlog::sinks::ostream_sink_mt>(text_);
    spdlog::logger logger("agent", collapsed_log(std::move(inner), window));
    logger.set_formatter(std::move(format));
    return logger;
  }
  std::vector<std::string> lines() const { return absl::StrSplit(text_.str(), '\n', absl::SkipEmpty()); }

  std::ostringstream text_;  // read when no logger lives
};

TEST_F(CollapsedLogTest, RecordThatRepeatsStandsOnceAndOnceWithItsCount) {
  {
    spdlog::logger log = begin(absl::Hours(1), text_log_format());
    for (int i = 0; i < 19; ++i) log.error("cannot write st/epochs");
    log.warn("something else");
    log.warn("cannot write st/epochs");  // another level is another record
  }
  EXPECT_THAT(lines(),
              ElementsAre(EndsWith("error: cannot write st/epochs"), EndsWith("warning: something else"),
                          EndsWith("warning: cannot write st/epochs"),
                          EndsWith("error: cannot write st/epochs (18 more times within 1h)")));
}

TEST_F(CollapsedLogTest, RecordIsWrittenAgainOnceItsWindowIsOver) {
  {
    spdlog::logger log = begin(absl::Milliseconds(50), text_log_format());
    log.error("again");
    absl::SleepFor(absl::Milliseconds(400));
    log.error("again");
  }
  EXPECT_THAT(lines(), ElementsAre(EndsWith("error: again"), EndsWith("error: again")));
}

TEST_F(CollapsedLogTest, CountIsToldWithoutAnotherRecord) {
  spdlog::logger log = begin(absl::Milliseconds(20), json_log_format());
  {
    const LogFields about({{"device", "a1"}, {"lease", "l1"}});
    for (int i = 0; i < 3; ++i) log.error("full");
  }
  absl::SleepFor(absl::Milliseconds(500));
  log.sinks().clear();  // ends it, so that nothing writes any more
  ASSERT_EQ(lines().size(), 2u) << text_.str();
  const auto first = nlohmann::json::parse(lines()[0]), last = nlohmann::json::parse(lines()[1]);
  EXPECT_EQ(first["device"], "a1");
  EXPECT_FALSE(first.contains("repeated"));
  EXPECT_EQ(last["repeated"], 2);
  EXPECT_EQ(last["device"], "a1");
  EXPECT_EQ(last["lease"], "l1");
}

TEST_F(CollapsedLogTest, RecordsAboutDifferentDevicesStandEach) {
  {
    spdlog::logger log = begin(absl::Hours(1), json_log_format());
    for (const char* device : {"a1", "a2", "a1"}) {
      const LogFields about({{"device", device}});
      log.error("full");
    }
  }
  ASSERT_EQ(lines().size(), 3u) << text_.str();
  std::vector<std::string> devices;
  for (const std::string& line : lines()) devices.push_back(nlohmann::json::parse(line)["device"]);
  EXPECT_THAT(devices, ElementsAre("a1", "a2", "a1"));
  EXPECT_EQ(nlohmann::json::parse(lines()[2])["repeated"], 1);
}

}  // namespace
}  // namespace tf::rpc
