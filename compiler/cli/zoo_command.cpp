// compiler zoo: well-known networks as ONNX files.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/cli/exit_code.h"
#include "base/cli/text_table.h"
#include "base/files/output_file.h"
#include "base/status.h"
#include "base/text/json_text.h"
#include "compiler/cli/commands.h"
#include "compiler/frontends/zoo/zoo.h"

namespace tf::compiler_cli {
namespace {

struct ZooArguments {
  std::string name, output;
  zoo::Options options;
  bool json = false;
};

void list(bool json) {
  nlohmann::json all = nlohmann::json::array();
  std::vector<std::vector<std::string>> rows;
  for (const zoo::Network& network : zoo::networks()) {
    all.push_back({{"name", network.name}, {"description", network.description}});
    rows.push_back({network.name, network.description});
  }
  if (json)
    std::printf("%s\n", json_text(all, 1).c_str());
  else
    std::printf(
        "%s", text_table({{"network"}, {"description", Cells::kShortened}}, std::move(rows), terminal_width())
                  .c_str());
}

absl::StatusOr<int> run(const ZooArguments& arguments) {
  if (arguments.name == "list") {
    list(arguments.json);
    return kExitOk;
  }
  const std::vector<zoo::Network> networks = zoo::networks();
  const bool is_known = std::ranges::find(networks, arguments.name, &zoo::Network::name) != networks.end();
  if (is_known && arguments.output.empty())
    return absl::InvalidArgumentError("no output file: give -o FILE.onnx");
  const absl::StatusOr<std::string> model = zoo::model(arguments.name, arguments.options);
  if (!model.ok()) return absl::InvalidArgumentError(model.status().message());
  TF_RETURN_IF_ERROR(write_output(arguments.output, *model));
  if (arguments.json) {
    std::printf("%s\n",
                json_text(nlohmann::json{{"file", arguments.output}, {"bytes", model->size()}}).c_str());
  } else {
    std::fprintf(stderr, "wrote %s (%.1f MB)\n", arguments.output.c_str(),
                 static_cast<double>(model->size()) / 1e6);
  }
  return kExitOk;
}

}  // namespace

void add_zoo_command(CLI::App& app, Invocation& invocation) {
  auto arguments = std::make_shared<ZooArguments>();
  CLI::App* command =
      app.add_subcommand("zoo", "Write a well-known network with random weights as an ONNX file");
  command->add_option("name", arguments->name, "Name of the network, or 'list'")->required();
  command->add_option("-o,--output", arguments->output, "Output file");
  auto* batch = command->add_option("--batch", arguments->options.batch, "Batch size")->capture_default_str();
  // As --dim can say it.
  const auto is_name = [](const std::string& text) {
    return text.find_first_of(" \t\n,=") == std::string::npos
               ? std::string()
               : absl::StrCat("'", text,
                              "' is not a valid name: it contains a blank, a comma or an equals sign");
  };
  command
      ->add_option("--batch-name", arguments->options.batch_name,
                   "Make the batch a named dimension; builds then need --dim NAME=N")
      ->check(is_name)
      ->excludes(batch);
  command
      ->add_option("--sequence", arguments->options.sequence,
                   "Sequence length in tokens or frames (of networks that read sequences)")
      ->capture_default_str();
  command->add_flag("--named-lengths", arguments->options.named_lengths,
                    "Make lengths of sequences named dimensions; builds then need --dim sequence=N, and of "
                    "gpt2_small --dim past=N");
  command->add_flag("--f16", arguments->options.halves,
                    "Make weights, inputs and outputs f16 instead of f32");
  command->add_option("--seed", arguments->options.seed, "Seed of the random weights")->capture_default_str();
  command->add_flag("--json", arguments->json, "Print the result as JSON");
  command->footer("Example: compiler zoo squeezenet -o squeezenet.onnx");
  command->callback([arguments, &invocation] { invocation.run = [arguments] { return run(*arguments); }; });
}

}  // namespace tf::compiler_cli
