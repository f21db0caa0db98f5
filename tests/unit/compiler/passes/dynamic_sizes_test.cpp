// Kernels whose named dimensions have no value when they are lowered, against the definition at every value.

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/ir/print.h"
#include "compiler/recipes/recipes.h"
#include "gtest/gtest.h"
#include "tests/support/ir/ir_checks.h"
#include "tests/support/schedule/random_schedule.h"
#include "tests/unit/compiler/passes/lowered_run.h"
#include "tests/unit/compiler/passes/small_workloads.h"

namespace tf::test {
namespace {

using ops::Builder;
using tensor::Buffer;
using tensor::Expr;

// An operator that a dimension n, from 1 to kMost, is a size of.
struct Dynamic {
  std::string name;
  std::function<Buffer(Builder&, const Expr& n)> make;
};

constexpr int64_t kMost = 40;

Buffer input(Builder& b, std::vector<Expr> extents) {
  return b.input("x", tensor::Element::kFloat32, std::move(extents));
}
Buffer constant(Builder& b, const std::vector<int64_t>& shape) {
  return f32_constant(b, shape);
}
Expr size(int64_t value) {
  return tensor::imm(value);
}

const std::vector<Dynamic>& dynamic_workloads() {
  static const std::vector<Dynamic> all = {
      {"add_relu",
       [](Builder& b, const Expr& n) {
         return ops::relu(b,
                          ops::binary(b, ops::BinaryKind::kAdd, input(b, {n, size(7)}), input(b, {size(7)})));
       }},
      {"long_row",
       [](Builder& b, const Expr& n) {
         return ops::unary(b, ops::UnaryKind::kTanh, input(b, {size(2), n}));
       }},
      {"dense_rows",
       [](Builder& b, const Expr& n) {
         Buffer y = ops::matmul(b, input(b, {n, size(10)}), constant(b, {10, 19}));
         return ops::relu(b, ops::bias_add(b, y, constant(b, {19}), 1));
       }},
      {"scores",
       [](Builder& b, const Expr& n) {
         return ops::matmul(b, input(b, {size(2), n, size(8)}), input(b, {size(2), size(8), n}));
       }},
      {"weighted",
       [](Builder& b, const Expr& n) {
         return ops::matmul(b, input(b, {size(2), n, n}), input(b, {size(2), n, size(12)}));
       }},
      {"softmax",
       [](Builder& b, const Expr& n) {
         return ops::softmax(b, input(b, {size(3), n, n}), 2);
       }},
      {"attention",
       [](Builder& b, const Expr& n) {
         Buffer scores = ops::matmul(b, input(b, {size(2), n, size(8)}), input(b, {size(2), size(8), n}));
         scores = ops::binary(b, ops::BinaryKind::kAdd, scores, input(b, {size(1), size(1), n}));
         return ops::matmul(b, ops::softmax(b, scores, 2), input(b, {size(2), n, size(8)}));
       }},
      {"layer_norm",
       [](Builder& b, const Expr& n) {
         Buffer x = input(b, {n, size(37)});
         Buffer apart =
             ops::binary(b, ops::BinaryKind::kSub, x, ops::reduce(b, ops::ReduceKind::kMean, x, {1}, true));
         Buffer variance = ops::reduce(b, ops::ReduceKind::kMean,
                                       ops::binary(b, ops::BinaryKind::kMul, apart, apart), {1}, true);
         return ops::binary(
             b, ops::BinaryKind::kMul, apart,
             ops::unary(b, ops::UnaryKind::kTanh, ops::binary(b, ops::BinaryKind::kAdd, variance, 1e-5)));
       }},
      {"mean_of_rows",
       [](Builder& b, const Expr& n) {
         return ops::reduce(b, ops::ReduceKind::kMax, input(b, {n, size(9)}), {0}, false);
       }},
      {"heads",
       [](Builder& b, const Expr& n) {
         return ops::transpose(b, ops::reshape(b, input(b, {n, size(24)}), {n, size(3), size(8)}), {1, 0, 2});
       }},
      {"conv_of_a_batch",
       [](Builder& b, const Expr& n) {
         Buffer y = ops::conv(b, input(b, {n, size(2), size(4), size(5)}), constant(b, {9, 2, 3, 3}),
                              {.pads_begin = {1, 1}, .pads_end = {1, 1}});
         return ops::relu(b, y);
       }},
      {"pool_of_a_batch",
       [](Builder& b, const Expr& n) {
         return ops::max_pool(
             b, input(b, {n, size(3), size(7), size(6)}),
             {.kernel = {3, 2}, .strides = {2, 2}, .pads_begin = {1, 0}, .pads_end = {1, 1}});
       }},
      {"gather_rows",
       [](Builder& b, const Expr& n) {
         Buffer indices = b.input("indices", tensor::Element::kInt64, {n}, {0, 4});
         return ops::gather(b, input(b, {size(5), size(19)}), indices, 0);
       }},
  };
  return all;
}

tensor::Workload build(const Dynamic& dynamic) {
  ops::Builder builder;
  const tensor::Var n = tensor::var("n");
  builder.dimension({n, 1, kMost});
  const absl::StatusOr<tensor::Workload> workload = builder.finish({dynamic.make(builder, n)});
  EXPECT_TRUE(workload.ok()) << dynamic.name << ": " << workload.status();
  return ops::fold_transposes(*workload);
}

bool has_failure() {
  return ::testing::Test::HasFailure();
}

// False if the schedule is not legal for all sizes.
bool check(const tensor::Workload& workload, const schedule::Schedule& schedule,
           const tensor::PortLayouts& ports, uint64_t seed) {
  SCOPED_TRACE(tensor::to_string(workload) + to_string(schedule));
  const auto lowered = passes::lower(workload, schedule, ports, {.verify_each = true});
  if (absl::IsFailedPrecondition(lowered.status())) return false;
  EXPECT_TRUE(lowered.ok()) << lowered.status();
  if (!lowered.ok()) return false;
  check_round_trip(lowered->function, passes::cpu_pipeline().promises);
  for (const int64_t n : {1, 2, 3, 7, 8, 17, 40})
    if (!has_failure()) check_run(workload, *lowered, schedule, {{"n", n}}, seed);
  if (has_failure()) ADD_FAILURE() << ir::to_string(lowered->function);
  return true;
}

class EverySize : public ::testing::TestWithParam<Dynamic> {};

TEST_P(EverySize, AgreesWithoutASchedule) {
  EXPECT_TRUE(check(build(GetParam()), {}, {}, 1));
}

TEST_P(EverySize, AgreesUnderTheDefaultScheduleOfOneSize) {
  const tensor::Workload workload = build(GetParam());
  int legal = 0;
  for (const char* text : {"x86_64:cpu=znver4", "x86_64:cpu=haswell", "x86_64"}) {
    for (const int64_t n : {37, 11}) {
      const tensor::Workload bound = tensor::bind(workload, {{"n", n}}).value();
      for (const int threads : {1, 2}) {
        const schedule::Schedule schedule = recipes::default_schedule(
            {.workload = bound, .target = target::parse_target(text).value(), .threads = threads});
        legal += check(workload, schedule, {}, 1);
        if (HasFailure()) return;
      }
    }
  }
  EXPECT_GT(legal, 0);
}

TEST_P(EverySize, AgreesUnderRandomSchedules) {
  const tensor::Workload workload = build(GetParam());
  const tensor::Workload bound = tensor::bind(workload, {{"n", 37}}).value();
  int legal = 0;
  const uint64_t begin = number_of("TF_RANDOM_SEED", 0), end = begin + number_of("TF_RANDOM_SCHEDULES", 12);
  for (uint64_t seed = begin; seed < end && !HasFailure(); ++seed)
    legal += check(workload, random_schedule(bound, seed), random_ports(bound, seed), seed);
  EXPECT_GT(legal, 1);
}

// What random schedules have found.
bool check_gathered_rows(const char* schedule, const tensor::PortLayouts& ports) {
  const auto gather = std::ranges::find(dynamic_workloads(), "gather_rows", &Dynamic::name);
  return check(build(*gather), *schedule::parse_schedule(schedule), ports, 1);
}

// The row's number is a scalar under conditions that differ between lanes, those of runs of neighbours.
TEST(GatheredRows, AreReadInBlocks) {
  const tensor::PortLayouts ports{.inputs = {{}, {{{1, 0}, {0, 0}, {1, 8}}}}, .outputs = {{}}};
  EXPECT_TRUE(check_gathered_rows("schedule v1\nannotate t0 i1 vectorize\n", ports));
}

// Of loops that were fused a later iteration may count where an earlier one does not.
TEST(GatheredRows, AreCopiedForWhicheverIterationCounts) {
  EXPECT_TRUE(check_gathered_rows(
      "schedule v1\nsplit t0 i1 5 guard\nfuse t0 i0,i1.0,i1.1\nsplit t0 i0*i1.0*i1.1 3 guard\n"
      "cache_read p1 t0 row_major global\ncompute_at p1.pack t0 i0*i1.0*i1.1.0 global\n",
      {}));
}

INSTANTIATE_TEST_SUITE_P(Dynamic, EverySize, ::testing::ValuesIn(dynamic_workloads()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace tf::test
