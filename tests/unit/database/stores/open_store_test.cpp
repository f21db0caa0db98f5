// What --db may say.
#include "database/stores/open_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/file.h"
#include "base/files/temporary_folder.h"

namespace tf::database {
namespace {

using testing::HasSubstr;

std::string message(const absl::Status& status) {
  return std::string(status.message());
}

TEST(OpenRecords, OnlyAFileIsWrittenTo) {
  EXPECT_TRUE(check_writable("tune.db").ok());
  EXPECT_TRUE(check_writable("lines.jsonl.db").ok());
  const absl::Status lines = check_writable("tune.jsonl"), tuner = check_writable("tuner://127.0.0.1:7191");
  EXPECT_EQ(lines.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(tuner.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(message(lines), HasSubstr(".jsonl means JSON lines; give it another name"));
  EXPECT_THAT(message(tuner), HasSubstr("`tuner submit` to that tuner"));
}

TEST(OpenRecords, ATunersAddressThatIsNotWrittenAsOneIsNamed) {
  const std::vector<std::pair<std::string, std::string>> specs = {
      {"127.0.0.1:7191", "write tuner://127.0.0.1:7191"},
      {"farm.lab:7191", "write tuner://farm.lab:7191"},
      {"[::1]:7191", "write tuner://[::1]:7191"},
      {"http://127.0.0.1:7191/", "write tuner://127.0.0.1:7191"},
      {"https://farm.lab", "write tuner://farm.lab:7191"}};
  for (const auto& [spec, remedy] : specs) {
    const absl::Status refused = open_records(spec).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << spec;
    EXPECT_THAT(message(refused), HasSubstr(remedy));
    EXPECT_FALSE(check_writable(spec).ok()) << "no database is made of that name: " << spec;
  }
  for (const char* file : {"tune.db", "results:v2", "a:1/b.db", "at-12:30.db"}) {
    EXPECT_THAT(message(open_records(file).status()), testing::Not(HasSubstr("tuner://"))) << file;
    EXPECT_TRUE(check_writable(file).ok()) << file;
  }
  const TemporaryFolder folder = *TemporaryFolder::make();
  ASSERT_TRUE(open_store(folder.file("host:1")).ok());
  EXPECT_TRUE(open_records(folder.file("host:1")).ok()) << "a file of that name is one";
}

TEST(OpenRecords, ATunerNeedsAPortAndAnAnswer) {
  EXPECT_THAT(message(open_records("tuner://localhost").status()), HasSubstr("write tuner://HOST:PORT"));
  EXPECT_EQ(open_records("tuner://127.0.0.1:1").status().code(), absl::StatusCode::kUnavailable);
}

TEST(OpenRecords, ASchemeBeforeAFileIsNotPartOfItsName) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const std::string path = folder.file("t.jsonl");
  ASSERT_TRUE(open_store("sqlite:" + path).ok()) << "the suffix is for names without a scheme";
  EXPECT_TRUE(open_records("sqlite://" + path).ok());
  EXPECT_EQ(sqlite_file("sqlite:" + path), path);
  EXPECT_EQ(*writable_sqlite_file("sqlite:" + path), path);
  EXPECT_EQ(sqlite_file("tune.db"), "tune.db");
  EXPECT_EQ(sqlite_file("tune.jsonl"), std::nullopt);
  EXPECT_EQ(sqlite_file("tuner://localhost:99"), std::nullopt);
}

TEST(OpenRecords, ASchemeWithoutAFileIsRefused) {
  for (const std::string url : {"sqlite:", "sqlite://", "jsonl:"}) {
    const absl::Status refused = open_records(url).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << url;
    EXPECT_EQ(message(refused),
              "--db \"" + url + "\" names no file; write " + url.substr(0, url.find(':')) + ":FILE");
    EXPECT_FALSE(check_writable(url).ok()) << url;
    EXPECT_EQ(local_files(url), std::vector<std::string>{}) << url;
  }
}

TEST(LocalFiles, AreTheFileAndWhatIsKeptBesideIt) {
  using Files = std::vector<std::string>;
  EXPECT_EQ(local_files("tune.jsonl"), Files{"tune.jsonl"});
  EXPECT_EQ(local_files("jsonl:records"), Files{"records"});
  EXPECT_EQ(local_files("sqlite:tune.db"),
            (Files{"tune.db", "tune.db-wal", "tune.db-shm", "tune.db-journal", "tune.db.lock"}));
  EXPECT_EQ(local_files("tuner://localhost:99"), Files{});
  EXPECT_EQ(local_files("postgres://host/farm"), Files{});
}

TEST(OpenAllRecords, OpensEachOfThem) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const std::vector<std::string> files = {folder.file("a.db"), folder.file("b.db")};
  for (const std::string& file : files) ASSERT_TRUE(open_store(file).ok());
  EXPECT_TRUE(open_all_records(files).ok());
  EXPECT_THAT(message(open_all_records({files[0], folder.file("no.db")}).status()), HasSubstr("no.db"));
}

TEST(OpenRecords, AnUnknownSchemeIsRefusedWithThoseThatAreKnown) {
  for (const absl::Status& refused :
       {open_records("postgres://host/farm").status(), open_store("postgres://host/farm").status(),
        check_writable("postgres://host/farm"), writable_sqlite_file("postgres://host/farm").status()}) {
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(message(refused),
              "--db postgres://host/farm: no store has this scheme; give FILE or sqlite:FILE, FILE.jsonl, "
              "tuner://HOST:PORT (a running tuner)");
  }
}

}  // namespace
}  // namespace tf::database
