#include "tests/unit/compiler/driver/relative_error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "compiler/backends/llvm/codegen.h"
#include "compiler/passes/lower.h"
#include "compiler/tensor/evaluate.h"
#include "tests/support/ir/host_memory.h"
#include "tests/support/loaded_kernel/loaded_kernel.h"

namespace tf::test {

std::vector<double> answers(const tensor::Workload& workload, const schedule::Schedule& schedule,
                            const tensor::PortLayouts& ports, int threads, const target::Target& target,
                            const std::vector<std::vector<double>>& inputs) {
  const absl::StatusOr<passes::Lowered> lowered = passes::lower(workload, schedule, ports);
  EXPECT_TRUE(lowered.ok()) << lowered.status();
  const absl::StatusOr<support::CompiledKernel> kernel = support::compile_for(lowered->function, target);
  EXPECT_TRUE(kernel.ok()) << kernel.status();
  std::vector<std::unique_ptr<support::AlignedBytes>> buffers;
  std::vector<support::AlignedBytes*> pointers;
  for (size_t i = 0; i < lowered->param_elements.size(); ++i) {
    const tensor::Element stored = lowered->function.params[i]->element;
    const auto bytes = static_cast<uint64_t>(lowered->param_elements[i] * tensor::element_bytes(stored));
    buffers.push_back(std::make_unique<support::AlignedBytes>(bytes, 0xFF));
    pointers.push_back(buffers.back().get());
    const auto& sums = lowered->param_sums[i];
    if (i >= workload.inputs.size() && !sums) continue;
    const size_t input = sums ? static_cast<size_t>(sums->input) : i;
    std::vector<int64_t> extents = extents_of(workload.inputs[input].buffer);
    const std::vector<double> made = sums ? sum_axes(*sums, extents, inputs[input])
                                          : map_axes(lowered->param_maps[i], extents, inputs[input]);
    const Bytes packed = encode(stored, pack(lowered->param_layouts[i], extents, made));
    std::ranges::copy(packed, buffers.back()->as<std::byte>().begin());
  }
  EXPECT_EQ(support::call_kernel(*kernel, pointers, {}, threads), TF_KERNEL_OK);
  const std::vector<double> raw = decode(workload.outputs[0]->element, buffers.back()->as<std::byte>());
  return unpack(lowered->param_layouts.back(), extents_of(workload.outputs[0]), raw);
}

double relative_error(const tensor::Workload& workload, const schedule::Schedule& schedule,
                      const tensor::PortLayouts& ports, int threads, const target::Target& target) {
  std::vector<std::vector<double>> inputs;
  for (size_t i = 0; i < workload.inputs.size(); ++i) {
    const tensor::Buffer& buffer = workload.inputs[i].buffer;
    inputs.push_back(random_values(buffer->element, tensor::element_count(buffer), 7 * i + 1));
  }
  const std::vector<double> y = answers(workload, schedule, ports, threads, target, inputs);
  const auto want = tensor::evaluate(tensor::with_magnitudes(workload), inputs);
  EXPECT_TRUE(want.ok()) << want.status();
  double largest = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    EXPECT_TRUE(std::isfinite(y[i]));
    largest = std::max(largest, std::fabs(y[i] - (*want)[0][i]) / (*want)[1][i]);
  }
  return largest;
}

}  // namespace tf::test
