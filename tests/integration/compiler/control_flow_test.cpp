// Branches, loops and host functions: what their definitions give by hand, by the evaluator and by a built library.
#include <unistd.h>

#include <filesystem>

#include "compiler/driver/build_model.h"
#include "compiler/driver/build_pool.h"
#include "compiler/driver/loaded_model.h"
#include "compiler/graph/element_values.h"
#include "compiler/graph/program/evaluate.h"
#include "compiler/graph/text.h"
#include "tests/unit/compiler/graph/parsed_graph.h"

namespace tf::driver {
namespace {

using graph::HostTensor;
using Numbers = std::vector<double>;

HostTensor tensor_of(tensor::Element element, std::vector<int64_t> shape, const Numbers& values) {
  return {"", element, std::move(shape),
          std::make_shared<const graph::Blob>(graph::write_floats(element, values))};
}
HostTensor floats(std::vector<int64_t> shape, const Numbers& values) {
  return tensor_of(tensor::Element::kFloat32, std::move(shape), values);
}
HostTensor whole(int64_t value) {
  return tensor_of(tensor::Element::kInt64, {}, {static_cast<double>(value)});
}
HostTensor truth(bool value) {
  return tensor_of(tensor::Element::kBool, {}, {value ? 1.0 : 0.0});
}

class ControlFlow : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    pool_ = BuildPool::create({.workers = 2, .worker_path = TF_BINARY_DIR "/bin/build_worker"})->release();
  }
  static void TearDownTestSuite() { delete pool_; }
  ~ControlFlow() override { std::filesystem::remove_all(folder_); }

  // Builds the network of those lines.
  void build(const std::string& lines) {
    model_ = nullptr;
    network_ = graph::parsed(lines);
    EXPECT_EQ(graph::to_string(*graph::parse_graph(graph::to_string(network_), nullptr)),
              graph::to_string(network_));
    const target::Target target = target::host_target();
    absl::StatusOr<graph::Program> program = graph::plan_program(network_, {.lanes = target.fp32_lanes()});
    ASSERT_TRUE(program.ok()) << program.status();
    std::filesystem::create_directories(folder_);
    const auto report =
        build_model(*program, std::vector<std::optional<ScheduleChoice>>(program->tasks.size()), *pool_,
                    {.target = target, .folder = folder_});
    ASSERT_TRUE(report.ok()) << report.status();
    auto model = LoadedModel::open(folder_, 2);
    ASSERT_TRUE(model.ok()) << model.status();
    model_ = *std::move(model);
  }

  // The outputs, which the evaluator and the library agree on.
  std::vector<Numbers> outputs(const std::vector<HostTensor>& inputs) {
    const auto evaluated = graph::evaluate(network_, inputs);
    EXPECT_TRUE(evaluated.ok()) << evaluated.status();
    const auto computed = model_->run(inputs);
    EXPECT_TRUE(computed.ok()) << computed.status();
    std::vector<Numbers> all;
    for (size_t i = 0; evaluated.ok() && computed.ok() && i < computed->size(); ++i) {
      all.push_back(graph::read_floats((*computed)[i].element, (*computed)[i].data->bytes()));
      EXPECT_EQ(all.back(), graph::read_floats((*evaluated)[i].element, (*evaluated)[i].data->bytes()))
          << "output " << i;
    }
    return all;
  }

  static BuildPool* pool_;
  const std::string folder_ = testing::TempDir() + "control_flow_test." + std::to_string(getpid());
  graph::Graph network_;
  std::unique_ptr<LoadedModel> model_;
};
BuildPool* ControlFlow::pool_ = nullptr;

TEST_F(ControlFlow, IfRunsTheBranchOfItsCondition) {
  build(R"(
    c = input() "c" : bool[]
    x = input() "x" : f32[3]
    y = if(c, x; then=graph "t" {
      x = input() "x" : f32[3]
      y = add(x, x) "twice" : f32[3]
      z = neg(x) "minus" : f32[3]
      output "o0" = y
      output "o1" = z
    }, else=graph "e" {
      x = input() "x" : f32[3]
      k = constant(7f32, 8f32, 9f32) "k" : f32[3]
      output "o0" = k
      output "o1" = x
    }) "if" : f32[3], f32[3]
    z = result(y; index=1) "z" : f32[3]
    output "y" = y
    output "z" = z
  )");
  const HostTensor x = floats({3}, {1, 2, 3});
  EXPECT_EQ(outputs({truth(true), x}), (std::vector<Numbers>{{2, 4, 6}, {-1, -2, -3}}));
  EXPECT_EQ(outputs({truth(false), x}), (std::vector<Numbers>{{7, 8, 9}, {1, 2, 3}}));
}

// A running sum of slices of 12 bytes, which are not aligned, forwards and backwards.
constexpr const char* kRunningSums = R"(
    n = constant(5i64) "n" : i64[]
    s = input() "s" : f32[3]
    x = input() "x" : f32[5, 3]
    y = loop(n, s, x; carried=1, scanned=1, conditional=false, backward=[DIRECTION, 0, 1], body=graph "b" {
      i = input() "i" : i64[]
      s = input() "s" : f32[3]
      x = input() "x" : f32[3]
      sum = add(s, x) "sum" : f32[3]
      number = cast(i; element=f32) "number" : f32[]
      output "o0" = sum
      output "o1" = sum
      output "o2" = number
    }) "loop" : f32[3], f32[5, 3], f32[5]
    all = result(y; index=1) "all" : f32[5, 3]
    numbers = result(y; index=2) "numbers" : f32[5]
    output "last" = y
    output "all" = all
    output "numbers" = numbers
)";

TEST_F(ControlFlow, LoopCarriesScansAndJoins) {
  const HostTensor start = floats({3}, {10, 20, 30});
  const HostTensor x = floats({5, 3}, {1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5});
  for (const bool backward : {false, true}) {
    std::string text = kRunningSums;
    text.replace(text.find("DIRECTION"), 9, backward ? "1" : "0");
    build(text);
    const auto got = outputs({start, x});
    ASSERT_EQ(got.size(), 3u);
    EXPECT_EQ(got[0], (Numbers{25, 35, 45}));
    const Numbers forward = {11, 21, 31, 13, 23, 33, 16, 26, 36, 20, 30, 40, 25, 35, 45};
    const Numbers reversed = {15, 25, 35, 19, 29, 39, 22, 32, 42, 24, 34, 44, 25, 35, 45};
    EXPECT_EQ(got[1], backward ? reversed : forward);
    EXPECT_EQ(got[2], (Numbers{4, 3, 2, 1, 0})) << "joined from the last to the first";
  }
}

TEST_F(ControlFlow, LoopEndsWithItsTripsOrItsCondition) {
  build(R"(
    n = input() "n" : i64[]
    c = input() "c" : bool[]
    a = input() "a" : f32[2]
    b = input() "b" : f32[2]
    limit = input() "limit" : f32[]
    y = loop(n, c, a, b, limit; carried=2, scanned=0, conditional=true, backward=[], body=graph "b" {
      i = input() "i" : i64[]
      a = input() "a" : f32[2]
      b = input() "b" : f32[2]
      limit = input() "limit" : f32[]
      sum = add(a, b) "sum" : f32[2]
      first = slice(sum; axes=[0], starts=[0], sizes=[1], steps=[1]) "first" : f32[1]
      scalar = reshape(first; extents=[]) "scalar" : f32[]
      more = less(scalar, limit) "more" : bool[]
      output "o0" = more
      output "o1" = b
      output "o2" = sum
    }) "loop" : f32[2], f32[2]
    z = result(y; index=1) "z" : f32[2]
    output "y" = y
    output "z" = z
  )");
  const auto run = [&](int64_t trips, bool begins, double limit) {
    return outputs(
        {whole(trips), truth(begins), floats({2}, {0, 1}), floats({2}, {1, 1}), floats({}, {limit})});
  };
  EXPECT_EQ(run(0, true, 100), (std::vector<Numbers>{{0, 1}, {1, 1}}));
  EXPECT_EQ(run(-3, true, 100), (std::vector<Numbers>{{0, 1}, {1, 1}}));
  EXPECT_EQ(run(9, false, 100), (std::vector<Numbers>{{0, 1}, {1, 1}}));
  EXPECT_EQ(run(1, true, 100), (std::vector<Numbers>{{1, 1}, {1, 2}}));
  EXPECT_EQ(run(6, true, 100), (std::vector<Numbers>{{8, 13}, {13, 21}}));
  EXPECT_EQ(run(7, true, 100), (std::vector<Numbers>{{13, 21}, {21, 34}}));
  EXPECT_EQ(run(INT64_MAX, true, 10), (std::vector<Numbers>{{8, 13}, {13, 21}})) << "ends by its condition";
}

TEST_F(ControlFlow, LoopsAndBranchesNest) {
  build(R"(
    n = constant(3i64) "n" : i64[]
    x = input() "x" : f32[3, 2]
    zero = constant(0f32, 0f32) "zero" : f32[2]
    y = loop(n, zero, x, x; carried=1, scanned=1, conditional=false, backward=[0], body=graph "outer" {
      i = input() "i" : i64[]
      s = input() "s" : f32[2]
      row = input() "row" : f32[2]
      all = input() "all" : f32[3, 2]
      m = constant(3i64) "m" : i64[]
      inner = loop(m, s, all, row; carried=1, scanned=1, conditional=false, backward=[0], body=graph "inner" {
        i = input() "i" : i64[]
        s = input() "s" : f32[2]
        other = input() "other" : f32[2]
        row = input() "row" : f32[2]
        one = constant(1i64) "one" : i64[]
        is_middle = equal(i, one) "is_middle" : bool[]
        t = if(is_middle, s, other, row; then=graph "t" {
          s = input() "s" : f32[2]
          other = input() "other" : f32[2]
          row = input() "row" : f32[2]
          output "o0" = s
        }, else=graph "e" {
          s = input() "s" : f32[2]
          other = input() "other" : f32[2]
          row = input() "row" : f32[2]
          p = mul(other, row) "p" : f32[2]
          q = add(s, p) "q" : f32[2]
          output "o0" = q
        }) "if" : f32[2]
        output "o0" = t
      }) "inner" : f32[2]
      output "o0" = inner
    }) "outer" : f32[2]
    output "y" = y
  )");
  // Each row times the first and the last row.
  const auto got = outputs({floats({3, 2}, {1, 2, 3, 4, 5, 6})});
  EXPECT_EQ(got, (std::vector<Numbers>{{(1 + 3 + 5) * (1 + 5), (2 + 4 + 6) * (2 + 6)}}));
}

TEST_F(ControlFlow, TopKGivesValuesAndTheirPlaces) {
  build(R"(
    x = input() "x" : f32[2, 5]
    y = topk(x; axis=1, k=3, largest=true) "top" : f32[2, 3], i64[2, 3]
    i = result(y; index=1) "i" : i64[2, 3]
    output "y" = y
    output "i" = i
  )");
  EXPECT_EQ(outputs({floats({2, 5}, {3, 9, 3, -1, 9, 0, 1, 2, 3, 4})}),
            (std::vector<Numbers>{{9, 9, 3, 4, 3, 2}, {1, 4, 0, 4, 3, 2}}));
}

}  // namespace
}  // namespace tf::driver
