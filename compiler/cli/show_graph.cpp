#include "compiler/cli/show_graph.h"

#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "base/cli/exit_code.h"
#include "base/files/file.h"
#include "base/files/output_file.h"
#include "base/files/temporary_folder.h"
#include "base/machine/child_process.h"
#include "base/status.h"
#include "base/text/json_text.h"
#include "compiler/graph/drawing.h"
#include "compiler/graph/text.h"

extern char** environ;

namespace tf::compiler_cli {
namespace {

nlohmann::json graph_json(const graph::Graph& graph) {
  nlohmann::json dims = nlohmann::json::array(), nodes = nlohmann::json::array(),
                 outputs = nlohmann::json::array();
  for (const tensor::Dimension& dim : graph.dims)
    dims.push_back({{"name", dim.var->name},
                    {"value", graph.binding.at(dim.var->name)},
                    {"low", dim.low},
                    {"high", dim.high}});
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const graph::Node& node = graph.nodes[i];
    nlohmann::json inputs = nlohmann::json::array(), attributes = nlohmann::json::object(),
                   types = {to_string(node.type)};
    for (graph::NodeId input : node.inputs) inputs.push_back(index(input));
    for (const graph::TensorType& type : node.more_types) types.push_back(to_string(type));
    for (const graph::AttributeText& attribute : attribute_texts(node))
      attributes[attribute.name] = attribute.value;
    nlohmann::json entry = {{"id", i},          {"op", op_name(node.op)},   {"name", node.name},
                            {"inputs", inputs}, {"attributes", attributes}, {"types", types}};
    for (const graph::NamedRegion& region : regions_of(node))
      entry["regions"][region.name] = graph_json(*region.region);
    if (const auto* constant = graph::as<graph::Constant>(node))
      entry["sha256"] = constant->data->digest().hex();
    nodes.push_back(std::move(entry));
  }
  for (const graph::Output& output : graph.outputs)
    outputs.push_back({{"name", output.name}, {"node", index(output.node)}});
  return {{"name", graph.name}, {"dims", dims}, {"nodes", nodes}, {"outputs", outputs}};
}

// What dot makes of a drawing.
absl::StatusOr<std::string> rendered(const std::string& drawing) {
  TF_ASSIGN_OR_RETURN(const TemporaryFolder folder, TemporaryFolder::make());
  const std::string in = folder.file("graph.dot"), out = folder.file("graph.svg");
  TF_RETURN_IF_ERROR(write_file(in, drawing));
  std::string program = "dot", form = "-Tsvg", to = "-o" + out, from = in;
  char* const argv[] = {program.data(), form.data(), to.data(), from.data(), nullptr};
  pid_t pid = -1;
  const int error = posix_spawnp(&pid, program.c_str(), nullptr, nullptr, argv, environ);
  if (error == ENOENT)
    return absl::FailedPreconditionError(
        "--svg needs the program dot, which is not on the path: install Graphviz (apt install graphviz)");
  if (error != 0) return absl::ErrnoToStatus(error, "cannot run dot");
  const int status = wait_for_end(pid);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return read_file(out);
  return absl::InternalError(WIFEXITED(status)
                                 ? absl::StrCat("dot failed with exit code ", WEXITSTATUS(status))
                                 : absl::StrCat("dot was killed by signal ", WTERMSIG(status)));
}

}  // namespace

absl::StatusOr<int> show_graph(const ShowGraphArguments& arguments, bool json) {
  TF_ASSIGN_OR_RETURN(const graph::Graph graph, load_model(arguments.model));
  if (!arguments.svg.empty()) {
    TF_RETURN_IF_ERROR(check_is_no_input(arguments.svg, "--svg", {arguments.model.model}));
    TF_ASSIGN_OR_RETURN(const std::string svg, rendered(graph::drawing(graph)));
    TF_RETURN_IF_ERROR(write_output(arguments.svg, svg));
    return kExitOk;
  }
  if (json) {
    nlohmann::json all = graph_json(graph);
    all["structure"] = structure_digest(graph).hex();
    std::printf("%s\n", json_text(all, 1).c_str());
  } else {
    std::printf("%s", to_string(graph).c_str());
  }
  return kExitOk;
}

}  // namespace tf::compiler_cli
