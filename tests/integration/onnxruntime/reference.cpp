#include "tests/integration/onnxruntime/reference.h"

#include <cstdio>
#include <filesystem>
#include <sstream>

#include "base/status.h"
#include "compiler/frontends/onnx/tensor_proto.h"

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

}  // namespace tf
