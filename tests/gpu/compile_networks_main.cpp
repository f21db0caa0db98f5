// Compiles the default schedule of every kernel of networks for CUDA architectures, without a GPU, and says what spills.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/files/file.h"
#include "base/files/temporary_folder.h"
#include "base/status.h"
#include "compiler/frontends/network_request.h"
#include "compiler/frontends/zoo/zoo.h"
#include "compiler/graph/dynamic/plan_network.h"
#include "compiler/graph/layouts/layout_choice.h"
#include "compiler/graph/program/program.h"
#include "compiler/recipes/recipes.h"
#include "tests/gpu/kernel_code.h"

namespace {

using namespace tf;  // NOLINT: a program of tests

absl::StatusOr<graph::Network> load(const std::string& network, bool halves, int64_t batch) {
  TF_ASSIGN_OR_RETURN(const TemporaryFolder folder, TemporaryFolder::make());
  const std::string path = folder.file("network.onnx");
  TF_ASSIGN_OR_RETURN(const std::string model, zoo::model(network, {.batch = batch, .halves = halves}));
  TF_RETURN_IF_ERROR(write_file(path, model));
  return frontends::import_network(path, {});
}

struct Total {
  int kernels = 0, launches = 0, failed = 0, spilling = 0;
  uint32_t most_registers = 0, most_spill_bytes = 0;
  double lower_ms = 0, compile_ms = 0;
  std::vector<std::string> notes;
};

void add_kernel(const graph::Task& task, const target::Target& target, Total& total) {
  const auto compiled = [&]() -> absl::StatusOr<gpu_test::KernelCode> {
    TF_ASSIGN_OR_RETURN(const tensor::Workload workload,
                        tensor::bind(task.kernel.workload, task.kernel.binding));
    const tensor::KernelSpec kernel{.workload = workload, .ports = task.kernel.ports, .target = target};
    return gpu_test::compile_kernel(kernel, recipes::default_schedule(kernel), "kernel");
  }();
  ++total.kernels;
  if (!compiled.ok()) {
    ++total.failed;
    total.notes.push_back(
        absl::StrCat(task.label, ": ", std::string(compiled.status().message()).substr(0, 300)));
    return;
  }
  total.lower_ms += compiled->lower_ms;
  total.compile_ms += compiled->compile_ms;
  if (compiled->code.serializes_matrices)
    total.notes.push_back(absl::StrCat(task.label, ": matrix instructions wait for each other"));
  for (const auto& [name, resources] : compiled->code.resources) {
    ++total.launches;
    total.most_registers = std::max(total.most_registers, resources.registers_per_thread);
    total.most_spill_bytes = std::max(total.most_spill_bytes, resources.spill_bytes);
    if (resources.spill_bytes == 0) continue;
    ++total.spilling;
    total.notes.push_back(absl::StrCat(task.label, ": ", name, " spills ", resources.spill_bytes,
                                       " bytes with ", resources.registers_per_thread, " registers"));
  }
}

std::vector<std::string> list_of(const char* text) {
  return absl::StrSplit(text, ',');
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> networks = {"resnet50", "bert_base"},
                           archs = {"sm_75", "sm_87", "sm_90a", "sm_120a"}, types = {"f32", "f16"};
  std::string json_path;
  int64_t batch = 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--networks") == 0) networks = list_of(argv[i + 1]);
    if (std::strcmp(argv[i], "--archs") == 0) archs = list_of(argv[i + 1]);
    if (std::strcmp(argv[i], "--types") == 0) types = list_of(argv[i + 1]);
    if (std::strcmp(argv[i], "--batch") == 0) batch = std::max(1, std::atoi(argv[i + 1]));
    if (std::strcmp(argv[i], "--json") == 0) json_path = argv[i + 1];
  }
  if (argc % 2 == 0) {
    std::fprintf(stderr,
                 "usage: compile_networks [--networks resnet50,…] [--archs sm_90a,…] [--types f32,f16] "
                 "[--batch N] [--json FILE]\n");
    return 2;
  }
  if (const absl::Status found = backends::find_nvrtc(); !found.ok()) {
    std::fprintf(stderr, "compile_networks: %s\n", std::string(found.message()).c_str());
    return 77;
  }
  std::printf("%-14s %-5s %-8s %7s %8s %6s %6s %9s %9s %8s\n", "network", "type", "arch", "kernels",
              "launches", "failed", "spill", "registers", "lower ms", "nvrtc ms");
  nlohmann::json rows = nlohmann::json::array();
  bool good = true;
  for (const std::string& network : networks) {
    for (const std::string& type : types) {
      const absl::StatusOr<graph::Network> loaded = load(network, type == "f16", batch);
      if (!loaded.ok()) {
        std::fprintf(stderr, "compile_networks: %s: %s\n", network.c_str(),
                     loaded.status().ToString().c_str());
        return 1;
      }
      for (const std::string& arch : archs) {
        const absl::StatusOr<target::Target> target = target::parse_target("cuda:arch=" + arch);
        if (!target.ok()) {
          std::fprintf(stderr, "compile_networks: %s\n", std::string(target.status().message()).c_str());
          return 2;
        }
        const absl::StatusOr<graph::Program> program =
            graph::plan_network(*loaded, graph::layout_options(*target));
        if (!program.ok()) {
          std::fprintf(stderr, "compile_networks: %s: %s\n", network.c_str(),
                       program.status().ToString().c_str());
          return 1;
        }
        Total total;
        for (const graph::Task& task : program->tasks) add_kernel(task, *target, total);
        std::printf("%-14s %-5s %-8s %7d %8d %6d %6d %9u %9.0f %8.0f\n", network.c_str(), type.c_str(),
                    arch.c_str(), total.kernels, total.launches, total.failed, total.spilling,
                    total.most_registers, total.lower_ms, total.compile_ms);
        for (const std::string& note : total.notes) std::printf("  %s\n", note.c_str());
        std::fflush(stdout);
        rows.push_back({{"network", network},
                        {"type", type},
                        {"arch", arch},
                        {"kernels", total.kernels},
                        {"launches", total.launches},
                        {"failed", total.failed},
                        {"spilling", total.spilling},
                        {"most_registers", total.most_registers},
                        {"most_spill_bytes", total.most_spill_bytes},
                        {"nvrtc_ms", total.compile_ms},
                        {"notes", total.notes}});
        good = good && total.failed == 0 && total.spilling == 0;
      }
    }
  }
  if (!json_path.empty()) {
    const absl::Status written = write_file(json_path, rows.dump(1) + "\n");
    if (!written.ok()) std::fprintf(stderr, "compile_networks: %s\n", std::string(written.message()).c_str());
  }
  return good ? 0 : 1;
}
