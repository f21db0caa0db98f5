#include "compiler/frontends/network.h"

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "compiler/frontends/frontends.h"
#include "compiler/graph/found.h"

namespace tf::frontends {

absl::StatusOr<graph::Network> network_of_file(const std::string& path, ImportOptions options,
                                               std::vector<graph::NamedDimension> dims,
                                               std::vector<tensor::Binding> anchors) {
  if (dims.empty()) {
    TF_ASSIGN_OR_RETURN(graph::Graph graph, import_file(path, options));
    if (graph::found_dims(graph).empty()) return graph::Network(std::move(graph));
  }
  graph::Network network;
  network.at = [path, options = std::move(options), dims](const tensor::Binding& sizes) {
    ImportOptions of_size = options;
    for (const auto& [name, size] : sizes) {
      const bool is_open = std::ranges::any_of(
          dims, [&, &name = name](const graph::NamedDimension& dim) { return dim.var->name == name; });
      (is_open ? of_size.dims : of_size.found)[name] = size;
    }
    return import_file(path, of_size);
  };
  network.dims = std::move(dims);
  network.anchors = std::move(anchors);
  return network;
}

}  // namespace tf::frontends
