#include "rpc/access/audit_log.h"

#include <sys/stat.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/files/file.h"
#include "base/files/temporary_folder.h"
#include "tests/support/fake_clock.h"
#include "tests/support/full_disk.h"

namespace tf::rpc {
namespace {

std::vector<nlohmann::json> lines_of(const std::string& path) {
  std::vector<nlohmann::json> lines;
  const std::string text = *read_file(path);
  for (const auto line : absl::StrSplit(text, '\n', absl::SkipEmpty()))
    lines.push_back(nlohmann::json::parse(line));
  return lines;
}

class AuditLogTest : public testing::Test {
 protected:
  const TemporaryFolder dir_ = *TemporaryFolder::make();
  const std::string path_ = dir_.file("audit.jsonl");
  const std::string denied_ = path_ + ".denied";
  FakeWallClock clock_;
};

TEST_F(AuditLogTest, KeepsOneJsonObjectALineInOrderAcrossOpenings) {
  for (const char* object : {"first", "sec\"ond\n"}) {
    const auto log = AuditLog::open(path_, clock_);
    ASSERT_TRUE(log.ok()) << log.status();
    (*log)->record(
        {.who = "admin ada", .method = "Operators/DrainDevice", .object = object, .outcome = "OK"});
  }
  const std::vector<nlohmann::json> lines = lines_of(path_);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0]["who"], "admin ada");
  EXPECT_EQ(lines[0]["object"], "first");
  EXPECT_EQ(lines[1]["object"], "sec\"ond?") << "what a terminal obeys is no part of a line";
  EXPECT_EQ(lines[1]["time"].get<std::string>().size(), std::string("2026-01-02T03:04:05.678Z").size());
}

TEST_F(AuditLogTest, FlushMeansThatTheLinesAreInTheFile) {
  const auto log = AuditLog::open(path_, clock_);
  ASSERT_TRUE(log.ok()) << log.status();
  for (int i = 0; i < 100; ++i) (*log)->record({.who = "x", .method = "y", .outcome = "OK"});
  EXPECT_TRUE((*log)->flush().ok());
  EXPECT_EQ(lines_of(path_).size(), 100u);
}

TEST_F(AuditLogTest, IsReadableByThisUserOnly) {
  const auto log = AuditLog::open(path_, clock_);
  ASSERT_TRUE(log.ok()) << log.status();
  struct stat there {};
  ASSERT_EQ(stat(path_.c_str(), &there), 0);
  EXPECT_EQ(there.st_mode & 0777, 0600u);
}

TEST_F(AuditLogTest, FloodOfDenialsIsCountedInsteadOfWritten) {
  const auto log = AuditLog::open(path_, clock_);
  ASSERT_TRUE(log.ok()) << log.status();
  for (int i = 0; i < 1000; ++i) (*log)->record_denial({.who = "nobody", .method = "m", .outcome = "no"});
  clock_.advance(absl::Seconds(1));
  (*log)->record_denial({.who = "nobody", .method = "m", .outcome = "no"});
  EXPECT_TRUE((*log)->flush().ok());
  const std::vector<nlohmann::json> lines = lines_of(denied_);
  ASSERT_EQ(lines.size(), AuditLog::kDenials + 2u);
  EXPECT_EQ(lines[AuditLog::kDenials]["outcome"], "980 more calls were refused");
}

TEST_F(AuditLogTest, AFloodOfDenialsHidesNoneOfAnother) {
  const auto log = AuditLog::open(path_, clock_);
  ASSERT_TRUE(log.ok()) << log.status();
  for (int i = 0; i < 1000; ++i) (*log)->record_denial({.who = "nobody", .method = "Members/Join"});
  for (int i = 0; i < 25; ++i) (*log)->record_denial({.who = "tuner eve", .method = "Members/Revoke"});
  clock_.advance(absl::Seconds(1));
  (*log)->record_denial({.who = "tuner eve", .method = "Members/Revoke"});
  EXPECT_TRUE((*log)->flush().ok());
  int revocations = 0;
  std::vector<std::string> counts;
  for (const nlohmann::json& line : lines_of(denied_)) {
    revocations += line["method"] == "Members/Revoke" ? 1 : 0;
    if (line["method"] == "")
      counts.push_back(line["who"].get<std::string>() + ": " + line["outcome"].get<std::string>());
  }
  EXPECT_EQ(revocations, AuditLog::kDenials + 1);
  EXPECT_THAT(counts, testing::UnorderedElementsAre("nobody: 980 more calls were refused",
                                                    "tuner eve: 5 more calls were refused"));
}

TEST_F(AuditLogTest, WhatComesAllDayPushesOutNothingThatPeopleChanged) {
  {
    const auto log = AuditLog::open(path_, clock_, {.file_bytes = 1000, .old_files = 2});
    ASSERT_TRUE(log.ok()) << log.status();
    (*log)->record({.who = "admin ada", .method = "Members/IssueToken", .object = "eve", .outcome = "OK"});
    for (int i = 0; i < 200; ++i) {
      (*log)->record_routine(
          {.who = "tuner eve", .method = "Tuners/AcquireLease", .object = "box", .outcome = "OK"});
      (*log)->record_denial({.who = absl::StrCat("tuner ", i), .method = "Members/Revoke", .outcome = "no"});
      EXPECT_TRUE((*log)->flush().ok());
    }
  }
  EXPECT_EQ(lines_of(path_).at(0)["object"], "eve");
  EXPECT_TRUE(read_file(path_ + ".routine.2").ok());
  EXPECT_TRUE(read_file(denied_ + ".2").ok());
}

TEST_F(AuditLogTest, SaysThatItCannotBeWrittenAndKeepsTheLinesUntilItCan) {
  const auto log = AuditLog::open(path_, clock_);
  ASSERT_TRUE(log.ok()) << log.status();
  const auto record = [&](const char* object) {
    (*log)->record({.who = "admin ada", .method = "m", .object = object, .outcome = "OK"});
  };
  record("first");
  EXPECT_TRUE((*log)->flush().ok());
  EXPECT_TRUE((*log)->writable().ok());
  {
    const FullDisk disk(read_file(path_)->size() + 50);  // the next line fits by half
    record("second");
    EXPECT_TRUE(absl::IsUnavailable((*log)->flush()));
    const absl::Status status = (*log)->writable();
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr(path_));
    record("third");
    EXPECT_FALSE((*log)->flush().ok());
  }
  EXPECT_TRUE((*log)->flush().ok());
  EXPECT_TRUE((*log)->writable().ok());
  const std::vector<nlohmann::json> lines = lines_of(path_);
  ASSERT_EQ(lines.size(), 3u) << "whole, and once each";
  EXPECT_EQ(lines[1]["object"], "second");
  EXPECT_EQ(lines[2]["object"], "third");
}

TEST_F(AuditLogTest, KeepsABoundedNumberOfLinesThatCannotBeWrittenAndCountsTheOthers) {
  const auto log = AuditLog::open(path_, clock_);
  ASSERT_TRUE(log.ok()) << log.status();
  const std::string object(AuditLog::kLongest, 'x');
  {
    const FullDisk disk(0);
    (*log)->record({.who = "w", .method = "m", .object = object, .outcome = "OK"});
    EXPECT_FALSE((*log)->flush().ok());
    for (int i = 0; i < 20'000; ++i)
      (*log)->record({.who = "w", .method = "m", .object = object, .outcome = "OK"});
  }
  EXPECT_TRUE((*log)->flush().ok());
  EXPECT_TRUE((*log)->flush().ok()) << "the line that follows";
  EXPECT_LT(read_file(path_)->size(), AuditLog::kMostWaiting + 1000);
  const std::vector<nlohmann::json> lines = lines_of(path_);
  EXPECT_EQ(lines.back()["outcome"],
            absl::StrCat(20'001 - (lines.size() - 1), " lines were lost while it was not writable"));
}

TEST_F(AuditLogTest, WhatWasLeftOutIsToldAlsoIfNoDenialFollows) {
  const auto deny = [](AuditLog& log) {
    for (int i = 0; i < 1000; ++i) log.record_denial({.who = "nobody", .method = "m", .outcome = "no"});
  };
  {
    const auto log = AuditLog::open(path_, clock_);
    ASSERT_TRUE(log.ok()) << log.status();
    deny(**log);
    clock_.advance(absl::Seconds(1));
    for (int i = 0; i < 1000 && lines_of(denied_).size() < AuditLog::kDenials + 1u; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_EQ(lines_of(denied_).back()["outcome"], "980 more calls were refused");
    deny(**log);
  }
  EXPECT_EQ(lines_of(denied_).size(), 2 * (AuditLog::kDenials + 1u)) << "at the log's end";
}

TEST_F(AuditLogTest, KeepsOnlyTheBeginningOfWhatCallersChoose) {
  const auto log = AuditLog::open(path_, clock_);
  ASSERT_TRUE(log.ok()) << log.status();
  const std::string endless(4 << 20, 'x');
  (*log)->record({.who = endless, .method = endless, .object = endless, .outcome = endless});
  EXPECT_TRUE((*log)->flush().ok());
  EXPECT_LT(read_file(path_)->size(), 5 * AuditLog::kLongest);
  EXPECT_TRUE(lines_of(path_)[0]["object"].get<std::string>().starts_with(endless.substr(0, 100)));
}

TEST_F(AuditLogTest, KeepsNoHalfOfACharacterAndNothingThatATerminalObeys) {
  const auto log = AuditLog::open(path_, clock_);
  ASSERT_TRUE(log.ok()) << log.status();
  const std::string begins(AuditLog::kLongest - 1, 'x');
  (*log)->record({.who = "\x1b[2Ju", .method = "m", .object = begins + "\u00e4", .outcome = "a\nb"});
  EXPECT_TRUE((*log)->flush().ok());
  const nlohmann::json line = lines_of(path_)[0];
  EXPECT_EQ(line["who"], "?[2Ju");
  EXPECT_EQ(line["object"], begins + "...");
  EXPECT_EQ(line["outcome"], "a?b");
}

TEST_F(AuditLogTest, TakesNoMoreOfTheDiskThanItsBounds) {
  for (int run = 0; run < 2; ++run) {
    const auto log = AuditLog::open(path_, clock_, {.file_bytes = 1000, .old_files = 2});
    ASSERT_TRUE(log.ok()) << log.status();
    for (int i = 0; i < 100; ++i) {
      (*log)->record({.who = "admin ada", .method = "m", .object = std::to_string(i), .outcome = "OK"});
      EXPECT_TRUE((*log)->flush().ok());
    }
  }
  EXPECT_FALSE(read_file(path_ + ".3").ok());
  int expected = 99;  // the newest, without a gap
  for (const std::string& path : {path_, path_ + ".1", path_ + ".2"}) {
    EXPECT_LT(read_file(path)->size(), 1200u) << path;
    std::vector<nlohmann::json> lines = lines_of(path);
    EXPECT_FALSE(lines.empty());
    for (; !lines.empty(); lines.pop_back()) EXPECT_EQ(lines.back()["object"], std::to_string(expected--));
  }
}

}  // namespace
}  // namespace tf::rpc
