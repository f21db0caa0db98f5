#pragma once
// Owns: a model library from tables and kernels in C, linked and loaded as built models are. Does not know: what its
// tables say.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "base/files/temporary_folder.h"

namespace tf::runtime {

struct LibraryOptions {
  std::string features = "";  // assembly of what the model needs of the CPU, before the end of the list
  std::string kernels = "model_kernels.c";  // in tests/support/kernels
};

// Linked as the compiler does: tables, weights, kernels and the runtime's archive, without libstdc++. The weights are
// the floats 0, 1, … 99.
class Library {
 public:
  explicit Library(const std::string& blob, const LibraryOptions& options = {}) {
    write("blob", blob);
    std::vector<float> weights(100);
    for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i);
    write("weights",
          std::string(reinterpret_cast<const char*>(weights.data()), weights.size() * sizeof(float)));
    write("tables.s",
          ".section .rodata\n.globl tf_model_blob, tf_model_weights\n.hidden tf_model_blob, "
          "tf_model_weights\n.globl tf_model_features\n.hidden tf_model_features\ntf_model_features: " +
              options.features +
              ".byte 0\n.balign 64\n"
              "tf_model_blob: .incbin \"" +
              folder() + "/blob\"\n.balign 64\ntf_model_weights: .incbin \"" + folder() +
              "/weights\"\n.section .note.GNU-stack,\"\",%progbits\n");
    const std::string path = folder() + "/model.so";
    const std::string command =
        std::string(TF_C_COMPILER) + " -shared -fPIC -O1 -nostdlib -I " TF_SOURCE_DIR " -o " + path +
        " " TF_SOURCE_DIR "/tests/support/kernels/" + options.kernels + " " + folder() +
        "/tables.s -Wl,--whole-archive " TF_RUNTIME_MODEL_ARCHIVE " -Wl,--no-whole-archive -Wl,-z,defs -lc";
    if (std::system(command.c_str()) != 0) return;
    handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle_) ADD_FAILURE() << dlerror();
  }
  ~Library() {
    if (handle_) dlclose(handle_);
  }
  explicit operator bool() const { return handle_ != nullptr; }

  template <typename F>
  F* get(const char* name) const {
    F* function = reinterpret_cast<F*>(dlsym(handle_, name));
    EXPECT_NE(function, nullptr) << name;
    return function;
  }
  const std::string& folder() const { return folder_.path(); }

 private:
  void write(const std::string& name, const std::string& bytes) {
    std::ofstream(folder() + "/" + name, std::ios::binary) << bytes;
  }

  const TemporaryFolder folder_ = *TemporaryFolder::make();
  void* handle_ = nullptr;
};
#define GET(library, function) (library).get<decltype(function)>(#function)

}  // namespace tf::runtime
