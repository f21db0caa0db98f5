#include "tuner/record_sets/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <map>

#include "absl/strings/str_replace.h"
#include "base/files/temporary_folder.h"
#include "tests/unit/tuner/record_sets/samples.h"
#include "tuner/record_sets/keys.h"

namespace tf::record_sets {
namespace {

using testing::HasSubstr;

TEST(Manifest, ComesBackFromItsText) {
  const Manifest manifest{.name = "rpi-4.b_1",
                          .version = 3,
                          .device_class = "rpi4",
                          .targets = {"a", "b"},
                          .semantics_version = 1,
                          .workloads = 2,
                          .measurements = 5,
                          .verdicts = 1,
                          .bytes = 100,
                          .content = sha256("x"),
                          .previous = sha256("y"),
                          .created_unix_ns = 12,
                          .by = "ann"};
  EXPECT_EQ(parse_manifest(to_text(manifest)).value(), manifest);
}

TEST(Manifest, OtherTextsAreRefused) {
  const std::string good = to_text({.name = "a", .bytes = 10});
  ASSERT_TRUE(parse_manifest(good).ok());
  EXPECT_THAT(message(parse_manifest("{").status()), HasSubstr("not JSON"));
  const std::map<std::string, std::string> replaced = {{"\"name\": \"a\"", "\"name\": \"../a\""},
                                                       {"\"version\": 1", "\"version\": 0"},
                                                       {"\"version\": 1", "\"version\": 1.5"},
                                                       {"\"bytes\": 10", "\"bytes\": 1000000000000"},
                                                       {"\"workloads\": 0", "\"workloads\": -1"},
                                                       {"tunefarm-record-set", "tunefarm-records"},
                                                       {"\"format_version\": 1", "\"format_version\": 2"},
                                                       {"\"by\": \"\"", "\"by\": 7"},
                                                       {"\"by\"", "\"bye\""},
                                                       {"\"sha256\": \"00", "\"sha256\": \"x0"}};
  for (const auto& [from, to] : replaced) {
    const std::string bad = absl::StrReplaceAll(good, {{from, to}});
    ASSERT_NE(bad, good) << from;
    EXPECT_EQ(parse_manifest(bad).status().code(), absl::StatusCode::kInvalidArgument) << bad;
  }
}

TEST(Keys, TheirFilesAreMadeOnceAndReadBack) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const std::string file = folder.file("a.key");
  const rpc::KeyPair made = make_keys(file).value();
  struct stat there {};
  ASSERT_EQ(::stat(file.c_str(), &there), 0);
  EXPECT_EQ(there.st_mode & 077, 0u);
  EXPECT_EQ(read_private_key(file)->pem(), made.pem());
  EXPECT_TRUE(read_public_key(file + ".pub")->has_signed("x", made.sign("x")));
  EXPECT_FALSE(read_public_key(file + ".pub")->has_signed("y", made.sign("x")));
  EXPECT_EQ(make_keys(file).status().code(), absl::StatusCode::kAlreadyExists);
  std::filesystem::remove(file + ".pub");
  EXPECT_EQ(make_keys(file).status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(read_private_key(file)->pem(), made.pem()) << "it is still the same";
}

TEST(Keys, OtherFilesAreRefusedByName) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const std::string file = folder.file("a.key");
  ASSERT_TRUE(make_keys(file).ok());
  EXPECT_THAT(message(read_public_key(file).status()),
              HasSubstr("a.key holds a private key, which its owner keeps"));
  EXPECT_THAT(message(read_private_key(file + ".pub").status()),
              HasSubstr("a.key.pub holds no private ECDSA P-256 key"));
  ASSERT_EQ(::chmod(file.c_str(), 0644), 0);
  EXPECT_EQ(read_private_key(file).status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(read_public_key(folder.file("none")).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace tf::record_sets
