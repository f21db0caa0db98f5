#pragma once
// Owns: what tests of networks for ranges of sizes have in common: a fixture that compares with the evaluator. Does not know: networks.

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "compiler/frontends/frontends.h"
#include "compiler/graph/element_values.h"
#include "compiler/graph/program/evaluate.h"
#include "tests/integration/compiler/built_models.h"
#include "tests/support/onnx/open_networks.h"
#include "tests/unit/compiler/graph/random_graph.h"

namespace tf::driver {

using onnx::name_extent;
using onnx::some_floats;

// A file for each size of these dimensions, and of those that it finds.
inline graph::Network network_of(const std::string& bytes, std::vector<graph::NamedDimension> dims = {}) {
  graph::Network network;
  network.dims = std::move(dims);
  network.at = [bytes, dims = network.dims](const tensor::Binding& sizes) {
    frontends::ImportOptions options;
    for (const auto& [name, size] : sizes) {
      const bool is_open = std::ranges::any_of(
          dims, [&, &name = name](const graph::NamedDimension& dim) { return dim.var->name == name; });
      (is_open ? options.dims : options.found)[name] = size;
    }
    return frontends::import_model(bytes, options);
  };
  return network;
}

class OpenSizes : public BuiltModels {
 protected:
  static void expect_right_at(const graph::Network& network, LoadedModel& model,
                              const tensor::Binding& sizes) {
    SCOPED_TRACE(tensor::binding_text(sizes));
    const absl::StatusOr<std::vector<graph::HostTensor>> inputs = random_inputs_at(model, 3, sizes);
    ASSERT_TRUE(inputs.ok()) << inputs.status();
    const absl::StatusOr<std::vector<graph::HostTensor>> got = model.run(*inputs);
    ASSERT_TRUE(got.ok()) << got.status();
    const std::vector<graph::HostTensor> want = *graph::evaluate(*network.at(sizes), *inputs);
    ASSERT_EQ(got->size(), want.size());
    for (size_t i = 0; i < want.size(); ++i) {
      ASSERT_EQ((*got)[i].shape, want[i].shape);
      double largest = 0;
      for (const double value : graph::read_floats(want[i].element, want[i].data->bytes()))
        largest = std::max(largest, std::fabs(value));
      EXPECT_LE(graph::largest_difference({(*got)[i]}, {want[i]}), 2e-5 * std::max(largest, 1e-3));
    }
  }
};

}  // namespace tf::driver
