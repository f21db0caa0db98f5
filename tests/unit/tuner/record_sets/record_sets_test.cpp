// A set from a database through a folder into another database.
#include "database/sqlite/record_sets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <functional>
#include <map>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/files/file.h"
#include "base/files/temporary_folder.h"
#include "base/status.h"
#include "database/sqlite/sqlite_store.h"
#include "tests/unit/tuner/record_sets/samples.h"
#include "tests/unit/tuner/record_sets/web_server.h"
#include "tuner/record_sets/push.h"
#include "tuner/record_sets/read_set.h"

namespace tf::record_sets {
namespace {

using testing::HasSubstr;

class RecordSets : public testing::Test {
 protected:
  absl::StatusOr<Pushed> push_records(const std::vector<Measurement>& records) {
    return push_records(records, key_);
  }
  absl::StatusOr<Pushed> push_records(const std::vector<Measurement>& records, const rpc::KeyPair& key,
                                      const std::string& name = "desks") {
    BestRecords best;
    best.records = {{database::conv_workload()}, records, {}};
    best.targets = {database::conv_problem().target};
    return push(best, key,
                {.folder = set_, .name = name, .device_class = "desk", .by = "ann", .created_unix_ns = 7});
  }

  // As `tuner pull` does it.
  absl::StatusOr<database::MergeCounts> pull() { return pull(set_); }
  absl::StatusOr<database::MergeCounts> pull(const std::string& from) {
    TF_ASSIGN_OR_RETURN(const Place place, Place::parse(from));
    TF_ASSIGN_OR_RETURN(const Described described, describe_set(place, {rpc::PublicKey::of(key_)}));
    TF_ASSIGN_OR_RETURN(const database::JsonRecords records, read_records(place, described.manifest));
    return database::merge_record_set(db_,
                                      {.name = described.manifest.name,
                                       .signer = described.signer,
                                       .version = described.manifest.version,
                                       .manifest = described.digest,
                                       .previous = described.manifest.previous,
                                       .device_class = described.manifest.device_class,
                                       .made_by = described.manifest.by,
                                       .source = place.text()},
                                      records, "wait");
  }

  std::string read(const std::string& file) { return read_file(path(file)).value(); }
  std::string path(const std::string& file) { return absl::StrCat(set_, "/", file); }
  void write(const std::string& file, const std::string& bytes) {
    ASSERT_TRUE(write_file(path(file), bytes).ok());
  }
  // A manifest that was changed, and signed again by the set's key or another one.
  void sign_again(const std::function<void(Manifest&)>& change) {
    Manifest manifest = parse_manifest(read("v1.json")).value();
    change(manifest);
    write("v1.json", to_text(manifest));
    write("v1.sig", absl::Base64Escape(key_.sign(statement_of(to_text(manifest)))));
  }
  // What the records become, with a manifest that fits them.
  void change_records(const std::function<void(std::string&)>& change) {
    std::string text = read("v1.jsonl");
    change(text);
    write("v1.jsonl", text);
    sign_again([&](Manifest& manifest) {
      manifest.bytes = std::ssize(text);
      manifest.content = sha256(text);
    });
  }
  // That the pull is refused with that text and makes no database.
  void expect_refused(absl::StatusCode code, const std::string& text) {
    const absl::Status refused = pull().status();
    EXPECT_EQ(refused.code(), code) << refused;
    EXPECT_THAT(message(refused), HasSubstr(text));
    EXPECT_THAT(message(refused), testing::Not(HasSubstr("\n")));
    EXPECT_FALSE(std::filesystem::exists(db_)) << "nothing is merged";
  }
  std::vector<Digest> pulled() {
    std::vector<Digest> all;
    const auto records = database::open_sqlite_records(db_);
    EXPECT_TRUE(records.ok() && (*records)
                                    ->scan({},
                                           [&](const Measurement& m) {
                                             all.push_back(record_digest(m));
                                             return absl::OkStatus();
                                           })
                                    .ok());
    return all;
  }

  const TemporaryFolder folder_ = *TemporaryFolder::make();
  const std::string set_ = folder_.file("sets/desks"), db_ = folder_.file("t.db");
  const rpc::KeyPair key_ = rpc::KeyPair::generate().value();
};

TEST_F(RecordSets, GoThroughAFolderIntoADatabaseOnce) {
  ASSERT_TRUE(push_records({record(100), record(200)}).ok());
  const database::MergeCounts first = pull().value();
  EXPECT_EQ(first.added, 2) << "what the set has itself was not there before";
  EXPECT_EQ(digests({record(100), record(200)}), pulled());
  const database::MergeCounts again = pull().value();
  EXPECT_EQ(again.equal, 2);
  EXPECT_EQ(again.added + again.better + again.slower, 0);
  EXPECT_EQ(pulled().size(), 2u);
}

TEST_F(RecordSets, GoThroughAWebServer) {
  ASSERT_TRUE(push_records({record(100)}).ok());
  const WebServer server([&](const std::string& at) {
    const auto file = read_file(absl::StrCat(folder_.file(""), at));
    return file.ok() ? ok(*file) : std::string("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n");
  });
  EXPECT_EQ(pull(absl::StrCat("http://", server.address(), "/sets/desks/"))->added, 1);
  EXPECT_EQ(pull(absl::StrCat("http://", server.address(), "/sets/none")).status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(RecordSets, CountWhatIsBetterSlowerAndEqual) {
  ASSERT_TRUE(push_records({record(100, 1), record(300, 1)}).ok());
  ASSERT_TRUE(pull().ok());
  Measurement other = record(400, 2);
  other.problem.binding = "N=8";
  ASSERT_TRUE(push_records({record(50, 2), record(100, 1), record(200, 2), other}).ok());
  const database::MergeCounts counts = pull().value();
  EXPECT_EQ(counts.better, 1);
  EXPECT_EQ(counts.slower, 1);
  EXPECT_EQ(counts.equal, 1);
  EXPECT_EQ(counts.added, 1);
}

TEST_F(RecordSets, ADatabaseKnowsWhichSetsHaveARecord) {
  {
    const auto own = database::open_sqlite_store(db_).value();
    ASSERT_TRUE(own->add_workload(database::conv_workload()).ok());
    ASSERT_TRUE(own->insert(record(300)).ok());
    ASSERT_TRUE(own->insert(record(400)).ok());
  }
  ASSERT_TRUE(push_records({record(100), record(300)}).ok());
  ASSERT_TRUE(pull().ok());
  ASSERT_TRUE(push_records({record(100), record(50)}).ok());
  ASSERT_TRUE(pull().ok());
  const auto sets =
      database::sets_of_records(db_, digests({record(50), record(100), record(300), record(400)})).value();
  ASSERT_EQ(sets.size(), 3u) << "not of the last one";
  const database::SetEntry first = sets.at(record_digest(record(100)))[0];
  EXPECT_EQ(first.name, "desks");
  EXPECT_EQ(first.version, 1) << "the first that has it";
  EXPECT_EQ(first.signer, rpc::PublicKey::of(key_).fingerprint());
  EXPECT_TRUE(first.brought);
  EXPECT_EQ(sets.at(record_digest(record(50)))[0].version, 2);
  EXPECT_FALSE(sets.at(record_digest(record(300)))[0].brought) << "it was here before";
}

TEST_F(RecordSets, EqualRecordsMakeNoNewVersion) {
  EXPECT_TRUE(push_records({record(100)})->is_new);
  const Pushed again = push_records({record(100)}).value();
  EXPECT_FALSE(again.is_new);
  EXPECT_EQ(again.manifest.version, 1);
  const Pushed next = push_records({record(90)}).value();
  EXPECT_EQ(next.manifest.version, 2);
  EXPECT_EQ(next.manifest.previous, sha256(read("v1.json")));
  EXPECT_EQ(read("latest"), "2\n");
}

TEST_F(RecordSets, AnotherKeyOrNameDoesNotContinueASet) {
  ASSERT_TRUE(push_records({record(100)}).ok());
  const absl::Status key = push_records({record(90)}, rpc::KeyPair::generate().value()).status();
  EXPECT_THAT(message(key), HasSubstr("sign with the key of its last version"));
  const absl::Status name = push_records({record(90)}, key_, "others").status();
  EXPECT_THAT(message(name), HasSubstr("has the set desks, not others"));
  EXPECT_EQ(read("latest"), "1\n");
}

TEST_F(RecordSets, AreRefusedWithoutATrustedSignature) {
  ASSERT_TRUE(push_records({record(100)}).ok());
  const std::string good = read("v1.sig");
  const rpc::KeyPair stranger = rpc::KeyPair::generate().value();
  for (const std::string& signature : {absl::Base64Escape(stranger.sign(statement_of(read("v1.json")))),
                                       absl::Base64Escape(key_.sign(read("v1.json"))),
                                       std::string("%%% no base64"), std::string(), good.substr(0, 20)}) {
    write("v1.sig", signature);
    expect_refused(absl::StatusCode::kUnauthenticated, "v1.json is not signed by a trusted key");
  }
  write("v1.sig", good);
  write("v1.json", absl::StrReplaceAll(read("v1.json"), {{"ann", "bob"}}));
  expect_refused(absl::StatusCode::kUnauthenticated, "is not signed by a trusted key");
  std::filesystem::remove(path("v1.sig"));
  expect_refused(absl::StatusCode::kDataLoss, "there is no");
}

TEST_F(RecordSets, AreRefusedIfTheyAreNotTheFileThatWasSigned) {
  ASSERT_TRUE(push_records({record(100)}).ok());
  const std::string good = read("v1.jsonl");
  write("v1.jsonl", good.substr(0, good.size() - 10));
  expect_refused(absl::StatusCode::kDataLoss, "v1.jsonl is cut short: it has");
  write("v1.jsonl", good + "\n");
  expect_refused(absl::StatusCode::kFailedPrecondition, "larger than the limit of");
  std::string changed = good;
  changed[changed.size() / 2] ^= 1;
  write("v1.jsonl", changed);
  expect_refused(absl::StatusCode::kDataLoss, "v1.jsonl is not the file that was signed");
  std::filesystem::remove(path("v1.jsonl"));
  expect_refused(absl::StatusCode::kDataLoss, "the set is not whole: there is no");
}

TEST_F(RecordSets, ARecordThatCannotBeRefusesAllOfThem) {
  ASSERT_TRUE(push_records({record(100), record(200)}).ok());
  const std::string good = read("v1.jsonl");
  const std::map<std::string, std::string> replaced = {
      {"\"median_ns\":200.0", "\"median_ns\":2.0"},
      {"\"outcome\":\"ok\"", "\"outcome\":\"fine\""},
      {"\"finished_unix_ns\":1", "\"finished_unix_ns\":9000000000000000000"},
      {"\"threads\":2", "\"threads\":0"}};
  for (const auto& [from, to] : replaced) {
    change_records([&good, &from = from, &to = to](std::string& text) {
      text = absl::StrReplaceAll(good, {{from, to}});
    });
    ASSERT_NE(read("v1.jsonl"), good) << from;
    expect_refused(absl::StatusCode::kInvalidArgument, "v1.jsonl:");
  }
}

TEST_F(RecordSets, AreRefusedIfTheManifestSaysSomethingElse) {
  ASSERT_TRUE(push_records({record(100)}).ok());
  const Manifest good = parse_manifest(read("v1.json")).value();
  const std::vector<std::pair<std::string, std::function<void(Manifest&)>>> changes = {
      {"another device class", [](Manifest& m) { m.device_class = "board"; }},
      {"another target", [](Manifest& m) { m.targets = {"riscv64"}; }},
      {"another number of records", [](Manifest& m) { m.measurements = 2; }}};
  for (const auto& [what, change] : changes) {
    sign_again([&good, &change = change](Manifest& m) {
      m = good;
      change(m);
    });
    expect_refused(absl::StatusCode::kInvalidArgument, "v1.jsonl is not what its manifest says");
    expect_refused(absl::StatusCode::kInvalidArgument, what);
  }
  sign_again([&](Manifest& m) { (m = good).semantics_version += 1; });
  expect_refused(absl::StatusCode::kFailedPrecondition, "but this program builds with version");
  sign_again([&](Manifest& m) { (m = good).version = 2; });
  expect_refused(absl::StatusCode::kInvalidArgument, "v1.json describes version 2");
}

TEST_F(RecordSets, FilesThatAreTooLargeAreNotRead) {
  ASSERT_TRUE(push_records({record(100)}).ok());
  const std::string good = read("v1.json");
  write("v1.json", std::string(kMostManifestBytes + 1, ' '));
  expect_refused(absl::StatusCode::kFailedPrecondition, "v1.json: it is larger than the limit of");
  write("v1.json", good);
  write("latest", std::string(100, '1'));
  expect_refused(absl::StatusCode::kFailedPrecondition, "latest: it is larger than the limit of 32 bytes");
  for (const char* text : {"", "0", "-1", "1.5", "../secret", "99999999999999999999"}) {
    write("latest", text);
    expect_refused(absl::StatusCode::kInvalidArgument, "latest is not the number of a version");
  }
}

TEST_F(RecordSets, APipeInAFolderIsRefusedAndNotWaitedFor) {
  for (const char* file : {"latest", "v1.json", "v1.sig", "v1.jsonl"}) {
    std::filesystem::remove_all(set_);
    ASSERT_TRUE(push_records({record(100)}).ok());
    std::filesystem::remove(path(file));
    ASSERT_EQ(::mkfifo(path(file).c_str(), 0600), 0);
    EXPECT_THAT(std::string(pull().status().message()), HasSubstr("it is a pipe")) << file;
  }
}

TEST_F(RecordSets, ArePublishedInAFolderOnly) {
  const absl::Status refused =
      push({}, key_, {.folder = "https://localhost:1/set", .name = "desks", .device_class = "desk"}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_FALSE(std::filesystem::exists("https:"));
}

TEST_F(RecordSets, AnOlderVersionThanWasPulledIsRefused) {
  ASSERT_TRUE(push_records({record(100)}).ok());
  ASSERT_TRUE(push_records({record(90)}).ok());
  ASSERT_TRUE(pull().ok());
  write("latest", "1\n");
  const absl::Status refused = pull().status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(message(refused), HasSubstr("set desks is offered at version 1, but"));
  EXPECT_EQ(digests({record(90)}), pulled()) << "nothing is merged";
}

TEST_F(RecordSets, AVersionThatWasPublishedTwiceIsRefused) {
  ASSERT_TRUE(push_records({record(100)}).ok());
  ASSERT_TRUE(pull().ok());
  std::filesystem::remove_all(set_);
  ASSERT_TRUE(push_records({record(90)}).ok());  // begins at version 1 again
  EXPECT_THAT(message(pull().status()), HasSubstr("it was published twice"));
  ASSERT_TRUE(push_records({record(80)}).ok());
  EXPECT_THAT(message(pull().status()), HasSubstr("it was published twice"))
      << "version 2 of another version 1";
  EXPECT_EQ(digests({record(100)}), pulled()) << "nothing is merged";
}

TEST_F(RecordSets, ASetOfTheSameNameBySomebodyElseIsAnotherSet) {
  ASSERT_TRUE(push_records({record(100)}).ok());
  ASSERT_TRUE(push_records({record(90)}).ok());
  const auto merge = [&](const rpc::KeyPair& key, int64_t version) {
    return database::merge_record_set(
        db_, {.name = "desks", .signer = rpc::PublicKey::of(key).fingerprint(), .version = version}, {},
        "wait");
  };
  ASSERT_TRUE(merge(key_, 2).ok());
  EXPECT_TRUE(merge(rpc::KeyPair::generate().value(), 1).ok());
  EXPECT_FALSE(merge(key_, 1).ok());
}

TEST_F(RecordSets, AMergeThatFailsLeavesNothing) {
  database::RecordSet set{.name = "desks", .version = 1};
  const absl::Status refused =
      database::merge_record_set(db_, set, {{}, {record(100)}, {}}, "wait").status();  // without its workload
  EXPECT_FALSE(refused.ok());
  EXPECT_TRUE(pulled().empty());
  const database::JsonRecords half = {{database::conv_workload()}, {record(100), Measurement{}}, {}};
  EXPECT_FALSE(database::merge_record_set(db_, set, half, "wait").ok());
  EXPECT_TRUE(pulled().empty());
  EXPECT_TRUE(database::sets_of_records(db_, digests({record(100)}))->empty());
}

}  // namespace
}  // namespace tf::record_sets
