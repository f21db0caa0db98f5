// What is found of several sizes: expressions, workloads, programs.
#include <gmock/gmock.h>

#include <cmath>

#include "compiler/graph/dynamic/fit.h"
#include "compiler/graph/dynamic/join_workloads.h"
#include "compiler/graph/dynamic/numbers.h"
#include "compiler/graph/dynamic/plan_network.h"
#include "compiler/graph/dynamic/scattered.h"
#include "compiler/graph/element_values.h"
#include "compiler/tensor/text.h"

namespace tf::graph {
namespace {

using testing::HasSubstr;

const NamedDimension kBatch{{tensor::var("batch"), 1, 64}}, kLength{{tensor::var("length"), 1, 512}};

// What `fit` finds for the values that the function has at the samples.
template <typename F>
std::string fitted(const Samples& samples, F of) {
  std::vector<int64_t> values;
  for (const std::vector<int64_t>& point : samples.points) values.push_back(of(point));
  Fitter fitter(samples);
  const std::optional<tensor::Expr> expr = fitter.fit(values);
  if (fitter.questions().empty()) return expr ? tensor::to_string(*expr) : "nothing";
  Samples more = samples;
  more.points.insert(more.points.end(), fitter.questions().begin(), fitter.questions().end());
  return fitted(more, of);
}

TEST(Fit, FindsSumsOfProducts) {
  const Samples samples = sample({kBatch, kLength});
  EXPECT_EQ(fitted(samples, [](const auto&) { return 7; }), "7");
  EXPECT_EQ(fitted(samples, [](const auto& p) { return p[1]; }), "length");
  EXPECT_EQ(fitted(samples, [](const auto& p) { return 3 * p[0] - 2; }), "batch * 3 + -2");
  EXPECT_EQ(fitted(samples, [](const auto& p) { return p[0] * p[1] * p[1] * 48; }),
            "length * (length * (batch * 48))");
  EXPECT_EQ(fitted(samples, [](const auto& p) { return p[0] + p[1] + 1; }), "length + batch + 1");
}

// What Numbers finds for the values that the function has at the samples, near the first dimension and the second.
template <typename F>
std::string found_number(const Samples& samples, F of) {
  std::vector<int64_t> values;
  for (const std::vector<int64_t>& point : samples.points) values.push_back(of(point));
  const tensor::Expr nearby[] = {samples.dims[0].var, samples.dims[1].var};
  const std::optional<tensor::Expr> expr = Numbers(samples).find(values, nearby);
  return expr ? tensor::to_string(*expr) : "nothing";
}

TEST(Numbers, AreSumsProductsAndLimits) {
  const NamedDimension first{{tensor::var("a"), 0, 4000}}, second{{tensor::var("b"), 0, 300}};
  const Samples samples = sample_scattered({first, second});
  EXPECT_EQ(found_number(samples, [](const auto&) { return 7; }), "7");
  EXPECT_EQ(found_number(samples, [](const auto& p) { return p[1]; }), "b");
  EXPECT_EQ(found_number(samples, [](const auto& p) { return 4 * p[0] + p[1] - 1; }), "b + a * 4 + -1");
  EXPECT_EQ(found_number(samples, [](const auto& p) { return p[0] * p[1]; }), "b * a");
  EXPECT_EQ(found_number(samples, [](const auto& p) { return std::min<int64_t>(p[0], 100); }), "min(a, 100)");
  EXPECT_EQ(found_number(samples, [](const auto& p) { return std::max<int64_t>(p[0] - 50, 0); }),
            "max(a + -50, 0)");
  EXPECT_EQ(found_number(samples, [](const auto& p) { return (p[0] + 2) / 3; }), "(a + 2) // 3");
  EXPECT_EQ(found_number(samples, [](const auto& p) { return p[0] * p[0] % 7; }), "nothing");
}

TEST(Fit, FindsQuotientsInRuns) {
  const Samples samples = sample_runs({kBatch, kLength});
  EXPECT_EQ(fitted(samples, [](const auto& p) { return p[1] / 2; }), "length // 2");
  EXPECT_EQ(fitted(samples, [](const auto& p) { return (p[1] + 1) / 2 * 3 + 1; }),
            "(length + 1) // 2 * 3 + 1");
  EXPECT_EQ(fitted(samples, [](const auto& p) { return (p[1] - 7) / 32; }), "(length + 25) // 32 + -1");
  EXPECT_EQ(fitted(samples, [](const auto& p) { return p[0] * (p[1] / 3) * 8; }),
            "length // 3 * (batch * 8)");
  EXPECT_EQ(fitted(samples, [](const auto& p) { return ((p[1] - 1) / 2 - 1) / 2 * (p[0] / 2); }),
            "(length + 1) // 4 * (batch // 2) + batch // 2 * -1");
  for (const int64_t divisor : {2, 3, 5, 7, 16, 31, 32, 33, 63, 64}) {
    for (int64_t shift = 0; shift < divisor; ++shift) {
      const std::string want =
          absl::StrCat(shift == 0 ? "length" : absl::StrCat("(length + ", shift, ")"), " // ", divisor);
      EXPECT_EQ(fitted(samples, [&](const auto& p) { return (p[1] + shift) / divisor; }), want);
    }
  }
}

TEST(Fit, FindsNoQuotientForOtherSteps) {
  const Samples samples = sample_runs({kLength});
  EXPECT_EQ(fitted(samples, [](const auto& p) { return p[0] / 65; }), "nothing");
  EXPECT_EQ(fitted(samples, [](const auto& p) { return p[0] % 2; }), "nothing");
  EXPECT_EQ(fitted(samples, [](const auto& p) { return std::min<int64_t>(p[0], 500); }), "nothing");
  EXPECT_EQ(fitted(samples, [](const auto& p) { return p[0] / 2 + p[0] / 3; }), "nothing");
  EXPECT_EQ(fitted(samples, [](const auto& p) { return p[0] > 496 ? 1 : 0; }), "nothing");
  const Samples shorter = sample_runs({{{tensor::var("n"), 20, 40}}});
  EXPECT_EQ(fitted(shorter, [](const auto& p) { return p[0] / 2; }), "n // 2");
  EXPECT_EQ(fitted(shorter, [](const auto& p) { return p[0] < 33 ? 1 : 2; }), "nothing");
}

TEST(Fit, CountsMultiples) {
  const NamedDimension height{{tensor::var("height"), 32, 512}, 32};
  const Samples samples = sample({height}), counted = in_multiples(samples);
  for (const std::vector<int64_t>& point : samples.points) EXPECT_EQ(point[0] % 32, 0);
  EXPECT_EQ(fitted(samples, [](const auto& p) { return p[0] / 2; }), "nothing");
  EXPECT_EQ(fitted(counted, [](const auto& p) { return p[0] * 32 / 2; }), "height_32 * 16");
  EXPECT_EQ(counted.dims[0].low, 1);
  EXPECT_EQ(counted.dims[0].high, 16);
}

TEST(Fit, FindsNothingElse) {
  const Samples samples = sample({kLength});
  EXPECT_EQ(fitted(samples, [](const auto& p) { return p[0] / 2; }), "nothing");
  EXPECT_EQ(fitted(samples, [](const auto& p) { return p[0] % 2; }), "nothing");
  EXPECT_EQ(fitted(samples, [](const auto& p) { return p[0] > 480 ? 1 : 0; }), "nothing");
}

TEST(Fit, SamplesShortRangesBeyondTheirEnds) {
  const Samples samples = sample({{{tensor::var("n"), 1, 3}}});
  EXPECT_EQ(fitted(samples, [](const auto& p) { return p[0] * 5; }), "n * 5");
}

tensor::Workload rows(int64_t n, const std::string& factor) {
  return *tensor::parse_workload(absl::StrCat("workload v1\ninput p0: f32[", n, ", 8]\nstage t0: f32[i0 < ",
                                              n, ", i1 < 8] = p0[i0, i1] * ", factor, "\noutput t0\n"));
}

TEST(JoinWorkloads, GivesTheWorkloadOfEverySize) {
  const Samples samples = sample({kLength});
  Fitter fitter(samples);
  std::vector<tensor::Workload> at_points;
  for (const auto& point : samples.points) at_points.push_back(rows(point[0], "2f32"));
  const absl::StatusOr<JoinedWorkload> joined = join_workloads(fitter, at_points);
  ASSERT_TRUE(joined.ok()) << joined.status();
  for (const int64_t n : {1, 7, 512})
    EXPECT_EQ(tensor::canonical_text(*tensor::bind(joined->workload, {{"length", n}})),
              tensor::canonical_text(rows(n, "2f32")));
}

TEST(JoinWorkloads, GivesQuotientsDimensions) {
  const Samples samples = sample_runs({kLength});
  Fitter fitter(samples);
  std::vector<tensor::Workload> at_points;
  for (const auto& point : samples.points) at_points.push_back(rows((point[0] + 1) / 2, "2f32"));
  const absl::StatusOr<JoinedWorkload> joined = join_workloads(fitter, at_points);
  ASSERT_TRUE(joined.ok()) << joined.status();
  ASSERT_EQ(joined->workload.dims.size(), 1u);
  EXPECT_EQ(tensor::to_string(joined->dims[0]), "(length + 1) // 2");
  EXPECT_EQ(joined->workload.dims[0].low, 1);
  EXPECT_EQ(joined->workload.dims[0].high, 256);
  EXPECT_EQ(
      tensor::canonical_text(*tensor::bind(joined->workload, {{joined->workload.dims[0].var->name, 7}})),
      tensor::canonical_text(rows(7, "2f32")));
}

TEST(JoinWorkloads, RefusesWhatIsAnotherComputationAtAnotherSize) {
  const Samples samples = sample({kLength});
  Fitter fitter(samples);
  std::vector<tensor::Workload> at_points;
  for (const auto& point : samples.points)
    at_points.push_back(rows(point[0], point[0] == samples.points[2][0] ? "p0[i0, i1]" : "2f32"));
  EXPECT_EQ(join_workloads(fitter, at_points).status().code(), absl::StatusCode::kNotFound);
  at_points.clear();
  for (const auto& point : samples.points)
    at_points.push_back(rows(point[0], absl::StrCat(std::sqrt(point[0]), "f32")));
  EXPECT_THAT(join_workloads(fitter, at_points).status().message(), HasSubstr("a number is"));
}

// x of n rows, scaled by a constant of as many that `scale` makes.
template <typename F>
Network scaled_rows(F scale) {
  Network network;
  network.dims = {kLength};
  network.at = [scale](const tensor::Binding& sizes) -> absl::StatusOr<Graph> {
    const int64_t n = sizes.at("length");
    Graph graph;
    const std::vector<int64_t> shape = {n, 4}, column = {n, 1};
    std::vector<float> values;
    for (int64_t i = 0; i < n; ++i) values.push_back(static_cast<float>(scale(i, n)));
    const NodeId x = graph.add_input(tensor_type(tensor::Element::kFloat32, shape), "x");
    const NodeId c =
        graph.add_constant(tensor_type(tensor::Element::kFloat32, column), make_blob(values), "scale");
    graph.outputs = {{"y", *graph.add(Binary{BinaryKind::kMul}, {x, c}, "y")}};
    return graph;
  };
  return network;
}

TEST(PlanNetwork, TakesAConstantThatGrowsAsTheGreatest) {
  const absl::StatusOr<Program> program =
      plan_network(scaled_rows([](int64_t i, int64_t) { return 1.0 / (i + 1); }), {});
  ASSERT_TRUE(program.ok()) << program.status();
  ASSERT_EQ(program->tasks.size(), 1u + program->variants.size());
  const auto& kernel = std::get<KernelCall>(program->calls[0].what);
  ASSERT_EQ(kernel.dims.size(), 1u);
  EXPECT_EQ(tensor::to_string(kernel.dims[0]), "length");
  const Operand& scale = program->calls[0].operands[1];
  EXPECT_EQ(program->graph.shape(scale.constant), (std::vector<int64_t>{512, 1}));
}

TEST(PlanNetwork, TakesAConstantThatIsTheEndOfTheGreatest) {
  const Network network = scaled_rows([](int64_t i, int64_t n) { return n - i; });
  const absl::StatusOr<Program> program = plan_network(network, {});
  ASSERT_TRUE(program.ok()) << program.status();
  const auto& call = std::get<KernelCall>(program->calls[0].what);
  ASSERT_EQ(call.blocks.size(), 1u);
  EXPECT_EQ(tensor::to_string(call.blocks.begin()->second[0]), "length * -1 + 512");
}

// x, scaled by `rows` rows of a constant from row `begin` on.
template <typename Begin>
Network scaled_by_part(int64_t count, int64_t rows, Begin begin) {
  Network network;
  network.dims = {{{tensor::var("past"), 1, 200}}};
  network.at = [=](const tensor::Binding& sizes) -> absl::StatusOr<Graph> {
    const int64_t past = sizes.at("past");
    Graph graph;
    const std::vector<int64_t> shape = {rows, 4}, seen = {past, 4}, all = {count, 4};
    std::vector<float> values;
    for (int64_t i = 0; i < count * 4; ++i) values.push_back(static_cast<float>((i * 7919) % 1013));
    const NodeId x = graph.add_input(tensor_type(tensor::Element::kFloat32, shape), "x");
    const NodeId cache = graph.add_input(tensor_type(tensor::Element::kFloat32, seen), "cache");
    const NodeId table =
        graph.add_constant(tensor_type(tensor::Element::kFloat32, all), make_blob(values), "table");
    const NodeId part = *graph.add(Slice{{0}, {begin(past)}, {rows}, {1}}, {table}, "part");
    graph.outputs = {{"y", *graph.add(Binary{BinaryKind::kMul}, {x, part}, "y")},
                     {"z", *graph.add(Unary{UnaryKind::kRelu}, {cache}, "z")}};
    return graph;
  };
  return network;
}

TEST(PlanNetwork, TakesAPartOfATableThatMovesWithASize) {
  const absl::StatusOr<Program> program =
      plan_network(scaled_by_part(300, 2, [](int64_t past) { return past + 3; }), {});
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(program->graph.shape(program->calls[0].operands[1].constant), (std::vector<int64_t>{300, 4}));
  const auto& call = std::get<KernelCall>(program->calls[0].what);
  ASSERT_EQ(call.blocks.size(), 1u);
  EXPECT_EQ(tensor::to_string(call.blocks.begin()->second[0]), "past + 3");
  EXPECT_EQ(tensor::to_string(call.blocks.begin()->second[1]), "0");
}

TEST(PlanNetwork, RefusesAPartOfATableThatMovesInAnotherWay) {
  const auto program =
      plan_network(scaled_by_part(300, 2, [](int64_t past) { return past * 7919 % 257; }), {});
  EXPECT_EQ(program.status().code(), absl::StatusCode::kUnimplemented);
}

TEST(PlanNetwork, RefusesAConstantThatIsAnotherOneAtAnotherSize) {
  const auto program = plan_network(scaled_rows([](int64_t i, int64_t n) { return i + n; }), {});
  EXPECT_EQ(program.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(program.status().message(), HasSubstr("the constant 'scale' has other values"));
}

TEST(PlanNetwork, GivesASizeThatIsAnotherNetworkAVariant) {
  Network network = scaled_rows([](int64_t i, int64_t) { return i; });
  const auto at = network.at;
  network.at = [at](const tensor::Binding& sizes) -> absl::StatusOr<Graph> {
    absl::StatusOr<Graph> graph = at(sizes);
    if (sizes.at("length") == 4)  // which is an extent of the network, too
      graph->outputs[0].node = *graph->add(Unary{UnaryKind::kRelu}, {graph->outputs[0].node}, "z");
    return graph;
  };
  const absl::StatusOr<Program> program = plan_network(network, {});
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_TRUE(std::ranges::any_of(
      program->variants, [](const Variant& variant) { return variant.values == std::vector<int64_t>{4}; }));
}

}  // namespace
}  // namespace tf::graph
