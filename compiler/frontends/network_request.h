#pragma once
// Owns: NetworkRequest, what people ask of a network's file by --dim, --at and --input, and the network that it
// makes. Does not know: where the texts come from.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/frontends/frontend.h"
#include "compiler/graph/dynamic/plan_network.h"

namespace tf::frontends {

struct NetworkRequest {
  ImportOptions options;                      // with the values of dimensions and inputs
  std::vector<graph::NamedDimension> ranges;  // dimensions that stay open
  std::vector<tensor::Binding> anchors;       // their sizes that get kernels of their own
};

// NAME=N, NAME=LEAST..MOST or NAME=LEAST..MOST:MULTIPLE. Errors of this and the next two: INVALID_ARGUMENT, with the option's name.
absl::Status add_dim(const std::string& text, NetworkRequest& request);
// NAME=VALUE.
absl::Status add_input(const std::string& text, NetworkRequest& request);
// Each NAME=N,N,…, after all dimensions: all combinations of these sizes.
absl::Status add_anchors(const std::vector<std::string>& texts, NetworkRequest& request);
// Whether ranges and anchors could have come from such texts.
absl::Status check_sizes(const NetworkRequest& request);

// The values of dimensions, and the greatest of those with a range.
tensor::Binding greatest_sizes(const NetworkRequest& request);

// As network_of_file.
absl::StatusOr<graph::Network> import_network(const std::string& path, const NetworkRequest& request);

}  // namespace tf::frontends
