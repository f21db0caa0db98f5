#include "tests/support/random_models/onnx_runtime.h"

#include <fcntl.h>

#include <csignal>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "base/files/write_all.h"
#include "base/machine/child_process.h"
#include "base/status.h"
#include "compiler/frontends/onnx/tensor_proto.h"

namespace tf {
namespace {

const std::string kPeers = TF_SOURCE_DIR "/build/peers/node_modules";

}  // namespace

bool OnnxRuntime::is_installed() {
  return std::filesystem::exists(kPeers + "/onnxruntime-node");
}

absl::Status OnnxRuntime::start() {
  int to[2], from[2];
  if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) return absl::InternalError("no pipes");
  child_ = fork_dependent();
  if (child_ < 0) return absl::InternalError("cannot fork");
  if (child_ == 0) {
    dup2(to[0], 0);
    dup2(from[1], 1);
    setenv("NODE_PATH", kPeers.c_str(), 1);
    execlp("node", "node", TF_SOURCE_DIR "/tests/support/onnxruntime/serve.js", nullptr);
    _exit(127);
  }
  to_ = OwnedFd(to[1]);
  from_ = OwnedFd(from[0]);
  close(to[0]);
  close(from[1]);
  read_.clear();
  return absl::OkStatus();
}

void OnnxRuntime::stop() {
  if (child_ <= 0) return;
  kill(child_, SIGKILL);
  wait_for_end(child_);
  child_ = 0;
}

absl::StatusOr<std::string> OnnxRuntime::ask(const std::string& folder) {
  if (child_ <= 0) TF_RETURN_IF_ERROR(start());
  if (!write_all(to_.get(), folder + "\n", "ONNX Runtime").ok())
    return absl::AbortedError("ONNX Runtime has gone");
  char buffer[4096];
  size_t end = 0;
  while ((end = read_.find('\n')) == std::string::npos) {
    const ssize_t n = ::read(from_.get(), buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return absl::AbortedError("ONNX Runtime crashed");
    read_.append(buffer, static_cast<size_t>(n));
  }
  const std::string line = read_.substr(0, end);
  read_.erase(0, end + 1);
  return line;
}

absl::StatusOr<std::vector<graph::HostTensor>> OnnxRuntime::run(const std::string& folder) {
  const absl::StatusOr<std::string> answer = ask(folder);
  if (!answer.ok()) {
    stop();
    return answer.status();
  }
  if (*answer != "ok") return absl::UnimplementedError(*answer);
  std::vector<graph::HostTensor> outputs;
  for (int i = 0;; ++i) {
    const std::string file = absl::StrCat(folder, "/test_data_set_0/output_", i, ".pb");
    if (!std::filesystem::exists(file)) return outputs;
    TF_ASSIGN_OR_RETURN(graph::HostTensor value, onnx::read_tensor(file));
    outputs.push_back(std::move(value));
  }
}

}  // namespace tf
