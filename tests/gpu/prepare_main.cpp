// Compiles what gpu_run runs on a machine that has a GPU and perhaps nothing else: small kernels with their right answers, and
// candidates of large ones.

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/files/file.h"
#include "base/status.h"
#include "compiler/backends/cuda/bulk_probes.h"
#include "compiler/backends/cuda/cuda_dialect.h"
#include "compiler/backends/cuda/group_probes.h"
#include "compiler/backends/cuda/matrix_probes.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/matmul.h"
#include "compiler/recipes/gpu/tensor_product.h"
#include "compiler/recipes/recipes.h"
#include "tests/gpu/kernel_code.h"
#include "tests/unit/compiler/backends/gpu/gpu_cases.h"

namespace {

using namespace tf;  // NOLINT: a program of tests
using tensor::Element;

class Folder {
 public:
  Folder(std::string path, std::string arch) : path_(std::move(path)), arch_(std::move(arch)) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }

  std::string keep(const std::string& content) {
    const std::string name = absl::StrCat("f", files_++);
    TF_CHECK(write_file(path_ + "/" + name, content).ok());
    return name;
  }

  // The lines of a kernel: its code and launches.
  void add(const std::string& kind, const std::string& name, const gpu_test::KernelCode& kernel,
           const std::vector<std::string>& ports, const std::string& more = "") {
    absl::StrAppend(&text_, "case ", kind, " ", name, "\ncode ", keep(kernel.code.cubin), "\nworkspace ",
                    kernel.source.workspace_bytes, "\n");
    for (const std::string& port : ports) absl::StrAppend(&text_, "port ", port, "\n");
    const std::vector<backends::test::LaunchNumbers> launches = backends::test::numbers_of(kernel.source);
    for (size_t l = 0; l < launches.size(); ++l) {
      const auto& launch = launches[l];
      absl::StrAppend(&text_, "launch ", launch.entry, " ", absl::StrJoin(launch.grid, " "), " ",
                      absl::StrJoin(launch.block, " "), " ", launch.shared_bytes, "\n");
      for (const backends::TensorMap& map : kernel.source.launches[l].tensor_maps) {
        absl::StrAppend(&text_, "map ", map.buffer, " ", map.element_bytes, " ", map.extents.size());
        for (size_t axis = 0; axis < map.extents.size(); ++axis)
          absl::StrAppend(&text_, " ", map.extents[axis], " ", map.box[axis]);
        absl::StrAppend(&text_, "\n");
      }
    }
    absl::StrAppend(&text_, more, "end\n");
  }

  void finish() { TF_CHECK(write_file(path_ + "/cases", absl::StrCat("arch ", arch_, "\n", text_)).ok()); }

 private:
  const std::string path_, arch_;
  std::string text_;
  int files_ = 0;
};

std::string type_name(Element element) {
  return std::string(tensor::element_name(element));
}

std::vector<tensor::Expr> extents(std::initializer_list<int64_t> values) {
  std::vector<tensor::Expr> made;
  for (const int64_t value : values) made.push_back(tensor::imm(value));
  return made;
}

tensor::Workload product(Element element, int64_t m, int64_t n, int64_t k) {
  ops::Builder b;
  const tensor::Buffer x = b.input("x", element, extents({m, k})), y = b.input("y", element, extents({k, n}));
  return *b.finish({ops::matmul(b, x, y)});
}

// --- Small ones, with what the interpreter makes of them.

absl::StatusOr<gpu_test::KernelCode> compile_function(const ir::Function& function,
                                                      const target::Target& target) {
  gpu_test::KernelCode made;
  TF_ASSIGN_OR_RETURN(made.source, backends::gpu_source(function, target, backends::cuda_dialect()));
  TF_ASSIGN_OR_RETURN(made.code, backends::compile_cuda(made.source.text, target));
  made.function = function;
  return made;
}

std::string bytes_text(const backends::test::Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void add_checked(Folder& folder, const std::string& name, const ir::Function& function,
                 const target::Target& target) {
  const absl::StatusOr<gpu_test::KernelCode> kernel = compile_function(function, target);
  if (!kernel.ok()) {
    std::fprintf(stderr, "prepare: %s: %s\n", name.c_str(), std::string(kernel.status().message()).c_str());
    return;
  }
  backends::test::Buffers before = backends::test::random_buffers(function), after = before;
  backends::test::interpret(function, after);
  std::vector<std::string> ports;
  for (size_t p = 0; p < before.size(); ++p)
    ports.push_back(absl::StrCat("file ", type_name(function.params[p]->element), " ", before[p].size(), " ",
                                 folder.keep(bytes_text(before[p])), " ", folder.keep(bytes_text(after[p]))));
  std::string word = name;
  for (char& c : word)
    if (c == ' ' || c == ',') c = '_';
  folder.add("check", word, *kernel, ports);
}

std::string bytes_of(Element element, const std::vector<double>& values) {
  std::string bytes;
  const auto append = [&](auto value) { bytes.append(reinterpret_cast<const char*>(&value), sizeof value); };
  for (const double value : values) {
    if (element == Element::kFloat64)
      append(value);
    else if (element == Element::kInt32)
      append(static_cast<int32_t>(value));
    else
      append(static_cast<float>(value));
  }
  return bytes;
}

// Nothing, and a line that says why, of a probe that does not compile.
std::optional<gpu_test::KernelCode> compiled(const std::string& name, const std::string& source,
                                             const target::Target& target) {
  absl::StatusOr<backends::CudaCode> code = backends::compile_cuda(source, target);
  if (!code.ok()) {
    std::fprintf(stderr, "prepare: %s: %s\n", name.c_str(), std::string(code.status().message()).c_str());
    return std::nullopt;
  }
  gpu_test::KernelCode kernel;
  kernel.code = *std::move(code);
  return kernel;
}

// What each matrix instruction does with each element that each lane holds.
void add_matrix_probes(Folder& folder, const target::Target& target) {
  std::vector<backends::MatrixProbe> probes = backends::matrix_probes(target);
  for (backends::MatrixProbe& probe : backends::group_probes(target)) probes.push_back(std::move(probe));
  for (const backends::MatrixProbe& probe : probes) {
    std::optional<gpu_test::KernelCode> kernel = compiled(probe.name, probe.source, target);
    if (!kernel) continue;
    kernel->source.launches.push_back({.entry = probe.entry,
                                       .grid = {"1", "1", "1"},
                                       .block = {absl::StrCat(probe.threads), "1", "1"},
                                       .shared_bytes = "0"});
    const std::string after = bytes_of(probe.element, probe.expected);
    folder.add("check", probe.entry, *kernel,
               {absl::StrCat("file ", type_name(probe.element), " ", after.size(), " ",
                             folder.keep(std::string(after.size(), '\xff')), " ", folder.keep(after))});
  }
}

// Where the copy engine puts what, and what of it is zeros.
void add_bulk_probes(Folder& folder, const target::Target& target) {
  for (const backends::BulkProbe& probe : backends::bulk_probes(target)) {
    std::optional<gpu_test::KernelCode> kernel = compiled(probe.name, probe.source, target);
    if (!kernel) continue;
    kernel->source.launches.push_back(probe.launch);
    const std::string input = folder.keep(probe.before);
    folder.add(
        "check", probe.entry, *kernel,
        {absl::StrCat("file u8 ", probe.before.size(), " ", input, " ", input),
         absl::StrCat("file u8 ", probe.after.size(), " ",
                      folder.keep(std::string(probe.after.size(), '\xff')), " ", folder.keep(probe.after))});
  }
}

// A product by each matrix instruction that the recipe finds for the architecture.
void add_matrix_instructions(Folder& folder, const target::Target& target) {
  for (const Element element : {Element::kFloat16, Element::kBFloat16}) {
    const tensor::Workload workload = product(element, 64, 64, 64);
    const tensor::KernelSpec spec{.workload = workload, .target = target};
    std::vector<recipes::Sketch> sketches = recipes::tensor_product_on_gpu(spec);
    // Again, fed by the copy engine.
    for (recipes::Sketch& sketch : recipes::tensor_product_on_gpu(
             spec,
             {.warps_m = 1, .warps_n = 1, .tiles_m = 1, .tiles_n = 1, .steps = 4, .stages = 4, .bulk = 1}))
      if (sketch.family.find("wgmma") != std::string::npos) sketches.push_back(std::move(sketch));
    for (const recipes::Sketch& sketch : sketches) {
      const auto lowered = passes::lower(workload, recipes::instantiate(sketch, sketch.default_point()), {},
                                         {.name = "product", .pipeline = passes::gpu_pipeline()});
      if (lowered.ok())
        add_checked(folder, absl::StrCat("matrix ", type_name(element)), lowered->function, target);
    }
  }
}

// --- Large ones, candidates of which gpu_run finds the best.

void add_candidates(Folder& folder, const std::string& kind, const std::string& name,
                    const tensor::KernelSpec& spec, int wanted, const std::vector<std::string>& ports,
                    const std::string& more) {
  std::mt19937 random(7);
  std::set<std::string> seen;
  int made = 0, refused = 0;
  const std::vector<recipes::Sketch> sketches = recipes::sketches_of(spec);
  for (int draw = 0; made < wanted && draw < 40 * wanted; ++draw) {
    // The first is best by estimate.
    const recipes::Sketch& sketch = sketches[sketches.size() > 1 && draw % 6 == 5 ? 1 : 0];
    recipes::Point point = sketch.default_point();
    if (draw > 0 && draw != 5)
      for (size_t p = 0; p < point.size(); ++p)
        point[p] = static_cast<uint32_t>(random() % sketch.parameters[p].choices.size());
    if (!seen.insert(absl::StrCat(sketch.family, recipes::to_string(point))).second) continue;
    const auto kernel = gpu_test::compile_kernel(spec, recipes::instantiate(sketch, point), "kernel");
    const bool spills = kernel.ok() && std::ranges::any_of(kernel->code.resources,
                                                           [](const auto& r) { return r.second.spills(); });
    if (!kernel.ok() || spills) {
      ++refused;
      continue;
    }
    std::string family = sketch.family;
    for (char& c : family)
      if (c == ' ') c = '_';
    folder.add(kind, absl::StrCat(name, " ", family, ":", recipes::to_string(point)), *kernel, ports, more);
    ++made;
  }
  std::printf("prepare: %s: %d candidates, %d refused\n", name.c_str(), made, refused);
}

void add_product(Folder& folder, Element element, int64_t size, const target::Target& target, int wanted) {
  const std::string type = type_name(element);
  const int64_t bytes = size * size * tensor::element_bytes(element);
  add_candidates(folder, "gemm", absl::StrCat("gemm_", type, "_", size),
                 {.workload = product(element, size, size, size), .target = target}, wanted,
                 {absl::StrCat("random ", type, " ", bytes, " 1"),
                  absl::StrCat("random ", type, " ", bytes, " 2"), absl::StrCat("output ", type, " ", bytes)},
                 absl::StrCat("gemm ", type, " ", size, " ", size, " ", size, "\n"));
}

void add_bandwidth(Folder& folder, const target::Target& target, int64_t rows, int64_t columns, int wanted) {
  const int64_t bytes = rows * columns * 4;
  {
    ops::Builder b;
    const tensor::Buffer x = b.input("x", Element::kFloat32, extents({rows, columns}));
    add_candidates(folder, "bandwidth", "copy", {.workload = *b.finish({ops::relu(b, x)}), .target = target},
                   wanted, {absl::StrCat("random f32 ", bytes, " 1"), absl::StrCat("output f32 ", bytes)},
                   absl::StrCat("bytes ", 2 * bytes, "\n"));
  }
  ops::Builder b;
  const tensor::Buffer x = b.input("x", Element::kFloat32, extents({rows, columns}));
  const tensor::Buffer sums = b.reduce("sums", Element::kFloat32, extents({rows}), extents({columns}),
                                       tensor::Combiner::kSum, [&](ops::Indices i, ops::Indices r) {
                                         return tensor::load(x, {i[0], r[0]});
                                       });
  add_candidates(folder, "bandwidth", "row_sums", {.workload = *b.finish({sums}), .target = target}, wanted,
                 {absl::StrCat("random f32 ", bytes, " 1"), absl::StrCat("output f32 ", rows * 4)},
                 absl::StrCat("bytes ", bytes + rows * 4, "\n"));
}

}  // namespace

int main(int argc, char** argv) {
  std::string folder_path, arch = "sm_90a";
  bool quick = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--quick") == 0) quick = true;
    if (i + 1 < argc && std::strcmp(argv[i], "--arch") == 0) arch = argv[++i];
    if (i + 1 < argc && std::strcmp(argv[i], "--output") == 0) folder_path = argv[++i];
  }
  const absl::StatusOr<target::Target> target = target::parse_target("cuda:arch=" + arch);
  if (folder_path.empty() || !target.ok()) {
    std::fprintf(stderr, "usage: gpu_prepare --output FOLDER [--arch sm_90a] [--quick]\n");
    return 2;
  }
  if (const absl::Status found = backends::find_nvrtc(); !found.ok()) {
    std::fprintf(stderr, "gpu_prepare: %s\n", std::string(found.message()).c_str());
    return 77;
  }
  Folder folder(folder_path, arch);
  if (!quick) add_matrix_probes(folder, *target);
  add_bulk_probes(folder, *target);
  std::vector<backends::test::Case> cases = backends::test::cases();
  for (size_t i = 0; i < cases.size(); ++i)
    if (!quick || i % 8 == 0) add_checked(folder, cases[i].name, cases[i].function, *target);
  if (!quick) add_matrix_instructions(folder, *target);
  add_bandwidth(folder, *target, quick ? 64 : 16384, quick ? 256 : 8192, quick ? 1 : 6);
  add_product(folder, Element::kFloat32, quick ? 64 : 4096, *target, quick ? 2 : 24);
  if (!quick)
    for (const int64_t size : {4096, 8192}) add_product(folder, Element::kBFloat16, size, *target, 24);
  folder.finish();
  return 0;
}
