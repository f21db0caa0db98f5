#include "tests/support/fake_cuda/use_fake_cuda.h"

#include <dlfcn.h>

#include <cstdlib>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace tf::test {

// A loader reads LD_LIBRARY_PATH when its process begins: here the libraries are opened by their paths, and then are found by their
// names, because they are there already.
void use_fake_cuda() {
  const char* before = std::getenv("LD_LIBRARY_PATH");
  setenv("LD_LIBRARY_PATH",
         before == nullptr ? TF_FAKE_CUDA : absl::StrCat(TF_FAKE_CUDA, ":", before).c_str(), 1);
  for (const char* library : {"/libcuda.so.1", "/libnvrtc.so"})
    dlopen(absl::StrCat(TF_FAKE_CUDA, library).c_str(), RTLD_NOW | RTLD_GLOBAL);
}

std::string fake_cuda_folder() {
  return TF_FAKE_CUDA;
}

void tell_fake_cuda(const std::string& variable, const std::string& value) {
  const char* before = std::getenv("LD_LIBRARY_PATH");
  std::vector<std::string> entries = absl::StrSplit(before == nullptr ? "" : before, ':', absl::SkipEmpty());
  std::erase_if(entries, [&](const std::string& entry) { return entry.starts_with(variable + "="); });
  if (!value.empty()) entries.push_back(absl::StrCat(variable, "=", value));
  setenv("LD_LIBRARY_PATH", absl::StrJoin(entries, ":").c_str(), 1);
}

absl::StatusOr<std::string> fake_cubin(const std::string& source) {
  void* library = dlopen(TF_FAKE_CUDA "/libnvrtc.so", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return absl::InternalError(dlerror());
  const auto find = [&]<typename F>(const char* name, F*) {
    return reinterpret_cast<F*>(dlsym(library, name));
  };
  using Create = int(void**, const char*, const char*, int, const char* const*, const char* const*);
  using Compile = int(void*, int, const char* const*);
  using Size = int(void*, size_t*);
  using Copy = int(void*, char*);
  void* program = nullptr;
  find("nvrtcCreateProgram", static_cast<Create*>(nullptr))(&program, source.c_str(), "", 0, nullptr,
                                                            nullptr);
  const char* options[] = {"--gpu-architecture=sm_90"};
  const int code = find("nvrtcCompileProgram", static_cast<Compile*>(nullptr))(program, 1, options);
  const std::string what = code == 0 ? "CUBIN" : "ProgramLog";
  size_t size = 0;
  find(absl::StrCat("nvrtcGet", what, "Size").c_str(), static_cast<Size*>(nullptr))(program, &size);
  std::string text(size, '\0');
  find(absl::StrCat("nvrtcGet", what).c_str(), static_cast<Copy*>(nullptr))(program, text.data());
  find("nvrtcDestroyProgram", static_cast<int (*)(void**)>(nullptr))(&program);
  if (code != 0) return absl::InternalError(text);
  return text;
}

}  // namespace tf::test
