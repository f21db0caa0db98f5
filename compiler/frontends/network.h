#pragma once
// Owns: a network of a file as a graph at each size. Does not know: how it is planned.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/frontends/frontend.h"
#include "compiler/graph/dynamic/plan_network.h"

namespace tf::frontends {

// The network of a file, with open dimensions; `options` fixes the others. The file is read again for each size that the
// planner asks for. Errors: as import_file.
absl::StatusOr<graph::Network> network_of_file(const std::string& path, ImportOptions options,
                                               std::vector<graph::NamedDimension> dims = {},
                                               std::vector<tensor::Binding> anchors = {});

}  // namespace tf::frontends
