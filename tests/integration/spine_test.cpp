// The whole way of a network: through a farm into the database, out of it again, and into a library.

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "base/files/file.h"
#include "compiler/frontends/onnx/tensor_proto.h"
#include "compiler/target/target.h"
#include "tests/integration/faster_records.h"
#include "tests/integration/tuning_fixture.h"

namespace tf::integration_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class Spine : public ServedTuning {
 protected:
  // One job of so many trials, to its end.
  void tune(int trials) {
    wait_for_agent();
    const Result submitted = run("tuner", submission(trials));
    ASSERT_EQ(submitted.code, 0) << submitted.err;
    const std::string job = submitted.out.substr(0, submitted.out.find('\n'));
    const Result watched = run("tuner", {"watch", job, "--server", tuner_at_.text()});
    ASSERT_EQ(watched.code, 0) << watched.err;
  }

  std::string remote() const { return "tuner://" + tuner_at_.text(); }

  json best(const std::string& db) {
    const Result result = run("tuner", {"best", "--db", db, "--json"});
    EXPECT_EQ(result.code, 0) << result.err;
    return json::parse(result.out);
  }

  // The report of a build of the network to file(folder).
  json build(const std::string& folder, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"build", file("mlp.onnx"), "-o", file(folder), "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Result result = run("compiler", arguments);
    EXPECT_EQ(result.code, 0) << result.err;
    return json::parse(result.out);
  }

  // The built network's answer to one image, the same for every network.
  std::vector<float> answer(const std::string& folder) {
    std::vector<float> pixels(784);
    for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<float>((i * 37) % 101) / 101;
    const graph::HostTensor image{"input", tensor::Element::kFloat32, {1, 784}, graph::make_blob(pixels)};
    EXPECT_TRUE(onnx::write_tensor(file("image.npy"), image).ok());
    const Result result = run("compiler", {"run", file(folder), "--input", "input=" + file("image.npy"),
                                           "--output", file(folder + ".out")});
    EXPECT_EQ(result.code, 0) << result.err;
    const auto output = onnx::read_tensor(file(folder + ".out/output_0.pb"));
    EXPECT_TRUE(output.ok()) << output.status();
    if (!output.ok()) return {};
    const auto values = output->data->as<float>();
    return {values.begin(), values.end()};
  }

  void expect_same_answer(const std::string& one, const std::string& other) {
    const std::vector<float> before = answer(one), after = answer(other);
    ASSERT_EQ(before.size(), 10u);
    ASSERT_EQ(after.size(), 10u);
    const auto [least, most] = std::ranges::minmax(before);
    EXPECT_GT(most - least, 0.01f * most) << "a flat answer shows nothing";
    for (size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(before[i], after[i], 1e-4 * most);
  }

  std::string library(const std::string& folder) {
    const auto bytes = read_file(file(folder) + "/model.so");
    EXPECT_TRUE(bytes.ok()) << bytes.status();
    return bytes.value_or("");
  }
};

constexpr size_t kTasks = 5;

TEST_F(Spine, ATunedNetworkIsBuiltFromItsRecordsAndAnswersAsBefore) {
  tune(25);
  const json jobs = json::parse(run("tuner", {"jobs", "--server", tuner_at_.text(), "--json"}).out);
  EXPECT_EQ(jobs["state"], "done");
  EXPECT_EQ(jobs["trials"], measured("tune.db"));
  EXPECT_EQ(jobs["trials"], 25);

  const json records = best(remote());
  ASSERT_EQ(records.size(), kTasks);
  const json untuned = build("untuned");
  for (const std::string& db : {remote(), file("tune.db")}) {
    const json tuned = build("tuned", {"--db", db, "--strict"});
    ASSERT_EQ(tuned["tasks"].size(), kTasks);
    for (const json& task : tuned["tasks"]) {
      EXPECT_EQ(task["hit"], true) << task;
      const auto record =
          std::ranges::find_if(records, [&](const json& r) { return r["key"] == task["key"]; });
      ASSERT_NE(record, records.end()) << task;
      EXPECT_EQ(task["record"], (*record)["record"]) << "not the best of " << task["label"];
    }
  }
  for (const json& task : untuned["tasks"]) EXPECT_EQ(task["hit"], false) << task;

  expect_same_answer("untuned", "tuned");
}

TEST_F(Spine, ANetworkTunedForAvx2AnswersAsBeforeWhateverThisMachineHas) {
  const target::Target host = target::host_target();
  if (!host.has("avx2") || !host.has("fma")) GTEST_SKIP() << "this machine cannot run code for AVX2";
  ASSERT_EQ(run("compiler", {"zoo", "mlp", "-o", file("mlp.onnx")}).code, 0);
  const std::string avx2 = "x86_64:cpu=haswell";
  const Result tuned = run("tuner", {"tune", file("mlp.onnx"), "--target", avx2, "--db", file("avx2.db"),
                                     "--trials", "15", "--without-sandbox", "missing"});
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  EXPECT_EQ(measured("avx2.db"), 15);
  build("untuned", {"--target", avx2});
  for (const json& task : build("tuned", {"--target", avx2, "--db", file("avx2.db")})["tasks"])
    EXPECT_EQ(task["hit"], true) << task;
  expect_same_answer("untuned", "tuned");
}

TEST_F(Spine, RecordsCarriedToAnEmptyDatabaseHaveTheSameBestAndMakeTheSameLibrary) {
  tune(15);
  ASSERT_EQ(run("tuner", {"export", "--db", remote(), "-o", file("r.jsonl")}).code, 0);
  ASSERT_EQ(run("tuner", {"import", file("r.jsonl"), "--db", file("other.db")}).code, 0);
  const json here = best(remote());
  EXPECT_EQ(here.size(), kTasks);
  EXPECT_EQ(best(file("tune.db")), here);
  EXPECT_EQ(best(file("other.db")), here);
  EXPECT_EQ(best(file("r.jsonl")), here);
  build("here", {"--db", remote()});
  build("there", {"--db", file("other.db")});
  EXPECT_TRUE(library("here") == library("there"));
}

TEST_F(Spine, ALockedBuildMakesTheSameLibraryWhateverWasLearnedSince) {
  tune(20);
  ASSERT_EQ(run("tuner", {"export", "--db", remote(), "-o", file("r.jsonl")}).code, 0);
  ASSERT_EQ(run("tuner", {"import", file("r.jsonl"), "--db", file("other.db")}).code, 0);
  build("model", {"--db", file("other.db")});
  const std::string locked = library("model"), lock = *read_file(file("model") + "/tuning.lock");

  const std::vector<std::string> records =
      absl::StrSplit(*read_file(file("r.jsonl")), '\n', absl::SkipEmpty());
  // The last may be what was the best already. After many turns no core would be so fast.
  for (int turn = 0; turn < std::min(30, static_cast<int>(records.size()) - 1); ++turn) {
    ASSERT_TRUE(write_file(file("faster.jsonl"), faster_records(records, turn)).ok());
    const Result imported = run("tuner", {"import", file("faster.jsonl"), "--db", file("other.db")});
    ASSERT_EQ(imported.code, 0) << imported.err;
    build("now", {"--db", file("other.db")});
    if (library("now") != locked) break;
  }
  EXPECT_FALSE(library("now") == locked) << "nothing was learned, so this shows nothing";

  build("model", {"--db", file("other.db"), "--locked"});
  EXPECT_TRUE(library("model") == locked);
  EXPECT_EQ(*read_file(file("model") + "/tuning.lock"), lock);
  build("model", {"--db", remote(), "--locked"});
  EXPECT_TRUE(library("model") == locked);

  // A database without the records that the lock names is refused, and the library stays.
  ASSERT_EQ(run("compiler", {"zoo", "mlp", "--batch", "2", "-o", file("pair.onnx")}).code, 0);
  ASSERT_EQ(run("tuner", {"tune", file("pair.onnx"), "--target", "host", "--db", file("pair.db"), "--trials",
                          "5", "--without-sandbox", "missing"})
                .code,
            0);
  expect_refusal("compiler",
                 {"build", file("mlp.onnx"), "-o", file("model"), "--db", file("pair.db"), "--locked"}, 1,
                 "to which tuning.lock refers");
  EXPECT_TRUE(library("model") == locked);
}

TEST_F(Spine, AStrictBuildNamesEveryTaskThatNobodyTuned) {
  tune(10);
  ASSERT_EQ(run("compiler", {"zoo", "mlp", "--batch", "2", "-o", file("pair.onnx")}).code, 0);
  const Result refused =
      run("compiler", {"build", file("pair.onnx"), "--db", remote(), "--strict", "-o", file("pair")});
  EXPECT_EQ(refused.code, 4);
  const json tasks = json::parse(run("compiler", {"tasks", file("pair.onnx"), "--json"}).out)["tasks"];
  ASSERT_EQ(tasks.size(), kTasks);
  for (const json& task : tasks) EXPECT_THAT(refused.err, HasSubstr(task["label"].get<std::string>()));
  EXPECT_EQ(refused.out, "");
}

TEST_F(Spine, AStrictBuildForADeviceThatMeasuredNothingNamesThoseThatDid) {
  tune(10);
  const Result refused = run("compiler", {"build", file("mlp.onnx"), "--db", remote(), "--device", "nokey",
                                          "--strict", "-o", file("model")});
  EXPECT_EQ(refused.code, 4);
  EXPECT_THAT(refused.err,
              HasSubstr("these kernels have no record of the device class nokey, but they have records of "));
}

}  // namespace
}  // namespace tf::integration_test
