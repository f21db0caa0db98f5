// Attention on GPUs by blocks of keys, lowered and interpreted, against the workload's definition.

#include <gmock/gmock.h>

#include <random>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "compiler/ir/print.h"
#include "compiler/recipes/gpu/attention.h"
#include "compiler/recipes/recipes.h"
#include "tests/unit/compiler/passes/lowered_run.h"
#include "tests/unit/compiler/passes/small_workloads.h"

namespace tf::test {
namespace {

using tensor::Element;
using ::testing::HasSubstr;

constexpr const char* kAttentionGpus[] = {"cuda:arch=sm_90", "opencl"};

struct AttentionCase {
  std::string name;
  tensor::Workload workload;
};

std::vector<AttentionCase> attention_cases() {
  std::vector<AttentionCase> all;
  const auto input = [](ops::Builder& b, Element element, std::initializer_list<int64_t> values) {
    std::vector<tensor::Expr> extents;
    for (const int64_t value : values) extents.push_back(tensor::imm(value));
    // Sums as they are, not rounded to the inputs' type.
    return ops::cast(b, b.input("x", element, std::move(extents)), Element::kFloat32);
  };
  for (const auto& [queries, keys, wide, element] : {std::tuple{19, 37, 24, Element::kFloat32},
                                                     {1, 300, 8, Element::kFloat32},
                                                     {33, 1, 5, Element::kFloat32},
                                                     {7, 129, 16, Element::kFloat16},
                                                     {40, 64, 33, Element::kFloat32}}) {
    ops::Builder b;
    const tensor::Buffer scores =
        ops::matmul(b, input(b, element, {2, queries, 6}), input(b, element, {2, 6, keys}));
    const tensor::Buffer masked =
        ops::binary(b, ops::BinaryKind::kAdd, scores, input(b, element, {1, 1, keys}));
    const tensor::Buffer result =
        ops::matmul(b, ops::softmax(b, masked, 2), input(b, element, {2, keys, wide}));
    all.push_back({absl::StrCat(element == Element::kFloat16 ? "f16 " : "", queries, " queries, ", keys,
                                " keys, ", wide, " wide"),
                   *b.finish({result})});
  }
  for (const SmallWorkload& small : small_workloads())
    if (small.name == "attention_of_heads") all.push_back({small.name, build_small(small)});
  return all;
}

void check_points(const AttentionCase& each, int points) {
  for (const char* gpu : kAttentionGpus) {
    std::mt19937 random(17);
    const tensor::KernelSpec kernel{.workload = each.workload, .target = *target::parse_target(gpu)};
    std::vector<recipes::Sketch> sketches = recipes::attention_by_blocks_on_gpu(kernel);
    for (const recipes::Sketch& sketch : recipes::attention_in_two_passes_on_gpu(kernel))
      sketches.push_back(sketch);
    ASSERT_EQ(sketches.size(), 2u) << each.name;
    for (int n = 0; n < 2 * points; ++n) {
      const recipes::Sketch& sketch = sketches[static_cast<size_t>(n % 2)];
      const int i = n / 2;
      recipes::Point point = sketch.default_point();
      for (size_t p = 0; i > 0 && p < point.size(); ++p)
        point[p] = static_cast<uint32_t>(random() % sketch.parameters[p].choices.size());
      const schedule::Schedule schedule = recipes::instantiate(sketch, point);
      const absl::Status status = schedule::apply(each.workload, schedule).status();
      ASSERT_TRUE(status.ok()) << each.name << ", " << sketch.family << " on " << gpu << " "
                               << recipes::to_string(point) << ": " << status;
      check_schedule(
          each.workload, schedule, {}, static_cast<uint64_t>(i),
          absl::StrCat(each.name, ", ", sketch.family, " on ", gpu, " ", recipes::to_string(point)),
          passes::gpu_pipeline());
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(GpuAttention, IsWhatTheDefinitionGives) {
  for (const AttentionCase& each : attention_cases()) ASSERT_NO_FATAL_FAILURE(check_points(each, 2));
}

// Scores of -inf in a block, in all blocks of a row, beside the lowest number, of +inf and NaN.
TEST(GpuAttention, GivesTheSameOfMaskedAndInfiniteScores) {
  constexpr const char* kText =
      "workload v1\n"
      "input p0: f32[13, 4]\ninput p1: f32[4, 150]\ninput p2: f32[150, 9]\n"
      "stage t0: f32[i0 < 13, i1 < 150] = reduce sum[r0 < 4] p0[i0, r0] * p1[r0, i1]\n"
      "stage t1: f32[i0 < 13, i1 < 150] = SCORE\n"
      "stage t2: f32[i0 < 13] = reduce max[r0 < 150] t1[i0, r0]\n"
      "stage t3: f32[i0 < 13, i1 < 150] = exp(t1[i0, i1] - t2[i0])\n"
      "stage t4: f32[i0 < 13] = reduce sum[r0 < 150] t3[i0, r0]\n"
      "stage t5: f32[i0 < 13, i1 < 150] = t3[i0, i1] / t4[i0]\n"
      "stage t6: f32[i0 < 13, i1 < 9] = reduce sum[r0 < 150] t5[i0, r0] * p2[r0, i1]\n"
      "output t6\n";
  for (const char* score :
       {"select(i1 < 128, -inf f32, t0[i0, i1])", "select(i1 < i0 * 12, t0[i0, i1], -inf f32)",
        "select(i1 < 40, -3.4028234663852886e38f32, select(i1 < 64, -inf f32, t0[i0, i1]))",
        "select(i1 < i0 * 12, t0[i0, i1] + -3.4028234663852886e38f32, -inf f32)",
        "select(i0 == 3 && i1 == 70, inf f32, t0[i0, i1])",
        "select(i0 == 3 && i1 == 149, nan f32, t0[i0, i1])"}) {
    const absl::StatusOr<tensor::Workload> workload =
        tensor::parse_workload(absl::StrReplaceAll(kText, {{"SCORE", score}}));
    ASSERT_TRUE(workload.ok()) << workload.status();
    ASSERT_NO_FATAL_FAILURE(check_points({score, *workload}, 2));
  }
}

TEST(GpuAttention, KeepsNoScoresInMemory) {
  for (const char* gpu : kAttentionGpus) {
    ops::Builder b;
    const tensor::Buffer scores = ops::matmul(b, f32_input(b, {2, 64, 8}), f32_input(b, {2, 8, 5000}));
    const tensor::Workload workload =
        *b.finish({ops::matmul(b, ops::softmax(b, scores, 2), f32_input(b, {2, 5000, 16}))});
    const schedule::Schedule schedule =
        recipes::default_schedule({.workload = workload, .target = *target::parse_target(gpu)});
    const auto lowered = passes::lower(workload, schedule, {}, {.pipeline = passes::gpu_pipeline()});
    ASSERT_TRUE(lowered.ok()) << lowered.status();
    const std::string text = ir::to_string(lowered->function);
    std::vector<std::string> stored;
    for (size_t at = 0; (at = text.find("allocate ", at)) != std::string::npos; ++at) {
      const std::string line = text.substr(at, text.find('\n', at) - at);
      if (line.find(" shared") == std::string::npos && line.find(" register") == std::string::npos)
        stored.push_back(line);
    }
    ASSERT_EQ(stored.size(), 1u) << text;
    EXPECT_THAT(stored[0], HasSubstr("allocate t6.part"));
  }
}

// 16 GiB of scores; the memory is for two numbers of each row and block of keys.
TEST(GpuAttention, TakesTwoPassesWhereBlocksWouldGiveMuch) {
  ops::Builder b;
  const tensor::Buffer scores = ops::matmul(b, f32_input(b, {16, 16384, 64}), f32_input(b, {16, 64, 16384}));
  const tensor::Workload workload =
      *b.finish({ops::matmul(b, ops::softmax(b, scores, 2), f32_input(b, {16, 16384, 64}))});
  const std::string text = schedule::to_string(
      recipes::default_schedule({.workload = workload, .target = *target::parse_target("cuda:arch=sm_90")}));
  EXPECT_THAT(text, HasSubstr("rescale t1 t3 t3 256\nrecompute t0 t5"));
}

}  // namespace
}  // namespace tf::test
