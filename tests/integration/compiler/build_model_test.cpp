#include "compiler/driver/build_model.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "base/files/file.h"
#include "compiler/driver/loaded_model.h"
#include "compiler/frontends/frontends.h"
#include "compiler/frontends/zoo/zoo.h"
#include "compiler/graph/element_values.h"
#include "compiler/graph/program/evaluate.h"
#include "compiler/graph/text.h"
#include "compiler/recipes/recipes.h"
#include "compiler/schedule/numerics.h"
#include "tests/integration/compiler/built_models.h"
#include "tests/support/onnx/model_writer.h"
#include "tests/unit/compiler/graph/random_graph.h"

namespace tf::driver {
namespace {

using driver::LoadedModel;
using graph::HostTensor;

class BuildModel : public BuiltModels {
 protected:
  // Builds with default schedules, or with those given, into a folder of that name.
  absl::StatusOr<ModelReport> build(const graph::Program& program, const std::string& name,
                                    std::vector<std::optional<ScheduleChoice>> choices = {}) {
    choices.resize(program.tasks.size());
    std::filesystem::create_directories(folder(name));
    return build_model(program, choices, *pool_, {.target = target_, .folder = folder(name)});
  }
  std::string folder(const std::string& name) const { return root_ + "/" + name; }
  absl::StatusOr<graph::Program> plan(graph::Graph graph) const {
    return graph::plan_program(std::move(graph), {.lanes = target_.fp32_lanes()});
  }
};

double largest(const std::vector<HostTensor>& values) {
  double most = 0;
  for (const HostTensor& value : values) {
    for (double v : graph::read_floats(value.element, value.data->bytes()))
      most = std::max(most, std::fabs(v));
  }
  return most;
}

TEST_F(BuildModel, ComputesWhatRandomNetworksAreDefinedToBe) {
  for (uint32_t seed = 1000; seed < 1008; ++seed) {
    graph::RandomGraph random(seed);
    const graph::Graph network = random.make();
    const std::vector<HostTensor> inputs = random.inputs(network);
    absl::StatusOr<graph::Program> program = plan(network);
    ASSERT_TRUE(program.ok()) << program.status();
    absl::StatusOr<ModelReport> report = build(*program, "random");
    ASSERT_TRUE(report.ok()) << report.status();
    for (int threads : {1, 3}) {
      auto model = LoadedModel::open(folder("random"), threads);
      ASSERT_TRUE(model.ok()) << model.status();
      absl::StatusOr<std::vector<HostTensor>> got = (*model)->run(inputs);
      ASSERT_TRUE(got.ok()) << got.status();
      const std::vector<HostTensor> want = *graph::evaluate(network, inputs);
      EXPECT_LE(graph::largest_difference(*got, want), 1e-5 * std::max(1.0, largest(want)))
          << "seed " << seed << ", " << threads << " threads\n"
          << graph::to_string(network);
    }
  }
}

TEST_F(BuildModel, ComputesAZooNetworkForANamedBatch) {
  absl::StatusOr<std::string> bytes = zoo::model("mlp", {.batch_name = "batch"});
  ASSERT_TRUE(bytes.ok());
  absl::StatusOr<graph::Graph> network = frontends::import_model(*bytes, {{{"batch", 3}}});
  ASSERT_TRUE(network.ok()) << network.status();
  absl::StatusOr<graph::Program> program = plan(*network);
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(program->tasks[0].kernel.binding, (tensor::Binding{{"d0", 3}}));
  ASSERT_TRUE(build(*program, "mlp").ok());
  auto model = LoadedModel::open(folder("mlp"), 1);
  ASSERT_TRUE(model.ok()) << model.status();
  const std::vector<HostTensor> inputs = driver::random_inputs(**model, 7);
  const std::vector<HostTensor> got = *(*model)->run(inputs), want = *graph::evaluate(*network, inputs);
  EXPECT_LE(graph::largest_difference(got, want), 1e-5 * largest(want));
  EXPECT_GT(largest(want), 0.11) << "ten equal classes would prove nothing";
}

// A convolution that Winograd suits.
graph::Graph wide_convolution() {
  graph::Graph network;
  const std::vector<int64_t> shape = {1, 32, 20, 20}, weights = {48, 32, 3, 3};
  std::vector<float> values(48 * 32 * 9);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>((i * 37) % 101) / 101 - 0.5f;
  const graph::NodeId x = network.add_input(graph::tensor_type(tensor::Element::kFloat32, shape), "x");
  const graph::NodeId w = network.add_constant(graph::tensor_type(tensor::Element::kFloat32, weights),
                                               graph::make_blob(values), "w");
  const graph::NodeId y = *network.add(
      graph::Conv{.strides = {1, 1}, .dilations = {1, 1}, .pads_begin = {1, 1}, .pads_end = {1, 1}}, {x, w},
      "y");
  network.outputs = {{"y", y}};
  return network;
}

TEST_F(BuildModel, ComputesTheSameByWinogradWhereThatIsAllowed) {
  absl::StatusOr<graph::Program> program = plan(wide_convolution());
  ASSERT_TRUE(program.ok()) << program.status();
  ASSERT_TRUE(build(*program, "plain").ok());
  std::filesystem::create_directories(folder("winograd"));
  ASSERT_TRUE(build_model(*program, std::vector<std::optional<ScheduleChoice>>(program->tasks.size()), *pool_,
                          {.target = target_, .allowed_numerics = {"winograd"}, .folder = folder("winograd")})
                  .ok());
  auto plain = LoadedModel::open(folder("plain"), 1), winograd = LoadedModel::open(folder("winograd"), 2);
  ASSERT_TRUE(plain.ok() && winograd.ok());
  const std::vector<HostTensor> inputs = driver::random_inputs(**plain, 7);
  const std::vector<HostTensor> want = *(*plain)->run(inputs), got = *(*winograd)->run(inputs);
  const double difference = graph::largest_difference(got, want);
  EXPECT_LE(difference, 1e-5 * largest(want));
  EXPECT_GT(difference, 0) << "both were computed alike";
}

TEST_F(BuildModel, DividesAndDoesNotMultiplyByAReciprocal) {
  graph::Graph network;
  const graph::TensorType vector = graph::tensor_type(tensor::Element::kFloat32, std::vector<int64_t>{3});
  const graph::NodeId x = network.add_input(vector, "x");
  const graph::NodeId scale =
      network.add_constant(graph::tensor_type(tensor::Element::kFloat32, std::vector<int64_t>{}),
                           graph::make_blob(std::vector<float>{0.0235f}), "scale");
  const graph::NodeId quotient = *network.add(graph::Binary{graph::BinaryKind::kDiv}, {x, scale}, "q");
  network.outputs = {{"y", *network.add(graph::Unary{graph::UnaryKind::kRound}, {quotient}, "y")}};
  absl::StatusOr<graph::Program> program = plan(network);
  ASSERT_TRUE(program.ok()) << program.status();
  ASSERT_TRUE(build(*program, "divides").ok());
  auto model = LoadedModel::open(folder("divides"), 1);
  ASSERT_TRUE(model.ok()) << model.status();
  // The quotients are 253.5, 43.5 and 5.5; the products with the rounded reciprocal lie just below.
  const std::vector<float> values = {5.9572496f, 1.0222499609f, 0.12924998999f};
  const HostTensor input = {"x", tensor::Element::kFloat32, {3}, graph::make_blob(values)};
  const std::vector<HostTensor> got = *(*model)->run({input});
  EXPECT_EQ(graph::read_floats(got[0].element, got[0].data->bytes()), (std::vector<double>{254, 44, 6}));
}

// relu(x w + c) where x and w are ones and c is 0.5.
std::vector<double> product_of_ones(int64_t m, int64_t n, int64_t k) {
  return std::vector<double>(static_cast<size_t>(m * n), static_cast<double>(k) + 0.5);
}

TEST_F(BuildModel, MultipliesMatricesWithoutRowsColumnsOrTerms) {
  for (const auto& [m, n, k] :
       {std::tuple<int64_t, int64_t, int64_t>(5, 3, 0), {0, 3, 4}, {5, 0, 4}, {0, 0, 0}, {5, 3, 4}}) {
    for (const bool constant : {true, false}) {
      SCOPED_TRACE(absl::StrCat(m, "x", n, "x", k, constant ? " constant" : ""));
      auto ones = [](int64_t a, int64_t b) { return std::vector<float>(static_cast<size_t>(a * b), 1.0f); };
      onnx::ModelWriter writer;
      writer.input("x", {m, k});
      if (constant)
        writer.floats("w", {k, n}, ones(k, n));
      else
        writer.input("w", {k, n});
      writer.floats("c", {n}, std::vector<float>(static_cast<size_t>(n), 0.5f));
      writer.node("Gemm", {"x", "w", "c"}, "sum");
      writer.node("Relu", {"sum"}, "y");
      writer.output("y");
      absl::StatusOr<graph::Graph> network = frontends::import_model(writer.bytes(), {});
      ASSERT_TRUE(network.ok()) << network.status();
      absl::StatusOr<graph::Program> program = plan(*network);
      ASSERT_TRUE(program.ok()) << program.status();
      absl::StatusOr<ModelReport> report = build(*program, "nothing");
      ASSERT_TRUE(report.ok()) << report.status();
      auto model = LoadedModel::open(folder("nothing"), 2);
      ASSERT_TRUE(model.ok()) << model.status();
      std::vector<HostTensor> inputs = {
          {"x", tensor::Element::kFloat32, {m, k}, graph::make_blob(ones(m, k))}};
      if (!constant) inputs.push_back({"w", tensor::Element::kFloat32, {k, n}, graph::make_blob(ones(k, n))});
      const absl::StatusOr<std::vector<HostTensor>> got = (*model)->run(inputs);
      ASSERT_TRUE(got.ok()) << got.status();
      EXPECT_EQ((*got)[0].shape, (std::vector<int64_t>{m, n}));
      EXPECT_EQ(graph::read_floats((*got)[0].element, (*got)[0].data->bytes()), product_of_ones(m, n, k));
    }
  }
}

TEST_F(BuildModel, GivesTheSameBytesForTheSameNetwork) {
  absl::StatusOr<graph::Program> program = plan(graph::RandomGraph(5).make());
  ASSERT_TRUE(program.ok()) << program.status();
  ASSERT_TRUE(build(*program, "a").ok());
  ASSERT_TRUE(build(*program, "b").ok());
  EXPECT_EQ(*read_file(folder("a") + "/model.so"), *read_file(folder("b") + "/model.so"));
  for (const auto& entry : std::filesystem::directory_iterator(folder("a")))
    EXPECT_THAT(entry.path().filename().string(),
                testing::AnyOf("model.so", "model.h", "libmodel.so", "model-config.cmake"));
}

TEST_F(BuildModel, DoesNotTakeARecordsWordForItsNumerics) {
  absl::StatusOr<graph::Program> program = plan(wide_convolution());
  ASSERT_TRUE(program.ok()) << program.status();
  std::vector<std::optional<ScheduleChoice>> choices;
  for (const graph::Task& task : program->tasks) {
    const tensor::Workload bound = *tensor::bind(task.kernel.workload, task.kernel.binding);
    choices.push_back(
        ScheduleChoice{schedule::to_string(recipes::default_schedule({.workload = bound,
                                                                      .ports = task.kernel.ports,
                                                                      .target = target_,
                                                                      .allowed = {schedule::kWinograd}})),
                       "abc", 1.0});
  }
  ASSERT_TRUE(std::ranges::any_of(
      choices, [](const auto& choice) { return choice->schedule.find("winograd") != std::string::npos; }));
  const absl::StatusOr<ModelReport> report = build(*program, "not_allowed", choices);
  ASSERT_TRUE(report.ok()) << report.status();
  for (size_t i = 0; i < choices.size(); ++i) {
    const bool refused = choices[i]->schedule.find("winograd") != std::string::npos;
    EXPECT_EQ(report->tasks[i].used.has_value(), !refused);
    EXPECT_EQ(report->tasks[i].problem.find("give --allow winograd") != std::string::npos, refused);
  }
}

TEST_F(BuildModel, FallsBackToTheDefaultScheduleAndSaysWhy) {
  graph::Graph network;
  const std::vector<int64_t> shape = {4, 64};
  const graph::NodeId x = network.add_input(graph::tensor_type(tensor::Element::kFloat32, shape), "x");
  network.outputs = {{"y", *network.add(graph::Unary{graph::UnaryKind::kRelu}, {x}, "r")}};
  absl::StatusOr<graph::Program> program = plan(network);
  ASSERT_TRUE(program.ok()) << program.status();
  const std::string illegal = "schedule v1\nsplit t9 i0 factors 4\n";
  absl::StatusOr<ModelReport> report = build(*program, "fallback", {ScheduleChoice{illegal, "abc", 1.0}});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_FALSE(report->tasks[0].used.has_value());
  EXPECT_NE(report->tasks[0].problem, "");
  // Where exactly this schedule is wanted, that is an error, and the model stays.
  const std::string before = *read_file(folder("fallback") + "/model.so");
  const absl::Status exact =
      build_model(
          *program, {ScheduleChoice{illegal, "abc", 1.0}}, *pool_,
          {.target = target_, .on_failed_choice = OnFailedChoice::kFail, .folder = folder("fallback")})
          .status();
  EXPECT_EQ(exact.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(exact.message()), testing::HasSubstr("record abc cannot be built"));
  EXPECT_EQ(*read_file(folder("fallback") + "/model.so"), before);
  // The empty schedule is legal: plain loops.
  report = build(*program, "plain", {ScheduleChoice{"schedule v1\n", "abc", 1.0}});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->tasks[0].used.has_value()) << report->tasks[0].problem;
}

}  // namespace
}  // namespace tf::driver
