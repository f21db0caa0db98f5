// Random operators and graphs give ONNX Runtime's outputs, with one thread and two, and with each method of reduced
// precision. Skipped where ONNX Runtime is not installed (deploy/install_peers.sh).
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>

#include "base/files/temporary_folder.h"
#include "tests/support/random_models/trial.h"

namespace tf {
namespace {

class RandomModels : public testing::TestWithParam<uint64_t> {};

TEST_P(RandomModels, AgreeWithOnnxRuntime) {
  if (!OnnxRuntime::is_installed())
    GTEST_SKIP() << "ONNX Runtime is not installed: deploy/install_peers.sh does it";
  constexpr uint64_t kCases = 125;
  const absl::StatusOr<TemporaryFolder> folder = TemporaryFolder::make();
  ASSERT_TRUE(folder.ok()) << folder.status();
  auto pool = driver::BuildPool::create({.workers = 2, .worker_path = TF_BINARY_DIR "/bin/build_worker"});
  ASSERT_TRUE(pool.ok()) << pool.status();
  OnnxRuntime reference;
  const schedule::Numerics methods = schedule::all_numerics();
  std::map<Verdict, uint64_t> counts;
  for (uint64_t seed = GetParam() * kCases; seed < (GetParam() + 1) * kCases; ++seed) {
    const onnx::RandomCase test = onnx::random_case(seed);
    const TrialResult result = try_against(
        reference, test, **pool, {.folder = folder->path(), .allow = {methods[seed % methods.size()]}});
    ++counts[result.verdict];
    EXPECT_NE(result.verdict, Verdict::kDifferent)
        << test.name << ", operator set " << test.model.opset() << ": " << result.text
        << "\n  again, with the model kept: random_models --from " << seed << " --count 1";
  }
  EXPECT_LE(counts[Verdict::kRefused], kCases * 6 / 100);
  EXPECT_GE(counts[Verdict::kEqual], kCases * 75 / 100) << "else this test shows nothing";
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomModels, testing::Range(uint64_t{0}, uint64_t{4}));

}  // namespace
}  // namespace tf
