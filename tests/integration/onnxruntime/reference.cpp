#include "tests/integration/onnxruntime/reference.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <sstream>

#include "base/status.h"
#include "compiler/frontends/onnx/tensor_proto.h"
#include "compiler/graph/element_values.h"

namespace tf {
namespace {

const std::string kPeers = TF_SOURCE_DIR "/build/peers/node_modules";

}  // namespace

bool has_onnx_runtime() {
  return std::filesystem::exists(kPeers + "/onnxruntime-node");
}

absl::StatusOr<Reference> ask_onnx_runtime(const std::string& model_path, const std::string& folder,
                                           const tensor::Binding& dims) {
  std::string command = "NODE_PATH=" + kPeers +
                        " node " TF_SOURCE_DIR "/tests/support/onnxruntime/answer.js " + model_path + " " +
                        folder;
  for (const auto& [name, extent] : dims) command += " --dim " + name + "=" + std::to_string(extent);
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return absl::InternalError("cannot run " + command);
  std::string lines;
  char buffer[4096];
  for (size_t n = 0; (n = fread(buffer, 1, sizeof(buffer), pipe)) > 0;) lines.append(buffer, n);
  if (pclose(pipe) != 0) return absl::InternalError("failed: " + command);
  Reference reference;
  std::istringstream in(lines);
  for (std::string kind, name, file; in >> kind >> name >> file;) {
    TF_ASSIGN_OR_RETURN(graph::HostTensor tensor, onnx::read_tensor(file));
    (kind == "input" ? reference.inputs : reference.outputs).push_back(std::move(tensor));
  }
  if (reference.outputs.empty()) return absl::InternalError("no output from " + command);
  return reference;
}

Distance distance(const std::vector<graph::HostTensor>& ours, const std::vector<graph::HostTensor>& theirs) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  Distance found;
  if (ours.size() != theirs.size()) return {.worst = kInfinite};
  for (size_t i = 0; i < ours.size(); ++i) {
    const std::vector<double> a = graph::read_floats(ours[i].element, ours[i].data->bytes());
    const std::vector<double> b = graph::read_floats(theirs[i].element, theirs[i].data->bytes());
    if (a.size() != b.size()) return {.worst = kInfinite};
    for (size_t k = 0; k < a.size(); ++k) {
      double far = kInfinite;
      if (std::isfinite(a[k])) far = std::fabs(a[k] - b[k]);
      found.worst = std::max(found.worst, far);
      found.largest = std::max(found.largest, std::fabs(b[k]));
    }
  }
  return found;
}

}  // namespace tf
