#include "compiler/graph/program/program.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "compiler/graph/element_values.h"
#include "compiler/graph/layouts/layout_choice.h"
#include "compiler/graph/program/evaluate.h"
#include "compiler/graph/program/memory_plan.h"
#include "compiler/graph/text.h"
#include "compiler/runtime/layout.h"
#include "compiler/tensor/evaluate.h"
#include "random_graph.h"

namespace tf::graph {
namespace {

// Runs a program of f32 values in the memory that the plan gives it, each call by the reference evaluator, so
// that a value that is overwritten too early, or laid out wrongly, gives a wrong answer.
class ProgramRunner {
 public:
  explicit ProgramRunner(const Program& program)
      : program_(program), plan_(plan_memory(program)), arena_(plan_.arena_bytes / sizeof(float), NAN) {
    EXPECT_TRUE(check_memory(program, plan_).ok()) << check_memory(program, plan_);
    for (int value : program.inputs) inputs_.emplace_back(program.values[value].size_bytes / sizeof(float));
    for (int value : program.outputs)
      outputs_.emplace_back(program.values[value].size_bytes / sizeof(float), NAN);
  }

  std::vector<HostTensor> run(const std::vector<HostTensor>& inputs) {
    for (size_t i = 0; i < inputs.size(); ++i)
      std::memcpy(inputs_[i].data(), inputs[i].data->bytes().data(), inputs[i].data->bytes().size());
    for (const Call& call : program_.calls) run(call);
    std::vector<HostTensor> outputs;
    for (size_t i = 0; i < program_.outputs.size(); ++i) {
      const NodeId node = program_.values[program_.outputs[i]].node;
      outputs.push_back({"y", tensor::Element::kFloat32, program_.graph.shape(node), make_blob(outputs_[i])});
    }
    return outputs;
  }

 private:
  float* at(int value) {
    const Place& place = plan_.places[value];
    std::vector<float>& space = place.space == Space::kInput    ? inputs_[place.index]
                                : place.space == Space::kOutput ? outputs_[place.index]
                                                                : arena_;
    return space.data() + place.offset_bytes / sizeof(float);
  }

  tf_layout layout_of(int value) const {
    tf_layout layout;
    const Value& v = program_.values[value];
    EXPECT_EQ(tf_layout_parse(v.layout.text().c_str(), program_.graph.type(v.node).rank(), &layout), 0);
    return layout;
  }

  std::vector<double> operand(const Operand& operand) {
    if (operand.value < 0) {
      auto* known = as<Constant>(program_.graph.node(operand.constant));
      return read_floats(program_.graph.type(operand.constant).element, known->data->bytes());
    }
    const std::vector<int64_t> shape = program_.graph.shape(program_.values[operand.value].node);
    std::vector<float> plain(*element_count(shape));
    const tf_layout layout = layout_of(operand.value);
    tf_layout_unpack(&layout, shape.data(), static_cast<int32_t>(shape.size()), sizeof(float),
                     at(operand.value), plain.data());
    return {plain.begin(), plain.end()};
  }

  void run(const Call& call) {
    const Task& task = program_.tasks[call.task()];
    std::vector<std::vector<double>> operands;
    for (const Operand& o : call.operands) operands.push_back(operand(o));
    auto results = tensor::evaluate(*tensor::bind(task.kernel.workload, task.kernel.binding), operands);
    ASSERT_TRUE(results.ok()) << results.status();
    const std::vector<float> plain((*results)[0].begin(), (*results)[0].end());
    const std::vector<int64_t> shape = program_.graph.shape(program_.values[call.results[0]].node);
    const tf_layout layout = layout_of(call.results[0]);
    tf_layout_pack(&layout, shape.data(), static_cast<int32_t>(shape.size()), sizeof(float), plain.data(),
                   at(call.results[0]));
  }

  const Program& program_;
  const MemoryPlan plan_;
  std::vector<float> arena_;
  std::vector<std::vector<float>> inputs_, outputs_;
};

// An opinion on every kernel and copy, as good as any: so that every mixture of layouts comes up.
class RandomCost final : public LayoutCost {
 public:
  explicit RandomCost(uint32_t seed) : seed_(seed) {}
  double nanoseconds(const Task& task) override {
    return static_cast<double>(std::hash<std::string>()(task_key(task) + std::to_string(seed_)) % 1000);
  }

 private:
  uint32_t seed_;
};

// Of each task, the activations that are as large as its result in every call.
std::vector<std::vector<int>> operands_of_the_results_size(const Program& program) {
  std::vector<std::set<int>> others(program.tasks.size()), same(program.tasks.size());
  for (const Call& call : program.calls) {
    for (size_t k = 0; k < call.operands.size(); ++k) {
      const int value = call.operands[k].value;
      const bool fits =
          value >= 0 && program.values[value].size_bytes == program.values[call.results[0]].size_bytes;
      (fits ? same : others)[static_cast<size_t>(call.task())].insert(static_cast<int>(k));
    }
  }
  std::vector<std::vector<int>> all;
  for (size_t task = 0; task < same.size(); ++task) {
    for (int other : others[task]) same[task].erase(other);
    all.emplace_back(same[task].begin(), same[task].end());
  }
  return all;
}

TEST(Program, ComputesRandomNetworksInItsPlannedMemory) {
  const std::optional<std::vector<tensor::Element>> kFloats = {{tensor::Element::kFloat32}}, kNone;
  int blocked = 0, in_place = 0, replaced = 0;
  for (uint32_t seed = 0; seed < 150; ++seed) {
    RandomGraph random(seed);
    const Graph graph = random.make();
    const std::vector<HostTensor> inputs = random.inputs(graph);
    RandomCost cost(seed);
    for (const auto& [lanes, channels_last] :
         {std::pair(1, false), {4, false}, {8, false}, {2, true}, {4, true}}) {
      absl::StatusOr<Program> program = plan_program(
          graph, {.lanes = lanes, .channels_last = channels_last ? kFloats : kNone, .cost = &cost});
      ASSERT_TRUE(program.ok()) << program.status();
      for (const Value& value : program->values) {
        blocked += !value.layout.is_row_major();
        in_place += value.within >= 0;
      }
      absl::StatusOr<std::vector<HostTensor>> want = evaluate(program->graph, inputs);
      ASSERT_TRUE(want.ok()) << want.status();
      EXPECT_LT(largest_difference(ProgramRunner(*program).run(inputs), *want), 1e-3)
          << "seed " << seed << ", lanes " << lanes << (channels_last ? ", channels last" : "") << "\n"
          << to_string(graph);
      // The evaluator reads all operands before it writes: any of the result's size may be replaced.
      reuse_operands(*program, operands_of_the_results_size(*program));
      for (const Call& call : program->calls) replaced += call.in_place >= 0;
      EXPECT_LT(largest_difference(ProgramRunner(*program).run(inputs), *want), 1e-3)
          << "in place, seed " << seed << ", lanes " << lanes << (channels_last ? ", channels last" : "")
          << "\n"
          << to_string(graph);
    }
  }
  EXPECT_GT(blocked, 100) << "the networks were too small for blocked layouts to be chosen";
  EXPECT_GT(in_place, 100) << "no value was made inside another";
  EXPECT_GT(replaced, 100) << "no operand was dead";
}

// The only output of a graph, by the reference and by its program; nothing if it cannot be planned.
std::vector<double> computed(const Graph& graph, const std::vector<HostTensor>& inputs) {
  absl::StatusOr<Program> program = plan_program(graph, {.lanes = 1});
  EXPECT_TRUE(program.ok()) << program.status();
  if (!program.ok()) return {};
  const absl::StatusOr<std::vector<HostTensor>> want = evaluate(program->graph, inputs);
  EXPECT_TRUE(want.ok()) << want.status();
  if (!want.ok()) return {};
  EXPECT_LT(largest_difference(ProgramRunner(*program).run(inputs), *want), 1e-5);
  return read_floats((*want)[0].element, (*want)[0].data->bytes());
}

TEST(Program, TakesOperandsThatAgreeOnlyByTheValuesOfNames) {
  const auto ones = [](int64_t count) { return make_blob(std::vector<float>(count, 1.0f)); };
  for (int64_t value : {1, 3}) {
    Graph graph;
    graph.dims = {{tensor::var("n")}, {tensor::var("m")}};
    graph.binding = {{"n", value}, {"m", value}};
    const tensor::Expr n = graph.dims[0].var, m = graph.dims[1].var, two = tensor::imm(2);
    auto constant = [&](const std::vector<int64_t>& shape) {
      return graph.add_constant(tensor_type(tensor::Element::kFloat32, shape), ones(*element_count(shape)),
                                "ones");
    };
    const NodeId x = graph.add_input({tensor::Element::kFloat32, {n, two}}, "x");
    const NodeId z = graph.add_input({tensor::Element::kFloat32, {two, m}}, "z");
    NodeId y = *graph.add(MatMul{.transpose_a = true}, {constant({value, value}), x}, "inner");
    y = *graph.add(MatMul{}, {z, y}, "inner");
    y = *graph.add(Concat{1}, {y, constant({2, 1})}, "beside");
    y = *graph.add(Reshape{{tensor::imm(6)}}, {y}, "flat");
    graph.outputs = {{"y", y}};
    // z * (ones * x) is 2 * value², beside ones.
    const std::vector<HostTensor> inputs = {
        {"x", tensor::Element::kFloat32, {value, 2}, make_blob(std::vector<float>(2 * value, 2.0f))},
        {"z", tensor::Element::kFloat32, {2, value}, ones(2 * value)}};
    const auto product = static_cast<double>(2 * value * value);
    EXPECT_EQ(computed(graph, inputs), (std::vector<double>{product, product, 1, product, product, 1}));
    // Where n is 1 it is broadcast.
    graph.outputs = {{"sum", *graph.add(Binary{BinaryKind::kAdd}, {x, constant({3, 2})}, "sum")}};
    EXPECT_EQ(computed(graph, inputs), std::vector<double>(6, 3.0));
  }
}

TEST(Program, PlansOutputsAndOperandsWithoutElements) {
  Graph graph;
  const NodeId none = graph.add_constant(tensor_type(tensor::Element::kFloat32, std::vector<int64_t>{0, 3}),
                                         make_blob(std::vector<float>()), "c");
  graph.outputs = {{"y", none}};
  EXPECT_EQ(computed(graph, {}), std::vector<double>());
  graph.outputs = {{"y", *graph.add(Reduce{ReduceKind::kSum, {0}, false}, {none}, "sum")}};
  EXPECT_EQ(computed(graph, {}), (std::vector<double>{0, 0, 0}));
}

TEST(Program, CountsTasksByComputationAndLayouts) {
  for (uint32_t seed = 0; seed < 30; ++seed) {
    absl::StatusOr<Program> program = plan_program(RandomGraph(seed).make(), {.lanes = 4});
    ASSERT_TRUE(program.ok()) << program.status();
    std::vector<int64_t> counts(program->tasks.size());
    for (const Call& call : program->calls) ++counts[call.task()];
    std::set<std::string> keys;
    for (size_t i = 0; i < program->tasks.size(); ++i) {
      EXPECT_EQ(program->tasks[i].count, counts[i]);
      EXPECT_EQ(program->tasks[i].nodes.size(), static_cast<size_t>(counts[i]));
      EXPECT_TRUE(keys.insert(task_key(program->tasks[i])).second) << "two tasks of one key";
    }
  }
}

TEST(Program, GivesInputsAndConstantsThatAreOutputsBytesOfTheirOwn) {
  Graph graph;
  const std::vector<int64_t> shape = {2, 2};
  const NodeId x = graph.add_input(tensor_type(tensor::Element::kFloat32, shape), "x");
  const NodeId c = graph.add_constant(tensor_type(tensor::Element::kFloat32, shape),
                                      make_blob(std::vector<float>{1, 2, 3, 4}), "c");
  const NodeId r = *graph.add(Unary{UnaryKind::kRelu}, {x}, "r");
  graph.outputs = {{"a", x}, {"b", c}, {"d", r}, {"e", r}};
  absl::StatusOr<Program> program = plan_program(graph, {.lanes = 4});
  ASSERT_TRUE(program.ok()) << program.status();
  const HostTensor input{"x", tensor::Element::kFloat32, shape, make_blob(std::vector<float>{-1, 5, -6, 7})};
  const std::vector<HostTensor> got = ProgramRunner(*program).run({input});
  EXPECT_EQ(largest_difference(got, *evaluate(graph, {input})), 0);
}

// A cost that finds blocked layouts bad must get row-major everywhere, and the other way round.
class Fixed final : public LayoutCost {
 public:
  explicit Fixed(bool wants_blocked) : wants_blocked_(wants_blocked) {}
  double nanoseconds(const Task& task) override {
    return task.kernel.ports.outputs[0].is_row_major() == wants_blocked_ ? 1000 : 10;
  }

 private:
  bool wants_blocked_;
};

// One after another, 1x1 and of 8 channels.
Graph four_convolutions() {
  Graph graph;
  const std::vector<int64_t> shape = {1, 8, 4, 4}, weights = {8, 8, 1, 1};
  NodeId x = graph.add_input(tensor_type(tensor::Element::kFloat32, shape), "x");
  const NodeId w = graph.add_constant(tensor_type(tensor::Element::kFloat32, weights),
                                      make_blob(std::vector<float>(64, 0.5f)), "w");
  for (int i = 0; i < 4; ++i) x = *graph.add(Conv{{1, 1}, {1, 1}, {0, 0}, {0, 0}, 1}, {x, w}, "conv");
  graph.outputs = {{"y", x}};
  return graph;
}

TEST(Layouts, FollowTheCost) {
  const Graph graph = four_convolutions();
  for (bool wants_blocked : {true, false}) {
    Fixed cost(wants_blocked);
    absl::StatusOr<Program> program = plan_program(graph, {.lanes = 4, .cost = &cost});
    ASSERT_TRUE(program.ok()) << program.status();
    int blocked = 0;
    for (const Call& call : program->calls)
      blocked += !program->values[call.results[0]].layout.is_row_major();
    // The last result must be row-major in the end, so making it blocked and copying it saves nothing.
    EXPECT_EQ(blocked, wants_blocked ? 3 : 0);
    EXPECT_TRUE(program->values[program->outputs[0]].layout.is_row_major());
  }
}

// So many times as slow where the result is row-major; what it was told of takes next to nothing.
class Nearly final : public LayoutCost {
 public:
  explicit Nearly(double slowdown) : slowdown_(slowdown) {}
  double nanoseconds(const Task& task) override {
    if (fast.contains(task_key(task))) return 1;
    return task.kernel.ports.outputs[0].is_row_major() ? 100 * slowdown_ : 100;
  }
  std::set<std::string> fast;

 private:
  double slowdown_;
};

TEST(Layouts, ThatAreNearlyAsGoodNameTheirKernels) {
  const Graph graph = four_convolutions();
  Nearly far(10), near(1.1);
  EXPECT_TRUE(plan_program(graph, {.lanes = 4, .cost = &far})->alternatives.empty());
  const Program program = *plan_program(graph, {.lanes = 4, .cost = &near});
  ASSERT_FALSE(program.alternatives.empty());
  std::set<std::string> used;
  for (const Task& task : program.tasks) used.insert(task_key(task));
  for (const Task& task : program.alternatives) {
    EXPECT_EQ(task.count, 0);
    EXPECT_FALSE(used.contains(task_key(task))) << task.label;
    EXPECT_TRUE(near.fast.insert(task_key(task)).second) << "twice: " << task.label;
  }
  // Once they turn out to be fast, they are what is chosen.
  int turned = 0;
  const Program again = *plan_program(graph, {.lanes = 4, .cost = &near});
  for (const Task& task : again.tasks) turned += near.fast.contains(task_key(task));
  EXPECT_GT(turned, 0);
}

// Of four kernels all in one, one between row-major values and vectors, two between vectors, one back.
TEST(Layouts, ThatAreNearlyAsGoodNameEachKernelOnce) {
  Nearly near(1.1);
  const Program program = *plan_program(four_convolutions(), {.lanes = 4, .cost = &near});
  ASSERT_EQ(program.tasks.size(), 3u);
  // The first value or the last one of three; the one in the middle needs no other kernel.
  ASSERT_EQ(program.alternatives.size(), 1u);
  EXPECT_THAT(program.alternatives[0].kernel.ports.inputs, testing::Each(tensor::Layout{}));
  EXPECT_EQ(program.alternatives[0].kernel.ports.outputs[0], tensor::Layout{});
}

// The layouts of inputs and of the result of a network's middle convolution on that target.
std::vector<std::string> layouts_between(tensor::Element element, int64_t channels, const char* target) {
  Graph graph;
  const std::vector<int64_t> shape = {1, channels, 8, 8}, weights = {channels, channels, 3, 3};
  NodeId x = graph.add_input(tensor_type(element, shape), "x");
  const NodeId w = graph.add_constant(tensor_type(element, weights),
                                      make_blob(std::vector<char>(static_cast<size_t>(
                                          channels * channels * 9 * tensor::element_bytes(element)))),
                                      "w");
  for (int i = 0; i < 3; ++i) x = *graph.add(Conv{{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}, {x, w}, "conv");
  graph.outputs = {{"y", x}};
  const Program program = *plan_program(graph, layout_options(*target::parse_target(target)));
  const tensor::PortLayouts& ports = program.tasks[static_cast<size_t>(program.calls[1].task())].kernel.ports;
  return {ports.inputs[0].text(), ports.outputs[0].text()};
}

TEST(Program, HasChannelsLastWhereAGpuMultipliesMatricesOfHalves) {
  using tensor::Element;
  const std::vector<std::string> last = {"0,2,3,1", "0,2,3,1"}, row_major = {"", ""};
  EXPECT_EQ(layouts_between(Element::kFloat16, 64, "cuda:arch=sm_80"), last);
  EXPECT_EQ(layouts_between(Element::kFloat16, 60, "cuda:arch=sm_80"), row_major) << "no whole vectors";
  EXPECT_EQ(layouts_between(Element::kFloat32, 64, "cuda:arch=sm_80"), row_major);
  EXPECT_EQ(layouts_between(Element::kFloat16, 64, "opencl"), row_major);
}

// The operands' channels interleave.
TEST(Program, ConcatenatesNothingInPlaceWhereChannelsAreLast) {
  Graph graph;
  const std::vector<int64_t> shape = {1, 64, 4, 4};
  std::vector<NodeId> parts;
  for (int i = 0; i < 2; ++i) {
    const NodeId x = graph.add_input(tensor_type(tensor::Element::kFloat32, shape), absl::StrCat("x", i));
    parts.push_back(*graph.add(Unary{UnaryKind::kRelu}, {x}, "part"));
  }
  const NodeId joined = *graph.add(Concat{1}, parts, "joined");
  graph.outputs = {{"y", *graph.add(Unary{UnaryKind::kRelu}, {joined}, "y")}};
  const tensor::Layout blocks{{{0, 0}, {1, 0}, {2, 0}, {3, 0}, {1, 8}}},
      last{{{0, 0}, {2, 0}, {3, 0}, {1, 0}}};
  EXPECT_TRUE(can_concat_in_place(graph, joined, {}, 64));
  EXPECT_TRUE(can_concat_in_place(graph, joined, blocks, 64));
  EXPECT_FALSE(can_concat_in_place(graph, joined, last, 64));
}

TEST(MemoryPlan, ReusesBytesOfDeadValues) {
  Graph graph;
  const std::vector<int64_t> shape = {1024};
  NodeId x = graph.add_input(tensor_type(tensor::Element::kFloat32, shape), "x");
  for (int i = 0; i < 10; ++i) x = *graph.add(Softmax{0, false}, {x}, "s");
  graph.outputs = {{"y", x}};
  absl::StatusOr<Program> program = plan_program(graph, {.lanes = 4});
  ASSERT_TRUE(program.ok()) << program.status();
  const MemoryPlan plan = plan_memory(*program);
  EXPECT_EQ(plan.arena_bytes, 2 * 4096u) << "ten values in a row need two places";
  EXPECT_TRUE(check_memory(*program, plan).ok());
}

TEST(MemoryPlan, ReplacesAnOperandOnlyOnceNobodyReadsIt) {
  Graph graph;
  const std::vector<int64_t> shape = {1024};
  const NodeId x = graph.add_input(tensor_type(tensor::Element::kFloat32, shape), "x");
  const NodeId a = *graph.add(Softmax{0, false}, {x}, "a");
  const NodeId b = *graph.add(Softmax{0, true}, {a}, "b");   // a is read again
  const NodeId c = *graph.add(Softmax{0, false}, {b}, "c");  // b is not
  const NodeId d = *graph.add(Softmax{0, false}, {c}, "d");  // the output's place is given
  graph.outputs = {{"d", d}, {"y", *graph.add(Binary{BinaryKind::kAdd}, {d, a}, "y")}};
  absl::StatusOr<Program> program = plan_program(graph, {.lanes = 4});
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(plan_memory(*program).arena_bytes, 3 * 4096u);
  reuse_operands(*program, operands_of_the_results_size(*program));
  std::map<std::string, int> in_place;
  for (const Call& call : program->calls) in_place[call.name] = call.in_place;
  EXPECT_EQ(in_place, (std::map<std::string, int>{{"a", -1}, {"b", -1}, {"c", 0}, {"d", 0}, {"y", 1}}));
  MemoryPlan plan = plan_memory(*program);
  EXPECT_TRUE(check_memory(*program, plan).ok()) << check_memory(*program, plan);
  EXPECT_EQ(plan.arena_bytes, 0u) << "all but the input lies in the two outputs";
  program->calls[2].in_place = -1;
  EXPECT_THAT(std::string(check_memory(*program, plan).message()), testing::HasSubstr("what it reads"));
}

TEST(MemoryPlan, CheckFindsValuesThatShareBytes) {
  Graph graph;
  const std::vector<int64_t> shape = {64};
  const NodeId x = graph.add_input(tensor_type(tensor::Element::kFloat32, shape), "x");
  const NodeId a = *graph.add(Softmax{0, false}, {x}, "a");
  const NodeId b = *graph.add(Softmax{0, true}, {a}, "b");
  const NodeId c = *graph.add(Softmax{0, false}, {b}, "c");
  graph.outputs = {{"y", *graph.add(Binary{BinaryKind::kAdd}, {c, a}, "y")}};
  absl::StatusOr<Program> program = plan_program(graph, {.lanes = 4});
  ASSERT_TRUE(program.ok()) << program.status();
  MemoryPlan plan = plan_memory(*program);
  ASSERT_TRUE(check_memory(*program, plan).ok()) << check_memory(*program, plan);
  const MemoryPlan good = plan;
  for (Place& place : plan.places) place.offset_bytes = 0;
  EXPECT_EQ(check_memory(*program, plan).code(), absl::StatusCode::kInternal);
  plan = good;
  plan.arena_bytes -= 64;
  EXPECT_THAT(std::string(check_memory(*program, plan).message()), testing::HasSubstr("leaves its space"));
}

}  // namespace
}  // namespace tf::graph
