#include "tuner/cli/serve_config.h"

#include <unistd.h>

#include "base/files/file.h"
#include "proto/config/v1/farm.pb.h"

namespace tf::tuner_cli {
namespace {

using testing::HasSubstr;
using tunefarm::config::v1::Tuner;

class ServeConfig : public testing::Test {
 protected:
  void TearDown() override { unlink(path_.c_str()); }
  absl::StatusOr<Tuner> with_file(const std::string& text, const Tuner& flags = {}) {
    EXPECT_TRUE(write_file(path_, text).ok());
    return serve_config(path_, flags);
  }
  const std::string path_ = testing::TempDir() + "tuner.txtpb." + std::to_string(getpid());
};

TEST_F(ServeConfig, FlagsOverrideTheFileAndTheFileTheDefaults) {
  Tuner flags;
  flags.set_listen("127.0.0.1:0");
  const auto config = with_file("db: \"farm.db\" listen: \"127.0.0.1:9\" builders: 3 max_waiting: 7", flags);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->db(), "farm.db");
  EXPECT_EQ(config->listen(), "127.0.0.1:0");
  EXPECT_EQ(config->builders(), 3u);
  EXPECT_EQ(config->max_waiting(), 7u);
  EXPECT_EQ(config->tracker(), default_serve_config().tracker());
  EXPECT_EQ(config->log_level(), "info");
  EXPECT_EQ(config->max_waiting_each(), default_serve_config().max_waiting_each());
}

TEST_F(ServeConfig, NeedsADatabaseFromEitherButNoFile) {
  EXPECT_THAT(std::string(serve_config("", {}).status().message()), HasSubstr("--db"));
  Tuner flags;
  flags.set_db("farm.db");
  EXPECT_TRUE(serve_config("", flags).ok());
}

TEST_F(ServeConfig, RefusesInAFileWhatAFlagCouldNotSay) {
  for (const auto& [text, why] :
       std::vector<std::pair<std::string, std::string>>{{"db: \"x\" builders: 5000", "1024"},
                                                        {"db: \"x\" max_model_mib: 4000", "2048"},
                                                        {"db: \"x\" log_level: \"loud\"", "'loud'"},
                                                        {"db: \"x\" log_format: \"xml\"", "'xml'"},
                                                        {"db: \"x\"\nlisten_on: 3", ":2:"}}) {
    const absl::Status status = with_file(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(why));
  }
  unlink(path_.c_str());
  EXPECT_EQ(serve_config(path_, {}).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace tf::tuner_cli
