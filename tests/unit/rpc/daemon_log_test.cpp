#include "rpc/daemon/daemon_log.h"

#include <spdlog/details/log_msg.h>
#include <spdlog/formatter.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "rpc/daemon/log_fields.h"

namespace tf::rpc {
namespace {

using testing::HasSubstr;

std::string formatted(spdlog::formatter& format, const std::string& message) {
  spdlog::memory_buf_t line;
  const spdlog::details::log_msg record(spdlog::source_loc{}, "tracker", spdlog::level::warn, message);
  format.format(record, line);
  return {line.data(), line.size()};
}

const std::string kHostile =
    "device box\"},{\"level\":\"error\n2026-05-01 tracker error: forged\x1b[31m\xff \xe2\x80\xae";

TEST(JsonLog, HostileTextIsOneObjectOnOneLine) {
  const std::string line = formatted(*json_log_format(), kHostile);
  EXPECT_EQ(std::ranges::count(line, '\n'), 1);
  EXPECT_TRUE(line.ends_with("}\n"));
  EXPECT_TRUE(std::ranges::all_of(line, [](unsigned char c) { return c == '\n' || (c >= ' ' && c < 0x7f); }));
  const auto record = nlohmann::json::parse(line);
  EXPECT_EQ(record.size(), 4u);
  EXPECT_EQ(record["level"], "warning");
  EXPECT_EQ(record["program"], "tracker");
  EXPECT_THAT(record["time"].get<std::string>(), testing::MatchesRegex("20..-..-..T..:..:..\\.[0-9]{3}Z"));
  const auto message = record["message"].get<std::string>();
  EXPECT_THAT(message, HasSubstr("box\"},{\"level\":\"error\n2026"));
  EXPECT_THAT(message, HasSubstr("\x1b[31m\xef\xbf\xbd \xe2\x80\xae")) << "what is no UTF-8 is U+FFFD";
}

TEST(JsonLog, FieldsOfARecordAreThoseOfItsThreadThen) {
  const auto record = [] { return nlohmann::json::parse(formatted(*json_log_format(), "m")); };
  {
    const LogFields device({{"device", "box\"\n"}});
    {
      const LogFields inner({{"lease", "l1"}, {"configuration", R"({"listen":"127.0.0.1:7190"})", true}});
      EXPECT_EQ(record()["device"], "box\"\n");
      EXPECT_EQ(record()["lease"], "l1");
      EXPECT_EQ(record()["configuration"]["listen"], "127.0.0.1:7190");
    }
    EXPECT_EQ(record()["device"], "box\"\n");
    EXPECT_FALSE(record().contains("lease"));
  }
  EXPECT_EQ(record().size(), 4u);
}

TEST(TextLog, HostileTextIsOneLineThatNoTerminalObeys) {
  const std::string line = formatted(*text_log_format(), kHostile + std::string(1000, 'x'));
  EXPECT_EQ(std::ranges::count(line, '\n'), 1);
  EXPECT_TRUE(line.ends_with("x\n"));
  EXPECT_THAT(
      line,
      HasSubstr(
          " tracker warning: device box\"},{\"level\":\"error?2026-05-01 tracker error: forged?[31m? ?"));
  EXPECT_GT(line.size(), 1000u) << "a long record stays whole";
  EXPECT_THAT(line.substr(0, line.find(" tracker")),
              testing::MatchesRegex("20..-..-..T..:..:..\\.[0-9]{3}[+-][0-9]{2}:[0-9]{2}"))
      << "with its zone";
}

TEST(LogOptions, NameWhatThereIs) {
  EXPECT_TRUE(check({}).ok());
  EXPECT_TRUE(check({.level = "debug", .format = "json"}).ok());
  EXPECT_THAT(std::string(check({.level = "loud"}).message()), HasSubstr("debug, info, warning or error"));
  EXPECT_THAT(std::string(check({.format = "xml"}).message()), HasSubstr("text or json"));
}

}  // namespace
}  // namespace tf::rpc
