// Every network of the zoo gives ONNX Runtime's output on random inputs, whatever the schedules. Skipped
// where ONNX Runtime is not installed (deploy/install_peers.sh).
#include "compiler/frontends/zoo/zoo.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <optional>

#include "base/files/file.h"
#include "compiler/driver/build_model.h"
#include "compiler/driver/build_pool.h"
#include "compiler/driver/loaded_model.h"
#include "compiler/frontends/frontends.h"
#include "compiler/graph/element_values.h"
#include "compiler/runtime/gpu/gpu.h"
#include "tests/integration/onnxruntime/reference.h"
#include "tuner/model/evaluator.h"
#include "tuner/space/sampling.h"
#include "tuner/space/space.h"

namespace tf {
namespace {

namespace fs = std::filesystem;
using graph::HostTensor;
using Choices = std::vector<std::optional<driver::ScheduleChoice>>;

std::vector<double> values_of(const HostTensor& tensor) {
  return graph::read_floats(tensor.element, tensor.data->bytes());
}

double largest(const std::vector<double>& values) {
  double most = 0;
  for (double v : values) most = std::max(most, std::fabs(v));
  return most;
}

bool is_integer(const HostTensor& tensor) {
  return !tensor::is_float(tensor.element);
}

// Whether the values along the last axis are probabilities.
bool is_distribution(const HostTensor& tensor, const std::vector<double>& values) {
  const auto each = static_cast<size_t>(tensor.shape.back());
  for (size_t i = 0; i < values.size(); i += each) {
    double sum = 0;
    for (size_t k = i; k < i + each; ++k) sum += values[k];
    if (std::fabs(sum - 1) > 1e-3) return false;
  }
  return true;
}

// A reference that any wrong network could give by chance would prove nothing.
void expect_telling(const Reference& reference) {
  for (const HostTensor& output : reference.outputs) {
    const std::vector<double> values = values_of(output);
    double least = std::numeric_limits<double>::infinity(), most = -least;
    for (double v : values) {
      ASSERT_TRUE(std::isfinite(v));
      least = std::min(least, v);
      most = std::max(most, v);
    }
    EXPECT_GT(most - least, 0.3 * largest(values)) << "nearly constant: " << output.name;
    EXPECT_TRUE(!is_distribution(output, values) || most < 0.9) << "a saturated softmax: " << output.name;
  }
}

// Of the largest value. Between its layers a network of f16 keeps 11 bits, and the two round at other places.
double allowed_error(tensor::Element element) {
  return element == tensor::Element::kFloat16 ? 1e-2 : 1e-4;
}

void expect_close(const HostTensor& got, const HostTensor& wanted, const std::string& what) {
  const std::vector<double> a = values_of(got), b = values_of(wanted);
  double worst = 0;
  for (size_t k = 0; k < a.size(); ++k) {
    ASSERT_TRUE(std::isfinite(a[k])) << what << ": element " << k;
    worst = std::max(worst, std::fabs(a[k] - b[k]));
  }
  EXPECT_LE(worst, allowed_error(got.element) * largest(b)) << what << ": of " << largest(b) << " at most";
}

// The places of the largest probabilities: of those that are nearly as large, either is right.
void expect_likeliest(const HostTensor& got, const HostTensor& probabilities, const std::string& what) {
  const std::vector<double> places = values_of(got), all = values_of(probabilities);
  const auto each = static_cast<size_t>(probabilities.shape.back());
  for (size_t i = 0; i < places.size(); ++i) {
    ASSERT_TRUE(places[i] >= 0 && places[i] < static_cast<double>(each)) << what;
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(i * each);
    EXPECT_GE(begin[static_cast<std::ptrdiff_t>(places[i])],
              *std::max_element(begin, begin + static_cast<std::ptrdiff_t>(each)) - 1e-4)
        << what << ": place " << i;
  }
}

// Boxes, scores and classes, best first: boxes of nearly the same score may stand in either order, and who
// overlaps a better one just as much as is allowed may be kept or not.
void expect_same_detections(const std::vector<HostTensor>& got, const std::vector<HostTensor>& wanted,
                            const std::string& what) {
  ASSERT_EQ(got.size(), 3u);
  const auto unmatched = [](const std::vector<HostTensor>& some, const std::vector<HostTensor>& others) {
    const std::vector<double> boxes = values_of(some[0]), scores = values_of(some[1]),
                              classes = values_of(some[2]);
    const std::vector<double> other_boxes = values_of(others[0]), other_scores = values_of(others[1]),
                              other_classes = values_of(others[2]);
    const auto count = static_cast<size_t>(some[1].shape[1]);
    int missing = 0;
    for (size_t i = 0; i < scores.size(); ++i) {
      bool found = false;
      for (size_t k = i / count * count; k < (i / count + 1) * count && !found; ++k) {
        found = classes[i] == other_classes[k] && std::fabs(scores[i] - other_scores[k]) < 1e-4;
        for (size_t c = 0; c < 4; ++c)
          found = found && std::fabs(boxes[4 * i + c] - other_boxes[4 * k + c]) < 0.05;
      }
      missing += !found;
    }
    return missing;
  };
  const auto few = static_cast<int>(values_of(wanted[1]).size() / 50);
  EXPECT_LE(unmatched(got, wanted), few) << what;
  EXPECT_LE(unmatched(wanted, got), few) << what;
  const std::vector<double> scores = values_of(wanted[1]);
  const auto kept = std::count_if(scores.begin(), scores.end(), [](double score) { return score > 0; });
  EXPECT_TRUE(kept > 0 && kept < std::ssize(scores)) << kept << " of " << scores.size() << " show little";
}

void expect_agree(const std::string& network, const std::vector<HostTensor>& got, const Reference& reference,
                  const std::string& what) {
  ASSERT_EQ(got.size(), reference.outputs.size());
  for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i].shape, reference.outputs[i].shape);
  if (network == "yolo_small") return expect_same_detections(got, reference.outputs, what);
  for (size_t i = 0; i < got.size(); ++i) {
    if (is_integer(got[i]))
      expect_likeliest(got[i], reference.outputs[i - 1], what);
    else
      expect_close(got[i], reference.outputs[i], what);
  }
}

// A schedule for each task, drawn from the space that a tuner searches: legal, not slow beyond reason (the
// best of a few draws by the roofline model), and otherwise anything.
Choices random_schedules(const graph::Program& program, const target::Target& target, int threads,
                         uint64_t seed) {
  space::Random random(seed);
  Choices choices;
  for (const graph::Task& task : program.tasks) {
    const space::DesignSpace space =
        space::generate_space({.workload = *tensor::bind(task.kernel.workload, task.kernel.binding),
                               .ports = task.kernel.ports,
                               .target = target,
                               .threads = threads});
    const model::Evaluator evaluator(space, target, threads);
    std::optional<space::Candidate> best;
    double best_seconds = std::numeric_limits<double>::infinity();
    for (int draws = 0, legal = 0; draws < 200 && legal < 4; ++draws) {
      const space::Candidate candidate = space::sample(space, random);
      const std::optional<model::Judgement> judgement = evaluator.judge(candidate);
      legal += judgement.has_value();
      if (!judgement || judgement->roofline_seconds >= best_seconds) continue;
      best = candidate;
      best_seconds = judgement->roofline_seconds;
    }
    choices.emplace_back();
    if (best) choices.back() = driver::ScheduleChoice{schedule::to_string(space.schedule_of(*best)), "", 0};
  }
  return choices;
}

struct ZooCase {
  std::string network, target;
};

class AgainstOnnxRuntime : public testing::TestWithParam<ZooCase> {
 protected:
  void SetUp() override {
    if (!has_onnx_runtime()) GTEST_SKIP() << "ONNX Runtime is not installed: deploy/install_peers.sh does it";
    fs::create_directories(root_);
    auto pool = driver::BuildPool::create({.workers = 2, .worker_path = TF_BINARY_DIR "/bin/build_worker"});
    ASSERT_TRUE(pool.ok()) << pool.status();
    pool_ = *std::move(pool);
  }
  void TearDown() override { fs::remove_all(root_); }

  // Hundreds of megabytes, or of kernels, that show little that a smaller network does not.
  static bool is_a_larger_other() {
    constexpr std::array kLarger = {"bert_base", "densenet121", "gpt2_small", "inception_v3"};
    return std::ranges::find(kLarger, GetParam().network) != kLarger.end();
  }

  // Writes the network and asks ONNX Runtime; `program_` and `reference_` are then set.
  void prepare(const zoo::Options& options, const tensor::Binding& dims) {
    const absl::StatusOr<std::string> bytes = zoo::model(GetParam().network, options);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    ASSERT_TRUE(write_file(root_ + "/model.onnx", *bytes).ok());
    absl::StatusOr<Reference> answer = ask_onnx_runtime(root_ + "/model.onnx", root_, dims);
    ASSERT_TRUE(answer.ok()) << answer.status();
    reference_ = *std::move(answer);
    expect_telling(reference_);
    absl::StatusOr<graph::Graph> network = frontends::import_file(root_ + "/model.onnx", {.dims = dims});
    ASSERT_TRUE(network.ok()) << network.status();
    auto program = graph::plan_program(*std::move(network), graph::layout_options(target_));
    ASSERT_TRUE(program.ok()) << program.status();
    program_ = *std::move(program);
  }

  // Builds with these schedules (the default ones where there is none) and compares. Returns how many tasks
  // used theirs.
  int check(Choices choices, int threads, const std::string& what) {
    choices.resize(program_.tasks.size());
    absl::StatusOr<driver::ModelReport> report = driver::build_model(
        program_, choices, *pool_, {.target = target_, .threads = threads, .folder = root_});
    EXPECT_TRUE(report.ok()) << report.status();
    if (!report.ok()) return 0;
    auto model = driver::LoadedModel::open(root_, threads);
    EXPECT_TRUE(model.ok()) << model.status();
    if (!model.ok()) return 0;
    const absl::StatusOr<std::vector<HostTensor>> got = (*model)->run(reference_.inputs);
    EXPECT_TRUE(got.ok()) << got.status();
    if (got.ok()) expect_agree(GetParam().network, *got, reference_, what);
    if (HasFailure()) print(choices);
    return static_cast<int>(std::count_if(report->tasks.begin(), report->tasks.end(),
                                          [](const driver::TaskReport& t) { return t.used.has_value(); }));
  }

  const target::Target target_ = target::parse_target(GetParam().target).value();
  graph::Program program_;
  Reference reference_;

 private:
  // What a failure needs to be looked into.
  void print(const Choices& choices) const {
    for (size_t i = 0; i < choices.size(); ++i) {
      if (choices[i]) std::printf("%s\n%s\n", program_.tasks[i].label.c_str(), choices[i]->schedule.c_str());
    }
  }

  const std::string root_ = testing::TempDir() + "onnxruntime_test." + std::to_string(getpid());
  std::unique_ptr<driver::BuildPool> pool_;
};

TEST_P(AgainstOnnxRuntime, AnUntunedNetworkAgrees) {
  ASSERT_NO_FATAL_FAILURE(prepare({}, {}));
  check({}, 1, "default schedules");
}

// The same on the OpenCL device that there is, whose kernels run in seconds where it is a CPU.
class OnADevice : public AgainstOnnxRuntime {
 protected:
  void SetUp() override {
    char error[gpu::kErrorChars];
    if (gpu::opencl_driver().count(error) < 1) GTEST_SKIP() << error;
    AgainstOnnxRuntime::SetUp();
  }
};

TEST_P(OnADevice, AnUntunedNetworkAgrees) {
  ASSERT_NO_FATAL_FAILURE(prepare({}, {}));
  check({}, 1, "default schedules");
}

class HalvesAgainstOnnxRuntime : public AgainstOnnxRuntime {};

TEST_P(HalvesAgainstOnnxRuntime, AnUntunedNetworkAgrees) {
  ASSERT_NO_FATAL_FAILURE(prepare({.halves = true}, {}));
  ASSERT_EQ(reference_.outputs[0].element, tensor::Element::kFloat16);
  check({}, 1, "default schedules");
}

class HalvesOnADevice : public OnADevice {};

TEST_P(HalvesOnADevice, AnUntunedNetworkAgrees) {
  ASSERT_NO_FATAL_FAILURE(prepare({.halves = true}, {}));
  check({}, 1, "default schedules");
}

TEST_P(AgainstOnnxRuntime, NamedDimensionsOnTwoThreadsAgree) {
  if (is_a_larger_other()) GTEST_SKIP() << "another network has such kernels";
  tensor::Binding dims = {{"batch", 2}};
  int64_t length = 5;
  for (const zoo::Network& network : zoo::networks()) {
    if (network.name != GetParam().network) continue;
    for (const std::string& name : network.lengths) dims[name] = length += 4;
  }
  ASSERT_NO_FATAL_FAILURE(prepare({.batch_name = "batch", .named_lengths = true, .seed = 2}, dims));
  check({}, 2, "default schedules");
}

TEST_P(AgainstOnnxRuntime, RandomSchedulesAgree) {
  if (is_a_larger_other()) GTEST_SKIP() << "another network has such kernels";
  ASSERT_NO_FATAL_FAILURE(prepare({.seed = 3}, {}));
  const int tasks = static_cast<int>(program_.tasks.size());
  for (int threads : {1, 2}) {
    const auto seed = static_cast<uint64_t>(threads);
    const int used = check(random_schedules(program_, target_, threads, seed), threads,
                           std::to_string(threads) + " threads, random schedules");
    EXPECT_GE(used, tasks * 3 / 4) << "of " << tasks << " random schedules, too few compile";
  }
}

// Every network for this machine, and for AVX2 where this machine has more: both kinds of CPU are served.
std::vector<ZooCase> cases() {
  std::vector<ZooCase> all;
  const bool is_newer = target::host_target().has("avx512f");
  for (const zoo::Network& network : zoo::networks()) {
    // Its activations grow with depth for most seeds, so that its probabilities are 0 and 1, which shows nothing.
    if (network.name == std::string("efficientnet_b0")) continue;
    all.push_back({network.name, "host"});
    if (is_newer) all.push_back({network.name, "x86_64:cpu=haswell"});
  }
  return all;
}

std::string test_name(const testing::TestParamInfo<ZooCase>& info) {
  const bool is_older = info.param.target.starts_with("x86_64:");
  return info.param.network + (is_older ? "_haswell" : "");
}

INSTANTIATE_TEST_SUITE_P(Zoo, AgainstOnnxRuntime, testing::ValuesIn(cases()), test_name);
INSTANTIATE_TEST_SUITE_P(Zoo, OnADevice,
                         testing::Values(ZooCase{"squeezenet", "opencl"}, ZooCase{"mobilenet_v2", "opencl"},
                                         ZooCase{"bert_mini", "opencl"}, ZooCase{"lstm_tagger", "opencl"}),
                         test_name);
INSTANTIATE_TEST_SUITE_P(Zoo, HalvesAgainstOnnxRuntime,
                         testing::Values(ZooCase{"resnet50", "host"}, ZooCase{"bert_mini", "host"},
                                         ZooCase{"vit_small", "host"}),
                         test_name);
INSTANTIATE_TEST_SUITE_P(Zoo, HalvesOnADevice,
                         testing::Values(ZooCase{"squeezenet", "opencl"}, ZooCase{"bert_mini", "opencl"}),
                         test_name);

}  // namespace
}  // namespace tf
