// What cannot work is answered with one line that says what to do and the documented exit code, and nothing
// is lost.

#include <gmock/gmock.h>
#include <sqlite3.h>

#include <algorithm>
#include <filesystem>

#include "base/files/file.h"
#include "tests/integration/tuning_fixture.h"
#include "tests/support/onnx/model_writer.h"

namespace tf::integration_test {
namespace {

constexpr int kFailed = 1, kUsage = 2, kNoDevice = 3;

class BadInput : public Tuning {
 protected:
  std::string write(const std::string& name, const std::string& bytes) {
    EXPECT_TRUE(write_file(file(name), bytes).ok());
    return file(name);
  }

  std::string truncated_model() { return write("torn.onnx", read_file(file("mlp.onnx"))->substr(0, 4000)); }
  std::string unsupported_model() {
    onnx::ModelWriter model;
    model.input("x", {2});
    model.node("StringNormalizer", {"x"}, "boxes");
    model.output("boxes");
    return write("unsupported.onnx", model.bytes());
  }
  std::string open_model() {
    EXPECT_EQ(run("compiler", {"zoo", "mlp", "--batch-name", "n", "-o", file("open.onnx")}).code, 0);
    return file("open.onnx");
  }

  // A database with records.
  std::string database(const std::string& name) {
    const Result tuned = run("tuner", {"tune", file("mlp.onnx"), "--target", "host", "--db", file(name),
                                       "--trials", "5", "--without-sandbox", "missing"});
    EXPECT_EQ(tuned.code, 0) << tuned.err;
    return file(name);
  }

  // Every program that takes a database refuses this one, and leaves it as it is.
  void expect_refused_everywhere(const std::string& path, const std::string& words) {
    const std::string before = *read_file(path), model = file("mlp.onnx");
    const std::string records = write("none.jsonl", "{\"type\":\"tunefarm-records\",\"version\":1}\n");
    const std::string nobody = farm_test::free_endpoint().text();
    expect_refusal("tuner", {"tune", model, "--target", "host", "--db", path, "--trials", "1"}, kFailed,
                   words);
    expect_refusal("tuner", {"serve", "--db", path, "--tracker", nobody, "--listen", "127.0.0.1:0"}, kFailed,
                   words);
    expect_refusal("tuner", {"best", "--db", path}, kFailed, words);
    expect_refusal("tuner", {"export", "--db", path, "-o", file("out.jsonl")}, kFailed, words);
    expect_refusal("tuner", {"import", records, "--db", path}, kFailed, words);
    expect_refusal("compiler", {"build", model, "--db", path, "-o", file("out")}, kFailed, words);
    expect_refusal("compiler", {"show", "123456", "--db", path}, kFailed, words);
    EXPECT_TRUE(*read_file(path) == before) << "the file was changed";
    EXPECT_FALSE(read_file(file("out.jsonl")).ok()) << "an export of nothing was left";
  }
};

TEST_F(BadInput, NetworksAreRefusedByEveryCommandThatReadsOne) {
  const auto refused = [&](const std::string& model, std::vector<std::string> more, int code,
                           const std::string& words) {
    std::vector<std::string> tasks = {"tasks", model}, build = {"build", model, "-o", file("out")},
                             tune = {"tune", model, "--db", file("new.db"), "--trials", "1"};
    if (std::ranges::find(more, "--target") == more.end()) more.insert(more.end(), {"--target", "host"});
    for (auto* command : {&tasks, &build, &tune}) command->insert(command->end(), more.begin(), more.end());
    expect_refusal("compiler", tasks, code, words);
    expect_refusal("compiler", build, code, words);
    expect_refusal("tuner", tune, code, words);
  };
  refused(truncated_model(), {}, kUsage, "truncated");
  refused(unsupported_model(), {}, kFailed,
          "node 'the_boxes' (StringNormalizer): this operator is not supported");
  refused(open_model(), {}, kUsage, "--dim n=1");
  refused(file("mlp.onnx"), {"--dim", "m=3"}, kUsage, "no such dimension");
  refused(file("mlp.onnx"), {"--target", "vax"}, kUsage, "vax");
  EXPECT_FALSE(read_file(file("out/model.so")).ok());
  EXPECT_FALSE(read_file(file("new.db")).ok()) << "a mistake makes no database";
}

TEST_F(BadInput, ANetworkThatCannotBeBuiltIsRefusedBeforeItIsTuned) {
  onnx::ModelWriter model;
  model.input("x", {1, 512});
  std::vector<float> weights(512 * 512, 0.5f);
  weights[7] = 1e6f;  // no half
  model.floats("w", {512, 512}, weights);
  model.node("MatMul", {"x", "w"}, "y");
  model.output("y");
  const std::string path = write("large.onnx", model.bytes());
  expect_refusal("tuner",
                 {"tune", path, "--target", "host", "--db", file("new.db"), "--allow", "fp16", "--trials",
                  "1000000", "--without-sandbox", "missing"},
                 kFailed,
                 "large.onnx was not tuned, because it cannot be built: constant 'w' has 1 values beyond");
  EXPECT_TRUE(measurements(file("new.db")).empty()) << "something was measured";
}

TEST_F(BadInput, WhatCannotRunHereIsNotTunedHere) {
  const auto refused = [&](std::vector<std::string> more, const std::string& words) {
    std::vector<std::string> tune = {"tune", file("mlp.onnx"), "--db", file("new.db")};
    tune.insert(tune.end(), more.begin(), more.end());
    expect_refusal("tuner", tune, kUsage, words);
  };
  refused({"--target", "wasm32"}, "tuning for it is not supported yet");
  refused({"--target", "opencl", "--threads", "2"}, "has the threads of its schedule");
  refused({"--target", "opencl", "--device", "cpu"}, "give opencl:N, as in opencl:0");
  refused({"--target", "host", "--device", "opencl:0"}, "does not run code for --target");
  refused({"--target", "host", "--device", "gpu"}, "give cpu, opencl:N or cuda:N");
  refused({"--target", "riscv64", "--trials", "1"}, "device_agent on a machine that does");
  refused({"--target", "host", "--threads", "4096"}, "this process may run on");
  refused({"--target", "host", "--minutes", "0"}, "'0' is not a finite number above 0");
  refused({"--target", "host", "--minutes", "inf"}, "'inf' is not a finite number above 0");
  refused({"--target", "host", "--minutes", "525601"}, "above 0 and at most 525600, a year, not 525601");
  refused({"--target", "host", "--until-gain", "101"}, "above 0 and at most 100, not 101");
  refused({"--target", "host", "--dim", "N=1", "--dim", "N=2"}, "gives \"N\" twice");
  refused({"--target", "host", "--trials", "-1"}, "'-1' is not a finite number above 0");
  refused({"--target", "host", "--trials", "99999999999999999999"}, "is too large");
  refused({"--target", "host", "--seed", "-1"}, "'-1' is below 0");
  refused({"--target", "host", "--strategy", ""}, "--strategy: the value is empty");
  EXPECT_FALSE(read_file(file("new.db")).ok()) << "a mistake makes no database";
  expect_refusal("tuner", {"best", "--db", file("new.db"), "--top", "0"}, kUsage, "at least 1");
  expect_refusal("tuner", {"doctor", "--db", ""}, kUsage, "--db: the value is empty");
  expect_refusal("tuner", {"import", file("mlp.onnx"), "--db", file("new.db")}, kUsage, "mlp.onnx:1");
  EXPECT_FALSE(read_file(file("new.db")).ok()) << "nor does an import of junk";
  expect_refusal("tuner", {"pause", "99999999999999999999"}, kUsage, "is too large");
}

TEST_F(BadInput, ATunerDoesNotServeWithACertificateThatMayLeaseNothing) {
  ASSERT_EQ(run("tracker", {"ca", "init", "--dir", file("ca")}).code, 0);
  expect_refusal("tuner",
                 {"serve", "--db", file("new.db"), "--tracker", farm_test::free_endpoint().text(), "--listen",
                  "127.0.0.1:0", "--tls", file("ca/admin")},
                 kFailed, "belongs to admin admin, but `tuner serve` leases devices as a tuner");
  EXPECT_FALSE(read_file(file("new.db")).ok()) << "a mistake makes no database";
}

TEST_F(BadInput, WhatIsReadAsSomethingElseIsNotMadeADatabase) {
  const std::string lines = file("x.jsonl"), model = file("mlp.onnx");
  expect_refusal("tuner", {"tune", model, "--target", "host", "--db", lines}, kUsage, "means JSON lines");
  expect_refusal("tuner", {"tune", model, "--target", "host", "--db", "tuner://127.0.0.1:1"}, kUsage,
                 "`tuner submit` to that tuner");
  expect_refusal(
      "tuner",
      {"serve", "--db", lines, "--tracker", farm_test::free_endpoint().text(), "--listen", "127.0.0.1:0"},
      kUsage, "means JSON lines");
  EXPECT_FALSE(std::filesystem::exists(lines)) << "a mistake makes no database";
}

TEST_F(BadInput, AFileThatIsNoDatabaseIsRefusedAndKept) {
  expect_refused_everywhere(write("text.db", std::string(5000, 'x')), "text.db");
}

TEST_F(BadInput, ADamagedDatabaseIsRefusedAndKept) {
  const std::string path = database("torn.db");
  std::string bytes = *read_file(path);
  ASSERT_GT(bytes.size(), 20000u);
  write("torn.db", bytes.substr(0, bytes.size() / 2));
  expect_refused_everywhere(path, "torn.db");
}

TEST_F(BadInput, AnExportOrImportDoesNotReplaceWhatItReads) {
  const std::string db = database("own.db"), lines = file("own.jsonl");
  ASSERT_EQ(run("tuner", {"export", "--db", db, "-o", lines}).code, 0);
  std::filesystem::create_symlink("own.jsonl", file("link.jsonl"));
  write("own.db-wal", "");
  const std::string before = *read_file(lines), records = *read_file(db);
  for (const std::string& output : {lines, file("link.jsonl")})
    expect_refusal("tuner", {"export", "--only-ok", "--db", lines, "-o", output}, kUsage, "give another -o");
  for (const char* output : {"own.db", "own.db-wal"})
    expect_refusal("tuner", {"export", "--db", db, "-o", file(output)}, kUsage,
                   "this command uses that file; give another -o");
  expect_refusal("tuner", {"import", lines, "--db", "sqlite:" + file("link.jsonl")}, kUsage,
                 "which this command uses; give another --db");
  expect_refusal("tuner", {"backup", "--db", db, "-o", db}, kFailed, "already exists");
  EXPECT_EQ(*read_file(lines), before);
  EXPECT_TRUE(*read_file(db) == records);
}

TEST_F(BadInput, AnExportOfAJobThatIsNotThereFails) {
  const std::string db = database("jobs.db");
  EXPECT_THAT(run("tuner", {"export", "--db", db, "--job", "1"}).out, testing::HasSubstr("\"measurement\""));
  expect_refusal("tuner", {"export", "--db", db, "--job", "99"}, kFailed, "has no measurement of job 99");
  expect_refusal("tuner", {"export", "--db", db, "--job", "99", "-o", file("out.jsonl")}, kFailed, "job 99");
  EXPECT_FALSE(read_file(file("out.jsonl")).ok()) << "an export of nothing was left";
}

TEST_F(BadInput, ADatabaseOfANewerProgramIsRefusedAndKept) {
  const std::string path = database("newer.db");
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, "PRAGMA user_version = 99; PRAGMA wal_checkpoint(TRUNCATE)", nullptr, nullptr,
                         nullptr),
            SQLITE_OK);
  sqlite3_close(db);
  expect_refused_everywhere(path, "its schema has version 99");
}

TEST_F(BadInput, ADatabaseWithADamagedRowIsNamedAndNothingOfItIsUsed) {
  const std::string path = database("rows.db"), model = file("mlp.onnx");
  const auto execute = [&](const char* sql) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    sqlite3_close(db);
  };
  execute(
      "DROP TRIGGER measurements_fixed;"
      "UPDATE measurements SET samples = x'ffffffffffffffff01000000', median_ns = 0.001, outcome = 1");
  const std::string words = "a sample of -1 ns";
  expect_refusal("tuner", {"best", "--db", path}, kFailed, words);
  expect_refusal("tuner", {"export", "--db", path, "-o", file("out.jsonl")}, kFailed, words);
  expect_refusal("compiler", {"build", model, "--db", path, "-o", file("out")}, kFailed, words);
  EXPECT_FALSE(read_file(file("out.jsonl")).ok());
  EXPECT_FALSE(read_file(file("out/model.so")).ok());
  const Result tuned = run("tuner", {"tune", model, "--target", "host", "--db", path, "--trials", "6"});
  EXPECT_EQ(tuned.code, kFailed);
  EXPECT_THAT(tuned.err, testing::HasSubstr(words));
}

TEST_F(BadInput, ASchedulesTextThatIsNoneIsLeftOut) {
  const std::string path = database("texts.db"), model = file("mlp.onnx");
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db,
                         "DROP TRIGGER measurements_fixed; UPDATE measurements SET schedule = char(27) || "
                         "'[31m no schedule' || id, untuned = 0; DELETE FROM network_verdicts",
                         nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(db);
  const Result best = run("tuner", {"best", "--db", path});
  EXPECT_EQ(best.code, kFailed);
  EXPECT_THAT(best.err, testing::HasSubstr("its schedule is not valid"));
  EXPECT_THAT(best.err, testing::Not(testing::HasSubstr("\x1b")));
  const Result built = run("compiler", {"build", model, "--db", path, "-o", file("out")});
  EXPECT_EQ(built.code, 0) << built.err;
  EXPECT_THAT(built.err, testing::HasSubstr("using the default schedule"));
  const Result tuned = run("tuner", {"tune", model, "--target", "host", "--db", path, "--trials", "6"});
  EXPECT_EQ(tuned.code, 0) << tuned.err;
}

class BadRequest : public ServedTuning {
 protected:
  std::vector<std::string> submit(const std::string& model, const std::string& target,
                                  const std::string& device) const {
    return {"submit", model, "--target", target, "--device", device, "--server", tuner_at_.text()};
  }
};

TEST_F(BadRequest, SubmissionsThatCannotWorkAreRefusedAndLeaveNoJob) {
  wait_for_agent();
  const std::string model = file("mlp.onnx");
  ASSERT_TRUE(write_file(file("torn.onnx"), read_file(model)->substr(0, 4000)).ok());
  ASSERT_EQ(run("compiler", {"zoo", "mlp", "--batch-name", "n", "-o", file("open.onnx")}).code, 0);
  onnx::ModelWriter unsupported;
  unsupported.input("x", {2});
  unsupported.node("StringNormalizer", {"x"}, "boxes");
  unsupported.output("boxes");
  ASSERT_TRUE(write_file(file("unsupported.onnx"), unsupported.bytes()).ok());

  expect_refusal("tuner", submit(model, "host", "nowhere"), kNoDevice, "no device has the key \"nowhere\"");
  expect_refusal("tuner", submit(model, "riscv64", "box"), kNoDevice,
                 "no device with the key \"box\" runs code for riscv64: device ");
  expect_refusal("tuner", submit(model, "cuda", "box"), kNoDevice, "does not measure on a GPU for cuda");
  expect_refusal("tuner", submit(model, "z80", "box"), kUsage, "z80");
  expect_refusal("tuner", submit(file("torn.onnx"), "host", "box"), kUsage, "truncated");
  expect_refusal("tuner", submit(file("open.onnx"), "host", "box"), kUsage, "--dim n=1");
  expect_refusal("tuner", submit(file("unsupported.onnx"), "host", "box"), kFailed,
                 "unsupported.onnx: node 'the_boxes' (StringNormalizer)");
  expect_refusal("tuner", submit(file("no.onnx"), "host", "box"), kFailed, "cannot read");
  expect_refusal("tuner", {"cancel", "77", "--server", tuner_at_.text()}, kFailed, "there is no job 77");
  const Result several = run("tuner", {"cancel", "77", "78", "--server", tuner_at_.text()});
  EXPECT_EQ(several.code, kFailed);
  EXPECT_THAT(several.err, testing::AllOf(testing::HasSubstr("there is no job 77"),
                                          testing::HasSubstr("there is no job 78")));
  EXPECT_EQ(run("tuner", {"jobs", "--server", tuner_at_.text(), "--json"}).out, "");
  EXPECT_EQ(measured("tune.db"), 0);
  EXPECT_TRUE(std::filesystem::is_empty(file("tune.db.models"))) << "nor a model";
}

TEST_F(BadRequest, ATunerThatCannotListenMakesNoDatabase) {
  wait_for_agent();
  wait_until("the tuner", [&] { return run("tuner", {"jobs", "--server", tuner_at_.text()}).code == 0; });
  expect_refusal(
      "tuner", {"serve", "--db", file("n.db"), "--tracker", tracker_at_.text(), "--listen", tuner_at_.text()},
      kFailed, "the port is in use");
  expect_refusal("tuner",
                 {"serve", "--db", file("n.db"), "--tracker", tracker_at_.text(), "--listen", "127.0.0.1:0",
                  "--metrics", tuner_at_.text()},
                 kFailed, "the port is in use");
  for (const char* name : {"n.db", "n.db.lock", "n.db.installation"})
    EXPECT_FALSE(std::filesystem::exists(file(name))) << name;
}

TEST_F(BadRequest, ATunerThatIsFullSaysSo) {
  wait_for_agent();
  const std::string at = farm_test::free_endpoint().text();
  const auto small = start("tuner",
                           {"serve", "--db", file("small.db"), "--tracker", tracker_at_.text(), "--listen",
                            at, "--max-waiting-each", "1", "--max-model-mib", "32"},
                           "small.log");
  const auto jobs = [&] { return run("tuner", {"jobs", "--server", at, "--json"}); };
  wait_until("the small tuner", [&] { return jobs().code == 0; });
  const auto submit_there = [&](const std::string& model) -> std::vector<std::string> {
    return {"submit", model, "--target", "host", "--device", "box", "--server", at};
  };
  onnx::ModelWriter large;
  large.floats("weights", {}, {}).set_raw_data(std::string((33 << 20) - 1000, 'x'));
  large.output("weights");
  ASSERT_TRUE(write_file(file("large.onnx"), large.bytes()).ok());
  expect_refusal("tuner", submit_there(file("large.onnx")), kFailed,
                 "the model has 33 MiB, but this tuner accepts at most 32");
  ASSERT_EQ(run("tuner", submit_there(file("mlp.onnx"))).code, 0);
  ASSERT_EQ(run("tuner", {"pause", "1", "--server", at}).code, 0);
  wait_until("the pause", [&] { return jobs().out.find("paused") != std::string::npos; });
  expect_refusal("tuner", submit_there(file("mlp.onnx")), kFailed, "--max-waiting-each");
  const auto mistaken = [&](const std::string& option, const std::string& value) {
    std::vector<std::string> command = submit_there(file("mlp.onnx"));
    command.insert(command.end(), {option, value});
    return command;
  };
  expect_refusal("tuner", mistaken("--strategy", "luck"), kUsage, "luck");
  expect_refusal("tuner", mistaken("--selector", "=lab3"), kUsage, "the selector's key");
  expect_refusal("tuner", mistaken("--dim", "m=3"), kUsage, "no such dimension");
  ASSERT_EQ(run("tuner", {"cancel", "1", "--server", at}).code, 0);
  EXPECT_TRUE(std::filesystem::is_empty(file("small.db.models")));
  EXPECT_EQ(run("tuner", submit_there(file("mlp.onnx"))).code, 0);
}

TEST_F(BadRequest, PortsInUseAreNamed) {
  wait_for_agent();
  expect_refusal(
      "tuner",
      {"serve", "--db", file("other.db"), "--tracker", tracker_at_.text(), "--listen", tuner_at_.text()},
      kFailed, tuner_at_.text() + ": the port is in use");
  expect_refusal("tracker", {"serve", "--listen", tracker_at_.text(), "--state", file("other-tracker.db")},
                 kFailed, tracker_at_.text() + ": the port is in use");
}

TEST_F(BadRequest, ADatabaseThatATunerHasOpenIsReadByManyAndWrittenByNobodyElse) {
  wait_for_agent();
  ASSERT_EQ(run("tuner", submission(5, {"--follow"})).code, 0);
  const std::string db = file("tune.db");
  ASSERT_TRUE(write_file(file("r.jsonl"), "{\"type\":\"tunefarm-records\",\"version\":1}\n").ok());
  expect_refusal("tuner", {"import", file("r.jsonl"), "--db", db}, kFailed,
                 "is writing it; wait until it ends; or stop it, import and restart it");
  expect_refusal("tuner", {"import", file("r.jsonl"), "--db", "tuner://" + tuner_at_.text()}, kUsage,
                 "give a database FILE; to import into a tuner's file, stop the tuner first");
  expect_refusal("tuner", {"tune", file("mlp.onnx"), "--target", "host", "--db", db, "--trials", "1"},
                 kFailed,
                 "is writing it; wait until it ends or stop it; if it is `tuner serve`, use `tuner submit`");
  expect_refusal("tuner", {"serve", "--db", db, "--tracker", tracker_at_.text(), "--listen", "127.0.0.1:0"},
                 kFailed, "is writing it");
  EXPECT_EQ(run("tuner", {"best", "--db", db}).code, 0);
  EXPECT_EQ(run("compiler", {"build", file("mlp.onnx"), "--db", db, "--strict", "-o", file("out")}).code, 0);
  EXPECT_EQ(measured("tune.db"), 5);
}

TEST_F(BadRequest, ATrackerThatIsNotThereIsNamedAndAJobWaitsForIt) {
  wait_for_agent();
  ASSERT_EQ(run("tuner", submission(30)).code, 0);
  wait_for_measurements("tune.db", 5);
  tracker_->kill_9();
  expect_refusal("tuner", submit(file("mlp.onnx"), "host", "box"), kFailed,
                 "no tracker answers at " + tracker_at_.text());
  expect_refusal("tracker", {"devices", "--tracker", tracker_at_.text()}, kFailed, tracker_at_.text());
  start_tracker();
  wait_for_measurements("tune.db", 30);
}

TEST_F(Tuning, EveryTunerCommandHasHelpWithAnExample) {
  EXPECT_THAT(run("tuner", {"--help"}).out, testing::HasSubstr("Example: tuner "));
  for (const char* command : {"tune", "serve", "submit", "jobs", "watch", "cancel", "pause", "resume", "best",
                              "export", "import", "doctor", "join"}) {
    const Result help = run("tuner", {command, "--help"});
    EXPECT_EQ(help.code, 0) << command;
    EXPECT_THAT(help.out, testing::HasSubstr("Example: tuner " + std::string(command)));
  }
  expect_refusal("tuner", {"watch", "x"}, kUsage,
                 "tuner watch: job: 'x' is not a whole number; see `tuner watch --help`");
}

TEST_F(Tuning, ATunerThatIsNotThereIsNamed) {
  const std::string nobody = farm_test::free_endpoint().text();
  const std::string words = "no tuner answers at " + nobody;
  expect_refusal("tuner", {"jobs", "--server", nobody}, kFailed, words);
  expect_refusal("tuner", {"watch", "1", "--server", nobody}, kFailed, words);
  expect_refusal("tuner",
                 {"submit", file("mlp.onnx"), "--target", "host", "--device", "box", "--server", nobody},
                 kFailed, words);
  // Which targets there are is for a tuner to say, which may be newer than its client.
  expect_refusal("tuner",
                 {"submit", file("mlp.onnx"), "--target", "cuda", "--device", "box", "--server", nobody},
                 kFailed, words);
  expect_refusal("tuner", {"best", "--db", "tuner://" + nobody}, kFailed, words);
  expect_refusal("compiler", {"build", file("mlp.onnx"), "--db", "tuner://" + nobody, "-o", file("out")},
                 kFailed, words);
}

}  // namespace
}  // namespace tf::integration_test
