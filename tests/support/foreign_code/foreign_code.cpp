#include "tests/support/foreign_code/foreign_code.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/files/file.h"
#include "base/files/temporary_folder.h"
#include "base/status.h"

namespace tf::support {
namespace {

std::string arch_of(const target::Target& target) {
  return std::string(target::arch_name(target.arch));
}

// As Debian names its cross compilers and the folders of their libraries.
std::string triple_of(const target::Target& target) {
  if (target.arch == target::Arch::kArmV7) return "arm-linux-gnueabihf";
  return absl::StrCat(arch_of(target), "-linux-gnu");
}

std::string emulator(const target::Target& target) {
  return target.arch == target::Arch::kArmV7 ? "qemu-arm" : absl::StrCat("qemu-", arch_of(target));
}

std::string program(const target::Target& target, Runner runner) {
  const char* name = runner == Runner::kKernel  ? "kernel_runner"
                     : runner == Runner::kModel ? "model_runner"
                                                : "arithmetic_runner";
  // NOLINTNEXTLINE(concurrency-mt-unsafe): tests have one thread
  const char* folder = std::getenv("TF_FOREIGN_PROGRAMS");
  return absl::StrCat(folder != nullptr ? folder : TF_FOREIGN_PROGRAMS, "/", arch_of(target), "/", name);
}

// The emulated processor has what the target has and, where qemu knows it, nothing else.
std::string processor(const target::Target& target) {
  if (target.arch == target::Arch::kRiscV64)
    return target.has("v") ? "rv64,v=true,vext_spec=v1.0,vlen=128" : "rv64";
  return target.cpu == "generic" ? "max" : target.cpu;
}

std::string find_program(const std::string& name) {
  for (const char* folder : {"/usr/bin/", "/usr/local/bin/"}) {
    if (access((folder + name).c_str(), X_OK) == 0) return folder + name;
  }
  return "";
}

// Runs the command with these bytes as standard input, in a folder that goes away.
class Session {
 public:
  static absl::StatusOr<Session> make() {
    TF_ASSIGN_OR_RETURN(TemporaryFolder folder, TemporaryFolder::make());
    return Session(std::move(folder));
  }
  std::string file(const char* name) const { return folder_.file(name); }

  absl::StatusOr<std::string> run(const target::Target& target, Runner runner, const std::string& arguments,
                                  const std::string& input) const {
    TF_RETURN_IF_ERROR(write_file(file("in"), input));
    const std::string command = absl::StrCat(
        find_program(emulator(target)), " -cpu ", processor(target), " -L /usr/", triple_of(target), " ",
        program(target, runner), " ", arguments, " < ", file("in"), " > ", file("out"), " 2> ", file("err"));
    const int code = std::system(command.c_str());  // NOLINT(concurrency-mt-unsafe): tests have one thread
    if (code == 0) return read_file(file("out"));
    const absl::StatusOr<std::string> message = read_file(file("err"));
    return absl::InternalError(absl::StrCat(command, ": ", code, ": ", message.value_or("")));
  }

 private:
  explicit Session(TemporaryFolder folder) : folder_(std::move(folder)) {}

  TemporaryFolder folder_;
};

void append_number(std::string& bytes, int64_t value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

std::optional<std::string> missing_emulator(const target::Target& target, Runner runner) {
  const std::string arch = arch_of(target);
  if (find_program(emulator(target)).empty())
    return absl::StrCat("code for ", arch,
                        " cannot run here: install qemu-user (deploy/install_packages.sh --cross)");
  if (const std::string path = program(target, runner); access(path.c_str(), X_OK) != 0)
    return absl::StrCat("code for ", arch, " cannot run here: ", path, " is missing; install g++-",
                        triple_of(target),
                        " (deploy/install_packages.sh --cross), configure and build again");
  return std::nullopt;
}

absl::StatusOr<int32_t> call_foreign(const ForeignKernel& kernel, const target::Target& target,
                                     std::span<AlignedBytes* const> buffers, std::span<const int64_t> dims,
                                     int threads) {
  std::string input;
  for (const int64_t number : {int64_t{threads}, static_cast<int64_t>(kernel.workspace_bytes),
                               static_cast<int64_t>(kernel.workspace_per_thread_bytes),
                               static_cast<int64_t>(dims.size()), static_cast<int64_t>(buffers.size())})
    append_number(input, number);
  for (const int64_t dim : dims) append_number(input, dim);
  for (const AlignedBytes* buffer : buffers) append_number(input, static_cast<int64_t>(buffer->size()));
  for (const AlignedBytes* buffer : buffers)
    input.append(reinterpret_cast<const char*>(buffer->data()), buffer->size());

  TF_ASSIGN_OR_RETURN(const Session session, Session::make());
  TF_RETURN_IF_ERROR(write_file(session.file("kernel.so"), kernel.shared_object));
  TF_ASSIGN_OR_RETURN(const std::string output,
                      session.run(target, Runner::kKernel,
                                  absl::StrCat(session.file("kernel.so"), " ", kernel.symbol), input));
  int64_t code = 0;
  size_t at = sizeof code;
  uint64_t wanted = at;
  for (const AlignedBytes* buffer : buffers) wanted += buffer->size();
  if (output.size() != wanted) return absl::InternalError("kernel_runner wrote too little or too much");
  std::memcpy(&code, output.data(), sizeof code);
  for (AlignedBytes* buffer : buffers) {
    std::memcpy(buffer->data(), output.data() + at, buffer->size());
    at += buffer->size();
  }
  return static_cast<int32_t>(code);
}

absl::StatusOr<std::vector<std::string>> run_foreign_model(const std::string& path,
                                                           const target::Target& target,
                                                           std::span<const std::string> inputs,
                                                           std::span<const uint64_t> output_bytes,
                                                           int threads) {
  std::string input;
  for (const std::string& bytes : inputs) input += bytes;
  TF_ASSIGN_OR_RETURN(const Session session, Session::make());
  TF_ASSIGN_OR_RETURN(const std::string output,
                      session.run(target, Runner::kModel, absl::StrCat(path, " ", threads), input));
  std::vector<std::string> outputs;
  size_t at = 0;
  for (const uint64_t bytes : output_bytes) {
    outputs.push_back(output.substr(std::min(at, output.size()), bytes));
    at += bytes;
  }
  if (output.size() != at) return absl::InternalError("model_runner wrote too little or too much");
  return outputs;
}

absl::StatusOr<std::vector<Arithmetic>> run_foreign_arithmetic(
    const target::Target& target, std::span<const std::pair<int64_t, int64_t>> pairs) {
  std::string input;
  for (const auto& [dividend, divisor] : pairs) {
    append_number(input, dividend);
    append_number(input, divisor);
  }
  TF_ASSIGN_OR_RETURN(const Session session, Session::make());
  TF_ASSIGN_OR_RETURN(const std::string output, session.run(target, Runner::kArithmetic, "", input));
  std::vector<Arithmetic> results(pairs.size());
  if (output.size() != results.size() * sizeof(Arithmetic))
    return absl::InternalError("arithmetic_runner wrote too little or too much");
  std::memcpy(results.data(), output.data(), output.size());
  return results;
}

}  // namespace tf::support
