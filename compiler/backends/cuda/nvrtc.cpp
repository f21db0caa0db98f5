#include "compiler/backends/cuda/nvrtc.h"

#include <dlfcn.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/status.h"
#include "compiler/backends/cuda/ptxas_log.h"

namespace tf::backends {
namespace {

// Of nvrtc.h; this part has not changed since CUDA 11.1.
using Program = void*;
constexpr int kSuccess = 0;
struct Api {
  int (*create)(Program*, const char* source, const char* name, int headers, const char* const* header_texts,
                const char* const* header_names) = nullptr;
  int (*compile)(Program, int options, const char* const* option_texts) = nullptr;
  int (*log_size)(Program, size_t*) = nullptr;
  int (*log)(Program, char*) = nullptr;
  int (*cubin_size)(Program, size_t*) = nullptr;
  int (*cubin)(Program, char*) = nullptr;
  int (*ptx_size)(Program, size_t*) = nullptr;
  int (*ptx)(Program, char*) = nullptr;
  int (*destroy)(Program*) = nullptr;
  int (*count_archs)(int*) = nullptr;
  int (*archs)(int*) = nullptr;
};

void* open_library() {
  for (const char* folder : {"", "/usr/local/cuda/lib64/", "/usr/local/cuda/targets/x86_64-linux/lib/",
                             "/usr/local/cuda/targets/sbsa-linux/lib/"}) {
    for (const char* name : {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"}) {
      if (void* library = dlopen(absl::StrCat(folder, name).c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    }
  }
  return nullptr;
}

template <typename F>
bool find(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  return function != nullptr;
}

absl::StatusOr<Api> open_api() {
  void* library = open_library();
  Api api;
  if (library != nullptr && find(library, "nvrtcCreateProgram", api.create) &&
      find(library, "nvrtcCompileProgram", api.compile) &&
      find(library, "nvrtcGetProgramLogSize", api.log_size) && find(library, "nvrtcGetProgramLog", api.log) &&
      find(library, "nvrtcGetCUBINSize", api.cubin_size) && find(library, "nvrtcGetCUBIN", api.cubin) &&
      find(library, "nvrtcGetPTXSize", api.ptx_size) && find(library, "nvrtcGetPTX", api.ptx) &&
      find(library, "nvrtcDestroyProgram", api.destroy) &&
      find(library, "nvrtcGetNumSupportedArchs", api.count_archs) &&
      find(library, "nvrtcGetSupportedArchs", api.archs))
    return api;
  return absl::NotFoundError("kernels for cuda targets need libnvrtc of CUDA 11.2 or later: install it");
}

const absl::StatusOr<Api>& the_api() {
  static const absl::StatusOr<Api> api = open_api();
  return api;
}

class Source {
 public:
  Source(const Api& api, const std::string& text) : api_(api) {
    if (api_.create(&program_, text.c_str(), "kernel.cu", 0, nullptr, nullptr) != kSuccess)
      program_ = nullptr;
  }
  ~Source() {
    if (program_ != nullptr) api_.destroy(&program_);
  }

  absl::StatusOr<CudaCode> compile(const std::vector<std::string>& options) {
    if (program_ == nullptr) return absl::InternalError("nvrtc: cannot make a program");
    std::vector<const char*> texts;
    for (const std::string& option : options) texts.push_back(option.c_str());
    const int code = api_.compile(program_, static_cast<int>(texts.size()), texts.data());
    if (code != kSuccess)
      return absl::InternalError(
          absl::StrCat("nvrtc: error ", code, ": ", absl::StrReplaceAll(log(), {{"\n", "; "}})));
    CudaCode made{.cubin = text_of(api_.cubin_size, api_.cubin),
                  .ptx = text_of(api_.ptx_size, api_.ptx),
                  .resources = read_ptxas_log(log()),
                  .serializes_matrices = log().find("instructions are serialized") != std::string::npos};
    if (made.cubin.empty())
      return absl::InternalError("NVRTC compiled the source but produced no machine code");
    while (!made.ptx.empty() && made.ptx.back() == '\0') made.ptx.pop_back();
    return made;
  }

 private:
  // Empty: it has none.
  std::string text_of(int (*size_of)(Program, size_t*), int (*copy)(Program, char*)) const {
    size_t size = 0;
    if (size_of(program_, &size) != kSuccess) return "";
    std::string text(size, '\0');
    return copy(program_, text.data()) == kSuccess ? text : "";
  }

  std::string log() const {
    const std::string text = text_of(api_.log_size, api_.log);
    return text.size() < 2 ? "no log" : text.substr(0, text.size() - 1);
  }

  const Api& api_;
  Program program_ = nullptr;
};

// "sm_90" among what this NVRTC compiles for. It lists numbers only: each comes with its suffixes.
absl::Status check_arch(const Api& api, const target::Target& target) {
  int count = 0;
  if (api.count_archs(&count) != kSuccess) return absl::InternalError("nvrtc: cannot list architectures");
  std::vector<int> archs(static_cast<size_t>(count));
  if (api.archs(archs.data()) != kSuccess) return absl::InternalError("nvrtc: cannot list architectures");
  std::string known, number = target.cpu;
  if (number.ends_with('a') || number.ends_with('f')) number.pop_back();
  for (const int arch : archs) {
    const std::string name = absl::StrCat("sm_", arch);
    if (name == number) return absl::OkStatus();
    absl::StrAppend(&known, known.empty() ? "" : ", ", name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("this NVRTC does not compile for ", target.text(), "; it supports ", known));
}

}  // namespace

absl::Status find_nvrtc() {
  return the_api().status();
}

absl::StatusOr<CudaCode> compile_cuda(const std::string& source, const target::Target& target) {
  TF_RETURN_IF_ERROR(the_api().status());
  const Api& api = *the_api();
  TF_RETURN_IF_ERROR(check_arch(api, target));
  // As in the IR: denormals stay, quotients and roots are rounded, a product may be contracted with a sum.
  return Source(api, source)
      .compile({"--gpu-architecture=" + target.cpu, "--std=c++17", "--ftz=false", "--prec-div=true",
                "--prec-sqrt=true", "--fmad=true", "--ptxas-options=-v"});
}

}  // namespace tf::backends
