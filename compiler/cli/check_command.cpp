// compiler check: ONNX backend tests, one folder each: model.onnx and test_data_set_*/{input,output}_*.pb.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/cli/command_line.h"
#include "base/cli/exit_code.h"
#include "base/files/temporary_folder.h"
#include "base/status.h"
#include "base/text/json_text.h"
#include "compiler/cli/commands.h"
#include "compiler/driver/build_model.h"
#include "compiler/driver/build_pool.h"
#include "compiler/driver/loaded_model.h"
#include "compiler/frontends/frontends.h"
#include "compiler/frontends/network.h"
#include "compiler/frontends/onnx/backend_test.h"
#include "compiler/graph/element_values.h"
#include "compiler/graph/found.h"
#include "compiler/graph/passes/optimize.h"
#include "compiler/graph/program/evaluate.h"
#include "compiler/runtime/cpu_limit.h"

namespace tf::compiler_cli {
namespace {

using driver::LoadedModel;

namespace fs = std::filesystem;
using graph::HostTensor;

struct CheckArguments {
  std::vector<std::string> folders;
  double tolerance = 1e-4;
  std::string allow, target = "host";
  schedule::Numerics allowed;
  int threads = 1;
  bool interpret = false, json = false;
};

// Floats: max |a - b| <= tolerance * max |b|, and NaN and infinities in the same places.
absl::Status compare_floats(const HostTensor& got, const HostTensor& want, double tolerance) {
  const std::vector<double> a = graph::read_floats(got.element, got.data->bytes());
  const std::vector<double> b = graph::read_floats(want.element, want.data->bytes());
  double scale = 0, worst = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isfinite(b[i])) scale = std::max(scale, std::fabs(b[i]));
    const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
    if (!same) worst = std::max(worst, std::isfinite(a[i] - b[i]) ? std::fabs(a[i] - b[i]) : INFINITY);
  }
  if (worst <= tolerance * scale) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("output '", got.name, "' differs by ", worst, ", of ", scale, " at most"));
}

// Whole numbers and bool: equal, whatever the tolerance.
absl::Status compare_integers(const HostTensor& got, const HostTensor& want) {
  const std::vector<int64_t> a = graph::read_integers(got.element, got.data->bytes());
  const std::vector<int64_t> b = graph::read_integers(want.element, want.data->bytes());
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    const bool is_widest = got.element == tensor::Element::kUInt64;
    auto text = [&](int64_t v) {
      return is_widest ? absl::StrCat(static_cast<uint64_t>(v)) : absl::StrCat(v);
    };
    return absl::InternalError(absl::StrCat("output '", got.name, "': element ", i, " is ", text(a[i]),
                                            ", but the reference is ", text(b[i])));
  }
  return absl::OkStatus();
}

absl::Status compare(const HostTensor& got, const HostTensor& want, double tolerance) {
  if (got.element != want.element || got.shape != want.shape)
    return absl::InternalError(absl::StrCat("output '", got.name, "' differs in type from its reference"));
  return tensor::is_float(got.element) ? compare_floats(got, want, tolerance) : compare_integers(got, want);
}

bool is_number(const HostTensor& input) {
  return !tensor::is_float(input.element) && input.shape.size() <= 1;
}

// How the model is read for the test. Tests give axes, shapes and bounds as inputs. Where the model needs them when it is
// built, they become constants of the model and leave `inputs`: all but the first, or else whole numbers and conditions,
// or else all. So they do where `sizes_are_known` and the sizes of results depend on them.
absl::StatusOr<frontends::ImportOptions> options_for(const std::string& path, onnx::TestValues& values,
                                                     bool sizes_are_known) {
  using Fixes = bool (*)(const HostTensor& input, bool is_first);
  constexpr Fixes kAttempts[] = {[](const HostTensor&, bool is_first) { return !is_first; },
                                 [](const HostTensor& input, bool) { return is_number(input); },
                                 [](const HostTensor&, bool) { return true; }};
  std::vector<HostTensor>& inputs = values.tensors;
  frontends::ImportOptions options{.lengths = values.lengths};
  for (const HostTensor& input : inputs) options.shapes[input.name] = input.shape;
  const auto is_ready = [&](const absl::StatusOr<graph::Graph>& graph) {
    return graph.ok() && !(sizes_are_known && !graph::found_dims(*graph).empty());
  };
  const absl::StatusOr<graph::Graph> graph = frontends::import_file(path, options);
  if (is_ready(graph)) return options;
  for (const Fixes fixes : kAttempts) {
    if (!graph.ok() && !absl::IsUnimplemented(graph.status())) break;
    options.fixed.clear();
    std::vector<HostTensor> others;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (fixes(inputs[i], i == 0))
        options.fixed[inputs[i].name] = inputs[i];
      else
        others.push_back(inputs[i]);
    }
    if (options.fixed.empty()) continue;
    if (!is_ready(frontends::import_file(path, options))) continue;
    inputs = std::move(others);
    return options;
  }
  return graph.status();
}

// Without a pool, by the reference evaluator; else compiled with default schedules.
absl::StatusOr<std::vector<HostTensor>> run_model(const std::string& path, onnx::TestValues& values,
                                                  const CheckArguments& arguments, driver::BuildPool* pool) {
  const std::vector<HostTensor>& inputs = values.tensors;
  TF_ASSIGN_OR_RETURN(const frontends::ImportOptions options, options_for(path, values, pool == nullptr));
  if (pool == nullptr) {
    TF_ASSIGN_OR_RETURN(graph::Graph graph, frontends::import_file(path, options));
    return graph::evaluate(graph::optimize(std::move(graph)), inputs);
  }
  TF_ASSIGN_OR_RETURN(const target::Target target, target::parse_target(arguments.target));
  TF_ASSIGN_OR_RETURN(const graph::Network network, frontends::network_of_file(path, options));
  TF_ASSIGN_OR_RETURN(const graph::Program program,
                      graph::plan_network(network, graph::layout_options(target)));
  TF_ASSIGN_OR_RETURN(const TemporaryFolder folder, TemporaryFolder::make());
  const std::vector<std::optional<driver::ScheduleChoice>> untuned(program.tasks.size());
  TF_RETURN_IF_ERROR(driver::build_model(program, untuned, *pool,
                                         {.target = target,
                                          .threads = arguments.threads,
                                          .allowed_numerics = arguments.allowed,
                                          .folder = folder.path()})
                         .status());
  TF_ASSIGN_OR_RETURN(const auto model, LoadedModel::open(folder.path(), arguments.threads));
  return model->run(inputs);
}

absl::Status check(const fs::path& folder, const CheckArguments& arguments, driver::BuildPool* pool) {
  if (!fs::exists(folder / "model.onnx"))
    return absl::NotFoundError("not a test: give a folder with model.onnx and test_data_set_0");
  int sets = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!entry.is_directory() || !entry.path().filename().string().starts_with("test_data_set_")) continue;
    ++sets;
    const std::string model = (folder / "model.onnx").string();
    TF_ASSIGN_OR_RETURN(onnx::TestData data, onnx::read_test_data(model, entry.path().string()));
    const std::vector<HostTensor>& wanted = data.outputs.tensors;
    TF_ASSIGN_OR_RETURN(const std::vector<HostTensor> got, run_model(model, data.inputs, arguments, pool));
    if (got.size() != wanted.size())
      return absl::InternalError("the model has a different number of outputs");
    for (size_t i = 0; i < got.size(); ++i)
      TF_RETURN_IF_ERROR(compare(got[i], wanted[i], arguments.tolerance));
  }
  return sets > 0 ? absl::OkStatus() : absl::NotFoundError("it contains no test_data_set_*");
}

absl::StatusOr<int> run(CheckArguments arguments) {
  TF_ASSIGN_OR_RETURN(arguments.allowed, schedule::parse_numerics(arguments.allow));
  int failed = 0;
  nlohmann::json all = nlohmann::json::array();
  std::unique_ptr<driver::BuildPool> pool;
  if (!arguments.interpret) {
    TF_ASSIGN_OR_RETURN(pool, driver::BuildPool::create({.workers = tf_usable_cpus()}));
  }
  for (const std::string& folder : arguments.folders) {
    const absl::Status status = check(folder, arguments, pool.get());
    failed += !status.ok();
    std::string message(status.message());
    if (absl::StartsWith(message, folder + "/"))
      message.erase(0, folder.size() + 1);  // it stands before the message
    all.push_back({{"test", folder}, {"ok", status.ok()}, {"message", message}});
    if (!arguments.json)
      std::printf("%s %s%s%s\n", status.ok() ? "ok  " : "FAIL", folder.c_str(), status.ok() ? "" : ": ",
                  message.c_str());
  }
  if (arguments.json) std::printf("%s\n", json_text(all, 1).c_str());
  std::fprintf(stderr, "%zu of %zu passed\n", arguments.folders.size() - failed, arguments.folders.size());
  return failed == 0 ? kExitOk : kExitFailed;
}

}  // namespace

void add_check_command(CLI::App& app, Invocation& invocation) {
  auto arguments = std::make_shared<CheckArguments>();
  CLI::App* command = app.add_subcommand("check", "Run ONNX backend tests; exit 0 if all pass");
  command->add_option("folders", arguments->folders, "Folders with model.onnx and test_data_set_*")
      ->required();
  command
      ->add_option("--tolerance", arguments->tolerance,
                   "Largest max|a - b| / max|b| of a floating-point output; others must be equal")
      ->check(at_least(0))
      ->capture_default_str();
  command
      ->add_option("--target", arguments->target,
                   "Target to compile for, which runs here: host, opencl, cuda:arch=sm_90, …")
      ->capture_default_str();
  command->add_option("--allow", arguments->allow,
                      absl::StrCat("Reduced-precision methods to allow: ", schedule::kAllowHelp));
  command->add_option("--threads", arguments->threads, "Number of threads")->check(CLI::Range(1, 1024));
  command->add_flag("--interpret", arguments->interpret, "Evaluate in double precision instead of compiling");
  command->add_flag("--json", arguments->json, "Print the result as JSON");
  command->footer(
      "Example: compiler check /usr/share/libonnx-testdata/data/node/test_conv_with_strides_padding");
  command->callback([arguments, &invocation] { invocation.run = [arguments] { return run(*arguments); }; });
}

}  // namespace tf::compiler_cli
