#pragma once
// CUDA C as C++ for the host, with a thread for each thread of a block: compiled, loaded, and compared with the interpreter.

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "base/files/file.h"
#include "tests/unit/compiler/backends/gpu/gpu_cases.h"

namespace tf::backends::test {

struct Host {
  Case kernel;
  GpuSource source;
};

inline std::string host_program(const std::vector<Host>& all, const std::string& prelude) {
  std::string text =
      "#include \"" TF_SOURCE_DIR "/tests/unit/compiler/backends/gpu/cuda_on_host.h\"\n" + prelude;
  for (size_t i = 0; i < all.size(); ++i) {
    absl::StrAppend(&text, "namespace n", i, " {\nalignas(16) unsigned char shared_memory[1 << 16];\n",
                    all[i].source.text, "}\n");
    for (const Launch& launch : all[i].source.launches)
      absl::StrAppend(&text, "extern \"C\" void launch_", launch.entry,
                      "(void** b, const long long* grid, const long long* block) { tf_launch(n", i,
                      "::", launch.entry, ", b, grid, block); }\n");
  }
  return text;
}

inline void run_on_host(void* library, const GpuSource& source, Buffers& buffers) {
  alignas(256) static unsigned char workspace[1 << 16];
  ASSERT_LE(source.workspace_bytes, static_cast<int64_t>(sizeof workspace));
  std::vector<void*> pointers;
  for (Bytes& buffer : buffers) pointers.push_back(buffer.data());
  pointers.push_back(workspace);
  for (const LaunchNumbers& launch : numbers_of(source)) {
    using Start = void (*)(void**, const long long*, const long long*);
    const auto start = reinterpret_cast<Start>(dlsym(library, absl::StrCat("launch_", launch.entry).c_str()));
    ASSERT_NE(start, nullptr);
    start(pointers.data(), launch.grid, launch.block);
  }
}

// `prelude` stands before the kernels.
inline void expect_host_agrees(const std::vector<Host>& all, const std::string& prelude) {
  static int count = 0;  // the loader takes one name for one library
  const std::string base = absl::StrCat(::testing::TempDir(), "/cuda_on_host_", getpid(), "_", count++);
  ASSERT_TRUE(write_file(base + ".cpp", host_program(all, prelude)).ok());
  const std::string command =
      TF_CXX_COMPILER " -std=c++20 -O0 -w -shared -fPIC -pthread -o " + base + ".so " + base + ".cpp";
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  void* library = dlopen((base + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  for (const Host& each : all) {
    SCOPED_TRACE(each.kernel.name + "\n" + each.source.text);
    Buffers want = random_buffers(each.kernel.function), got = want;
    ASSERT_NO_FATAL_FAILURE(interpret(each.kernel.function, want));
    ASSERT_NO_FATAL_FAILURE(run_on_host(library, each.source, got));
    ASSERT_NO_FATAL_FAILURE(expect_equal(each.kernel.function, got, want));
  }
  dlclose(library);
  unlink((base + ".cpp").c_str());
  unlink((base + ".so").c_str());
}

}  // namespace tf::backends::test
