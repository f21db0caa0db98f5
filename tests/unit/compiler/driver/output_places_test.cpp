// Built models whose values lie inside outputs or are shared between them: concatenations made in place,
// views, copies of inputs, one value as several outputs. Each answer is compared with the reference
// evaluation.
#include <string>
#include <vector>

#include "compiler/graph/program/evaluate.h"
#include "compiler/graph/program/memory_plan.h"
#include "tests/unit/compiler/driver/built_model.h"
#include "tests/unit/compiler/graph/parsed_graph.h"
#include "tests/unit/compiler/graph/random_graph.h"

namespace tf::driver {
namespace {

using graph::HostTensor;

struct PlacedNetwork {
  const char* name;
  const char* body;
  int values_at_offsets;  // values that do not begin where their output does
};

// Named after what the outputs are. Parts are aligned (16 elements) or not (5 elements).
const PlacedNetwork kPlacedNetworks[] = {
    {"aligned_concat", R"(
    n0 = input() "x" : f32[16]
    n1 = relu(n0) "a" : f32[16]
    n2 = exp(n0) "b" : f32[16]
    n3 = concat(n1, n2; axis=0) "c" : f32[32]
    output "y" = n3
)",
     1},
    {"concat_of_odd_sizes", R"(
    n0 = input() "x" : f32[5]
    n1 = relu(n0) "a" : f32[5]
    n2 = exp(n0) "b" : f32[5]
    n3 = concat(n1, n2, n1; axis=0) "c" : f32[15]
    output "y" = n3
)",
     0},
    {"concat_whose_last_part_is_odd", R"(
    n0 = input() "x" : f32[5]
    n1 = input() "z" : f32[32]
    n2 = relu(n1) "a" : f32[32]
    n3 = exp(n0) "b" : f32[5]
    n4 = concat(n2, n3; axis=0) "c" : f32[37]
    output "y" = n4
)",
     1},
    {"sigmoid_of_concat", R"(
    n0 = input() "x" : f32[16]
    n1 = relu(n0) "a" : f32[16]
    n2 = exp(n0) "b" : f32[16]
    n3 = concat(n1, n2; axis=0) "c" : f32[32]
    n4 = sigmoid(n3) "s" : f32[32]
    output "y" = n4
)",
     1},
    {"concat_of_concats", R"(
    n0 = input() "x" : f32[1, 16, 4]
    n1 = relu(n0) "a" : f32[1, 16, 4]
    n2 = exp(n0) "b" : f32[1, 16, 4]
    n3 = neg(n0) "c" : f32[1, 16, 4]
    n4 = sigmoid(n0) "d" : f32[1, 16, 4]
    n5 = concat(n1, n2; axis=1) "e" : f32[1, 32, 4]
    n6 = concat(n3, n4; axis=1) "f" : f32[1, 32, 4]
    n7 = concat(n6, n5; axis=1) "g" : f32[1, 64, 4]
    output "y" = n7
)",
     4},
    {"concat_of_an_input", R"(
    n0 = input() "x" : f32[1, 16]
    n1 = relu(n0) "a" : f32[1, 16]
    n2 = concat(n0, n1; axis=0) "c" : f32[2, 16]
    output "y" = n2
)",
     0},
    {"concat_of_a_constant", R"(
    n0 = input() "x" : f32[4]
    n1 = constant(1f32, 2f32, 3f32, 4f32) "k" : f32[4]
    n2 = relu(n0) "a" : f32[4]
    n3 = concat(n1, n2; axis=0) "c" : f32[8]
    output "y" = n3
)",
     0},
    {"part_of_a_concat", R"(
    n0 = input() "x" : f32[16]
    n1 = relu(n0) "a" : f32[16]
    n2 = exp(n0) "b" : f32[16]
    n3 = concat(n1, n2; axis=0) "c" : f32[32]
    output "y" = n3
    output "part" = n2
)",
     0},
    {"view_of_a_part", R"(
    n0 = input() "x" : f32[16]
    n1 = relu(n0) "a" : f32[16]
    n2 = exp(n0) "b" : f32[16]
    n3 = concat(n1, n2; axis=0) "c" : f32[32]
    n4 = reshape(n2; extents=[4, 4]) "v" : f32[4, 4]
    output "y" = n3
    output "part" = n4
)",
     2},
    {"concat_that_is_read_again", R"(
    n0 = input() "x" : f32[16]
    n1 = relu(n0) "a" : f32[16]
    n2 = exp(n0) "b" : f32[16]
    n3 = concat(n1, n2; axis=0) "c" : f32[32]
    n4 = sigmoid(n3) "s" : f32[32]
    n5 = sigmoid(n2) "t" : f32[16]
    output "y" = n3
    output "s" = n4
    output "t" = n5
)",
     1},
    {"view_of_a_concat", R"(
    n0 = input() "x" : f32[16]
    n1 = relu(n0) "a" : f32[16]
    n2 = exp(n0) "b" : f32[16]
    n3 = concat(n1, n2; axis=0) "c" : f32[32]
    n4 = reshape(n3; extents=[2, 16]) "v" : f32[2, 16]
    output "y" = n4
    output "z" = n3
)",
     1},
    {"two_concats_of_the_same", R"(
    n0 = input() "x" : f32[16]
    n1 = relu(n0) "a" : f32[16]
    n2 = exp(n0) "b" : f32[16]
    n3 = concat(n1, n2; axis=0) "c" : f32[32]
    n4 = concat(n2, n1; axis=0) "d" : f32[32]
    output "y" = n3
    output "z" = n4
)",
     1},
    {"slice_and_transpose", R"(
    n0 = input() "x" : f32[8, 16]
    n1 = relu(n0) "a" : f32[8, 16]
    n2 = slice(n1; axes=[0], starts=[4], sizes=[4], steps=[1]) "s" : f32[4, 16]
    n3 = transpose(n1; perm=[1, 0]) "t" : f32[16, 8]
    n4 = reshape(n3; extents=[128]) "r" : f32[128]
    output "s" = n2
    output "t" = n3
    output "r" = n4
)",
     0},
    {"input_constant_and_one_value_twice", R"(
    n0 = input() "x" : f32[7]
    n1 = constant(1f32, 2f32, 3f32) "k" : f32[3]
    n2 = relu(n0) "a" : f32[7]
    n3 = reshape(n0; extents=[1, 7]) "v" : f32[1, 7]
    output "x" = n0
    output "k" = n1
    output "a" = n2
    output "b" = n2
    output "v" = n3
)",
     0},
    {"concat_of_maps", R"(
    n0 = input() "x" : f32[1, 16, 5, 3]
    n1 = relu(n0) "a" : f32[1, 16, 5, 3]
    n2 = exp(n0) "b" : f32[1, 16, 5, 3]
    n3 = concat(n1, n2; axis=1) "c" : f32[1, 32, 5, 3]
    n4 = add(n3, n3) "d" : f32[1, 32, 5, 3]
    output "y" = n4
)",
     1},
    {"concat_of_bytes", R"(
    n0 = input() "x" : f32[64]
    n1 = constant(0.5f32) "h" : f32[]
    n2 = less(n0, n1) "a" : bool[64]
    n3 = less(n1, n0) "b" : bool[64]
    n4 = concat(n2, n3; axis=0) "c" : bool[128]
    output "y" = n4
)",
     1},
};

class OutputPlaces : public BuiltModel, public testing::WithParamInterface<PlacedNetwork> {};

TEST_P(OutputPlaces, HoldWhatTheNetworkIsDefinedToGive) {
  const graph::Graph network = graph::parsed(GetParam().body);
  for (int threads : {1, 2}) {
    const auto model = build(network, threads);
    ASSERT_TRUE(model.ok()) << model.status();
    for (uint64_t seed : {1, 2}) {
      const std::vector<HostTensor> inputs = random_inputs(**model, seed);
      const absl::StatusOr<std::vector<HostTensor>> got = (*model)->run(inputs);
      ASSERT_TRUE(got.ok()) << got.status();
      EXPECT_LE(graph::largest_difference(*got, *graph::evaluate(network, inputs)), 1e-5) << threads;
    }
  }
}

// So that the networks above go on to test what they are for.
TEST_P(OutputPlaces, LieAtTheOffsetsThatAreMeant) {
  graph::Program program = *graph::plan_program(graph::parsed(GetParam().body), {.lanes = 8});
  graph::reuse_operands(program, std::vector<std::vector<int>>(program.tasks.size(), {0}));
  const graph::MemoryPlan memory = graph::plan_memory(program);
  const absl::Status checked = graph::check_memory(program, memory);
  EXPECT_TRUE(checked.ok()) << checked;
  int offset = 0;
  for (const graph::Place& place : memory.places)
    offset += place.space == graph::Space::kOutput && place.offset_bytes > 0;
  EXPECT_EQ(offset, GetParam().values_at_offsets);
}

INSTANTIATE_TEST_SUITE_P(Networks, OutputPlaces, testing::ValuesIn(kPlacedNetworks),
                         [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace tf::driver
