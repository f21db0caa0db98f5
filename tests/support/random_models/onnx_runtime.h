#pragma once
// Owns: a process of ONNX Runtime that answers one model after another. Does not know: what the models are.

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/files/owned_fd.h"
#include "compiler/graph/host_tensor.h"

namespace tf {

// Not thread-safe. A process that crashes is started again with the next model.
class OnnxRuntime {
 public:
  // Whether deploy/install_peers.sh has installed it.
  static bool is_installed();

  OnnxRuntime() = default;
  OnnxRuntime(const OnnxRuntime&) = delete;
  OnnxRuntime& operator=(const OnnxRuntime&) = delete;
  ~OnnxRuntime() { stop(); }

  // The outputs of FOLDER/model.onnx on FOLDER/test_data_set_0/input_*.pb, which it writes beside these.
  // UNIMPLEMENTED with what it says if it refuses the model or the inputs, ABORTED if it crashes.
  absl::StatusOr<std::vector<graph::HostTensor>> run(const std::string& folder);

 private:
  absl::Status start();
  void stop();
  absl::StatusOr<std::string> ask(const std::string& folder);

  pid_t child_ = 0;
  OwnedFd to_, from_;
  std::string read_;
};

}  // namespace tf
