// compiler tasks: the distinct kernels of a network, which are what a tuner works on.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/cli/counted.h"
#include "base/cli/exit_code.h"
#include "base/cli/text_table.h"
#include "base/status.h"
#include "base/text/json_text.h"
#include "compiler/cli/commands.h"
#include "compiler/cli/model_arguments.h"
#include "compiler/cli/print_after.h"
#include "compiler/graph/passes/optimize.h"
#include "compiler/graph/program/program.h"
#include "compiler/graph/text.h"

namespace tf::compiler_cli {
namespace {

struct TasksArguments {
  ModelArguments model;
  std::string print_after;  // a graph pass or "all"; empty: print the tasks
  bool json = false, wide = false;
};

void print(const graph::Program& program, size_t width) {
  double flops = 0;
  int64_t runs = 0;
  std::vector<std::vector<std::string>> rows;
  for (const graph::Task& task : program.tasks) {
    rows.push_back({task.label, absl::StrCat(task.count), absl::StrFormat("%.3f", task.flops / 1e6),
                    absl::StrFormat("%.1f", task.bytes / 1024),
                    tensor::workload_key(task.kernel.workload).hex().substr(0, 12)});
    flops += task.flops * static_cast<double>(task.count);
    runs += task.count;
  }
  std::printf("%s", text_table({{"task", Cells::kShortened},
                                {"runs", Cells::kWhole, Side::kRight},
                                {"MFLOP", Cells::kWhole, Side::kRight},
                                {"KiB", Cells::kWhole, Side::kRight},
                                {"key"}},
                               std::move(rows), width)
                        .c_str());
  std::printf("%s, %s, %.3f GFLOP\n", counted(std::ssize(program.tasks), "task").c_str(),
              counted(runs, "kernel call").c_str(), flops / 1e9);
}

void print_json(const graph::Program& program) {
  nlohmann::json all = nlohmann::json::array();
  for (const graph::Task& task : program.tasks) {
    all.push_back({{"key", tensor::workload_key(task.kernel.workload).hex()},
                   {"op", task.kernel.workload.label},
                   {"label", task.label},
                   {"binding", tensor::binding_text(task.kernel.binding)},
                   {"in_layouts", tensor::layout_texts(task.kernel.ports.inputs)},
                   {"out_layouts", tensor::layout_texts(task.kernel.ports.outputs)},
                   {"flops", task.flops},
                   {"bytes", task.bytes},
                   {"count", task.count},
                   {"reuse_distance_bytes", task.kernel.reuse_distance_bytes},
                   {"nodes", task.nodes},
                   {"workload", tensor::canonical_text(task.kernel.workload)}});
  }
  std::printf("%s\n", json_text(nlohmann::json{{"tasks", all}}, 1).c_str());
}

std::vector<std::string> graph_passes() {
  std::vector<std::string> names;
  for (const graph::Pass& pass : graph::passes()) names.emplace_back(pass.name);
  return names;
}

void print_passes(graph::Graph graph, const TasksArguments& arguments) {
  std::vector<PassText> texts;
  graph::OptimizeOptions options;
  options.after = [&](std::string_view pass, const graph::Graph& result) {
    if (arguments.print_after == "all" || arguments.print_after == pass)
      texts.push_back({std::string(pass), graph::to_string(result)});
  };
  graph::optimize(std::move(graph), options);
  if (arguments.json)
    std::printf("%s\n", json_text(nlohmann::json{{"passes", print_after_json(texts)}}, 1).c_str());
  else
    std::printf("%s", print_after_text(texts).c_str());
}

absl::StatusOr<int> run(const TasksArguments& arguments) {
  TF_RETURN_IF_ERROR(check_pass(arguments.print_after, graph_passes()));
  TF_ASSIGN_OR_RETURN(const target::Target target, load_target(arguments.model));
  if (!arguments.print_after.empty()) {
    TF_ASSIGN_OR_RETURN(graph::Graph graph, load_model(arguments.model));
    print_passes(std::move(graph), arguments);
    return kExitOk;
  }
  TF_ASSIGN_OR_RETURN(const graph::Network network, load_network(arguments.model));
  TF_ASSIGN_OR_RETURN(const graph::Program program,
                      graph::plan_network(network, graph::layout_options(target)));
  arguments.json ? print_json(program) : print(program, arguments.wide ? 0 : terminal_width());
  return kExitOk;
}

}  // namespace

void add_tasks_command(CLI::App& app, Invocation& invocation) {
  auto arguments = std::make_shared<TasksArguments>();
  CLI::App* command = app.add_subcommand(
      "tasks", "List a network's tuning tasks: operators, shapes, runs, FLOPs, bytes, key");
  add_model_options(*command, arguments->model);
  add_print_after_option(*command, arguments->print_after, "the graph, instead of the tasks,");
  command->add_flag("--json", arguments->json, "Print the result as JSON");
  command->add_flag("--wide", arguments->wide, "Print whole cells, regardless of the terminal's width");
  command->footer("Example: compiler tasks squeezenet.onnx --target host");
  command->callback([arguments, &invocation] { invocation.run = [arguments] { return run(*arguments); }; });
}

}  // namespace tf::compiler_cli
