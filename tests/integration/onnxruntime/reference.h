#pragma once
// Owns: ONNX Runtime's answer to a model on random inputs. Does not know: how ours is made.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/graph/host_tensor.h"
#include "compiler/tensor/workload.h"

namespace tf {

// Whether deploy/install_peers.sh has installed it.
bool has_onnx_runtime();

struct Reference {
  std::vector<graph::HostTensor> inputs, outputs;
};
// Runs it in node.js, which keeps its files in `folder`. INTERNAL with the command if that fails.
absl::StatusOr<Reference> ask_onnx_runtime(const std::string& model_path, const std::string& folder,
                                           const tensor::Binding& dims = {});

// How far our outputs are from ONNX Runtime's.
struct Distance {
  double worst = 0;    // of one element; infinite where ours is no number, or shapes differ
  double largest = 0;  // of ONNX Runtime's elements
};
Distance distance(const std::vector<graph::HostTensor>& ours, const std::vector<graph::HostTensor>& theirs);

}  // namespace tf
