#include "tests/bench/search/replay/task_table.h"

#include <algorithm>
#include <string_view>

#include "base/check.h"
#include "compiler/ops/builder.h"
#include "compiler/ops/reduction.h"
#include "tests/bench/kernels/kernel_task.h"

namespace tf::replay {
namespace {

constexpr char kMatrixProduct[] = "matrix product";
constexpr char kConvolution[] = "convolution";
constexpr char kDepthwise[] = "depthwise convolution";
constexpr char kRows[] = "rows";

struct Row {
  std::string_view kernel;  // of the table in tests/bench/kernels
  const char* family;
  const char* network;
};
constexpr Row kRowsOfTable[] = {
    {"gemm_1024", kMatrixProduct, ""},
    {"gemm_512", kMatrixProduct, ""},
    {"gemm_16x1024x1024", kMatrixProduct, ""},
    {"gemm_333x555x777", kMatrixProduct, ""},
    {"gemv_1x1000x2048_constant", kMatrixProduct, "resnet50"},
    {"resnet50_3x3_64_64_56", kConvolution, "resnet50"},
    {"resnet50_1x1_128_512_28", kConvolution, "resnet50"},
    {"resnet50_3x3_256_256_14", kConvolution, "resnet50"},
    {"mobilenet_1x1_32_192_28", kConvolution, "mobilenet_v2"},
    {"mobilenet_depthwise_144_56", kDepthwise, "mobilenet_v2"},
};

// As `compiler tasks --json` says of them.
uint64_t reuse_distance_bytes(std::string_view network) {
  if (network == "resnet50") return 96 << 20;
  if (network == "mobilenet_v2") return 16 << 20;
  if (network == "bert_mini") return 12 << 20;
  TF_CHECK(network.empty()) << network << " has no reuse distance here";
  return 0;
}

BenchTask from_table(const Row& row, const target::Target& target) {
  const std::span<const bench::Kernel> table = bench::kernel_table();
  const auto kernel = std::find_if(table.begin(), table.end(),
                                   [&](const bench::Kernel& each) { return each.name == row.kernel; });
  TF_CHECK(kernel != table.end()) << row.kernel << " is not in the table of kernels";
  session::Task task = bench::task_of(*kernel, target, /*row_major=*/false);
  task.kernel.reuse_distance_bytes = reuse_distance_bytes(row.network);
  return {.task = std::move(task),
          .family = row.family,
          .network = row.network,
          .flops = bench::flops_of(*kernel)};
}

// The attention scores of bert_mini: 4 heads, 128 positions.
BenchTask softmax_rows() {
  ops::Builder b;
  const tensor::Buffer x =
      b.input("x", tensor::Element::kFloat32, {tensor::imm(4), tensor::imm(128), tensor::imm(128)});
  session::Task task{.label = "bert_softmax_4x128x128",
                     .kernel = {.workload = *b.finish({ops::softmax(b, x, 2)}),
                                .reuse_distance_bytes = reuse_distance_bytes("bert_mini")}};
  return {.task = std::move(task), .family = kRows, .network = "bert_mini"};
}

}  // namespace

std::vector<BenchTask> bench_tasks(const target::Target& target) {
  std::vector<BenchTask> tasks;
  for (const Row& row : kRowsOfTable) tasks.push_back(from_table(row, target));
  tasks.push_back(softmax_rows());
  return tasks;
}

}  // namespace tf::replay
