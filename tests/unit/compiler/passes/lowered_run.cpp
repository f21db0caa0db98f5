#include "tests/unit/compiler/passes/lowered_run.h"

#include <cmath>
#include <cstdlib>

#include "compiler/ir/print.h"
#include "compiler/schedule/numerics.h"
#include "compiler/tensor/evaluate.h"
#include "gtest/gtest.h"
#include "tests/support/ir/host_memory.h"
#include "tests/support/ir/ir_checks.h"

namespace tf::test {
namespace {

bool close(double got, double want, double allowed) {
  if (std::isnan(want)) return std::isnan(got);
  return got == want || (std::isfinite(got) && std::fabs(got - want) <= allowed);
}

// What the schedule's numerics allow an element of that value to be off, whose magnitude Σ|a||b| is known. A
// random schedule may narrow what a product reads in both of its factors.
double allowed_error(const schedule::Schedule& schedule, const tensor::Buffer& output, double want,
                     double magnitude) {
  const double storage_error = schedule::storage_error(schedule);
  // A value just below a whole number may be cut to another one than it.
  if (!tensor::is_float(output->element) && storage_error > 0) return 1 + 2 * storage_error * magnitude;
  return schedule::tolerance_factor(schedule) * 2e-5 * std::max(1.0, std::fabs(want)) +
         2 * storage_error * (magnitude + 1e-3);
}

}  // namespace

void check_schedule(const tensor::Workload& workload, const schedule::Schedule& schedule,
                    const tensor::PortLayouts& ports, uint64_t seed, const std::string& context,
                    const passes::Pipeline& pipeline) {
  SCOPED_TRACE(context + "\n" + tensor::canonical_text(workload) + to_string(schedule));
  absl::StatusOr<passes::Lowered> lowered =
      passes::lower(workload, schedule, ports, {.pipeline = pipeline, .verify_each = true});
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  check_round_trip(lowered->function, pipeline.promises);
  check_run(workload, *lowered, schedule, {}, seed);
}

void check_run(const tensor::Workload& unbound, const passes::Lowered& kernel,
               const schedule::Schedule& schedule, const tensor::Binding& binding, uint64_t seed) {
  SCOPED_TRACE(tensor::binding_text(binding));
  const passes::Lowered* lowered = &kernel;
  const tensor::Workload workload = tensor::bind(unbound, binding).value();
  std::vector<int64_t> dims;
  for (const tensor::Dimension& dim : unbound.dims) dims.push_back(binding.at(dim.var->name));

  std::vector<std::vector<double>> inputs, params;
  for (size_t i = 0; i < workload.inputs.size(); ++i) {
    const tensor::Input& input = workload.inputs[i];
    inputs.push_back(random_values(input.buffer->element, tensor::element_count(input.buffer), seed + i,
                                   input.low, input.high));
    // What lies between the elements of an activation is unspecified: it must not show.
    std::vector<int64_t> extents = extents_of(input.buffer);
    const std::vector<double> stored = map_axes(lowered->param_maps[i], extents, inputs.back());
    std::vector<double> physical = pack(lowered->param_layouts[i], extents, stored);
    if (!input.constant) {
      const std::vector<double> ones(inputs.back().size(), 1);
      const std::vector<double> used = pack(lowered->param_layouts[i], extents_of(input.buffer), ones);
      for (size_t k = 0; k < physical.size(); ++k)
        if (used[k] == 0) physical[k] = std::nan("");
    }
    params.push_back(std::move(physical));
  }
  absl::StatusOr<std::vector<std::vector<double>>> expected =
      tensor::evaluate(tensor::with_magnitudes(workload), inputs);
  ASSERT_TRUE(expected.ok()) << expected.status();
  for (size_t i = params.size(); lowered->param_sums[i]; ++i) {
    const auto source = static_cast<size_t>(lowered->param_sums[i]->input);
    std::vector<int64_t> extents = extents_of(workload.inputs[source].buffer);
    const std::vector<double> sums = sum_axes(*lowered->param_sums[i], extents, inputs[source]);
    params.push_back(pack(lowered->param_layouts[i], extents, sums));
  }
  const size_t first_output = params.size();
  for (const tensor::Buffer& output : workload.outputs) {
    const std::vector<double> ones(static_cast<size_t>(tensor::element_count(output)), 1);
    params.emplace_back(pack(lowered->param_layouts[params.size()], extents_of(output), ones).size(),
                        std::nan(""));
  }
  absl::StatusOr<std::vector<std::vector<double>>> results =
      interpret_values(lowered->function, std::move(params), dims);
  ASSERT_TRUE(results.ok()) << results.status() << "\n" << ir::to_string(lowered->function);
  for (size_t k = 0; k < workload.outputs.size(); ++k) {
    const size_t param = first_output + k;
    const std::vector<double> got =
        unpack(lowered->param_layouts[param], extents_of(workload.outputs[k]), (*results)[param]);
    ASSERT_EQ(got.size(), (*expected)[k].size());
    const std::vector<double>& magnitudes = (*expected)[workload.outputs.size() + k];
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_TRUE(close(got[i], (*expected)[k][i],
                        allowed_error(schedule, workload.outputs[k], (*expected)[k][i], magnitudes[i])))
          << "output " << k << " element " << i << " is " << got[i] << ", not " << (*expected)[k][i] << "\n"
          << ir::to_string(lowered->function);
  }
}

uint64_t number_of(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace tf::test
