#pragma once
// CUDA C as C++ for the host, with a thread for each thread of a block: compiled, loaded, and compared with the interpreter.

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/files/file.h"
#include "tests/support/fake_cuda/bulk_copies.h"
#include "tests/unit/compiler/backends/gpu/gpu_cases.h"

namespace tf::backends::test {

struct Host {
  Case kernel;
  GpuSource source;
};

inline std::string host_program(const std::vector<Host>& all, const std::string& prelude) {
  std::string text = prelude;
  for (size_t i = 0; i < all.size(); ++i) {
    absl::StrAppend(&text, "namespace n", i, " {\nalignas(1 << 18) unsigned char shared_memory[1 << 18];\n",
                    all[i].source.text, "}\n");
    for (const Launch& launch : all[i].source.launches)
      absl::StrAppend(&text, "extern \"C\" void launch_", launch.entry,
                      "(void** b, const long long* grid, const long long* block) { tf_launch(n", i,
                      "::", launch.entry, ", b, grid, block); }\n");
  }
  return text;
}

// The program's text, compiled and loaded; null after a test failure.
inline void* host_library(const std::string& text) {
  static int count = 0;  // the loader takes one name for one library
  const std::string base = absl::StrCat(::testing::TempDir(), "/cuda_on_host_", getpid(), "_", count++);
  const std::string head = "#include \"" TF_SOURCE_DIR "/tests/unit/compiler/backends/gpu/cuda_on_host.h\"\n";
  EXPECT_TRUE(write_file(base + ".cpp", head + text).ok());
  const std::string command =
      TF_CXX_COMPILER " -std=c++20 -O0 -w -shared -fPIC -pthread -o " + base + ".so " + base + ".cpp";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  void* library = dlopen((base + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << dlerror();
  unlink((base + ".cpp").c_str());
  unlink((base + ".so").c_str());
  return library;
}

inline void start_on_host(void* library, const std::string& entry, std::vector<void*> pointers,
                          const std::array<long long, 3>& grid, const std::array<long long, 3>& block) {
  using Start = void (*)(void**, const long long*, const long long*);
  const auto start = reinterpret_cast<Start>(dlsym(library, absl::StrCat("launch_", entry).c_str()));
  ASSERT_NE(start, nullptr) << entry;
  start(pointers.data(), grid.data(), block.data());
}

inline tf_tensor_map host_map(const TensorMap& map, const void* buffer) {
  tf_tensor_map made{.address = reinterpret_cast<uintptr_t>(buffer),
                     .rank = static_cast<uint32_t>(map.extents.size()),
                     .element_bytes = map.element_bytes,
                     .swizzle_bytes = 128};
  uint64_t stride = map.element_bytes;
  for (uint32_t i = 0; i < made.rank; ++i) {
    const size_t axis = made.rank - 1 - i;
    made.extents[i] = static_cast<uint32_t>(map.extents[axis]);
    made.box[i] = static_cast<uint32_t>(map.box[axis]);
    stride *= made.extents[i];
    if (i + 1 < made.rank) made.strides_bytes[i] = stride;
  }
  return made;
}

inline void run_on_host(void* library, const GpuSource& source, Buffers& buffers) {
  alignas(256) static unsigned char workspace[1 << 16];
  ASSERT_LE(source.workspace_bytes, static_cast<int64_t>(sizeof workspace));
  std::vector<void*> pointers;
  for (Bytes& buffer : buffers) pointers.push_back(buffer.data());
  if (source.workspace_bytes > 0) pointers.push_back(workspace);
  const std::vector<LaunchNumbers> launches = numbers_of(source);
  for (size_t l = 0; l < launches.size(); ++l) {
    const LaunchNumbers& launch = launches[l];
    std::vector<tf_tensor_map> maps;
    for (const TensorMap& map : source.launches[l].tensor_maps)
      maps.push_back(host_map(map, pointers[map.buffer]));
    std::vector<void*> all = pointers;
    for (tf_tensor_map& map : maps) all.push_back(&map);
    ASSERT_NO_FATAL_FAILURE(start_on_host(library, launch.entry, all,
                                          {launch.grid[0], launch.grid[1], launch.grid[2]},
                                          {launch.block[0], launch.block[1], launch.block[2]}));
  }
}

// `prelude` stands before the kernels.
inline void expect_host_agrees(const std::vector<Host>& all, const std::string& prelude) {
  void* library = host_library(host_program(all, prelude));
  ASSERT_NE(library, nullptr);
  for (const Host& each : all) {
    SCOPED_TRACE(each.kernel.name + "\n" + each.source.text);
    Buffers want = random_buffers(each.kernel.function), got = want;
    ASSERT_NO_FATAL_FAILURE(interpret(each.kernel.function, want));
    ASSERT_NO_FATAL_FAILURE(run_on_host(library, each.source, got));
    ASSERT_NO_FATAL_FAILURE(expect_equal(each.kernel.function, got, want));
  }
  dlclose(library);
}

}  // namespace tf::backends::test
