// compiler run: a built model on given inputs.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/cli/exit_code.h"
#include "base/files/output_file.h"
#include "base/status.h"
#include "base/text/json_text.h"
#include "compiler/cli/commands.h"
#include "compiler/cli/model_arguments.h"
#include "compiler/driver/loaded_model.h"
#include "compiler/frontends/onnx/tensor_proto.h"

namespace tf::compiler_cli {
namespace {

using driver::LoadedModel;
using graph::HostTensor;

struct RunArguments {
  std::string folder, output;
  std::vector<std::string> inputs;  // NAME=FILE
  int threads = 1;
  std::vector<int> affinity;  // CPUs; empty: any
  bool npy = false, json = false;
};

absl::StatusOr<std::vector<HostTensor>> read_inputs(const RunArguments& arguments, const LoadedModel& model) {
  std::vector<std::optional<HostTensor>> given(model.inputs().size());
  for (const std::string& text : arguments.inputs) {
    bool known = false;
    for (size_t i = 0; i < given.size(); ++i) {
      const std::string prefix = model.inputs()[i].name + "=";
      if (!text.starts_with(prefix)) continue;
      known = true;
      if (given[i])
        return absl::InvalidArgumentError(absl::StrCat("--input ", text, ": input '", model.inputs()[i].name,
                                                       "' is given twice: give it once"));
      TF_ASSIGN_OR_RETURN(given[i], onnx::read_tensor(text.substr(prefix.size())));
    }
    if (!known) {
      std::string names;
      for (const HostTensor& input : model.inputs())
        absl::StrAppend(&names, names.empty() ? "" : ", ", input.name);
      return absl::InvalidArgumentError(absl::StrCat(
          "--input ", text, ": write it as NAME=FILE, where NAME is one of the model's inputs: ", names));
    }
  }
  std::vector<HostTensor> values;
  for (size_t i = 0; i < given.size(); ++i) {
    if (!given[i])
      return absl::InvalidArgumentError(absl::StrCat("input '", model.inputs()[i].name,
                                                     "' is missing: give --input ", model.inputs()[i].name,
                                                     "=FILE.pb"));
    values.push_back(*std::move(given[i]));
  }
  return values;
}

// Output names may be anything, so files are numbered as in ONNX's backend tests.
std::string output_file(const RunArguments& arguments, size_t index) {
  return absl::StrCat(arguments.output, "/output_", index, arguments.npy ? ".npy" : ".pb");
}

absl::Status check_outputs(const RunArguments& arguments, const LoadedModel& model) {
  std::vector<std::string> inputs;
  for (const std::string& text : arguments.inputs)
    for (const HostTensor& input : model.inputs())
      if (text.starts_with(input.name + "=")) inputs.push_back(text.substr(input.name.size() + 1));
  for (size_t i = 0; i < model.outputs().size(); ++i)
    TF_RETURN_IF_ERROR(check_is_no_input(output_file(arguments, i), "-o", inputs));
  return absl::OkStatus();
}

absl::StatusOr<int> run(const RunArguments& arguments) {
  TF_ASSIGN_OR_RETURN(const auto model, LoadedModel::open(arguments.folder, arguments.threads));
  TF_RETURN_IF_ERROR(check_outputs(arguments, *model));
  TF_RETURN_IF_ERROR(model->set_affinity(arguments.affinity));
  TF_ASSIGN_OR_RETURN(const std::vector<HostTensor> inputs, read_inputs(arguments, *model));
  TF_ASSIGN_OR_RETURN(const std::vector<HostTensor> outputs, model->run(inputs));
  std::error_code error;
  std::filesystem::create_directories(arguments.output, error);
  nlohmann::json files = nlohmann::json::array();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string file = output_file(arguments, i);
    TF_RETURN_IF_ERROR(onnx::write_tensor(file, outputs[i]));
    files.push_back({{"name", outputs[i].name}, {"file", file}, {"shape", outputs[i].shape}});
    if (!arguments.json) std::printf("%s\t%s\n", outputs[i].name.c_str(), file.c_str());
  }
  if (arguments.json) std::printf("%s\n", json_text(nlohmann::json{{"outputs", files}}, 1).c_str());
  return kExitOk;
}

}  // namespace

void add_run_command(CLI::App& app, Invocation& invocation) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* command = app.add_subcommand("run", "Run a built model on inputs from files");
  command->add_option("folder", arguments->folder, "Folder that `compiler build -o` wrote")->required();
  command
      ->add_option("--input", arguments->inputs,
                   "NAME=FILE, a TensorProto (.pb) or NumPy array (.npy); repeatable")
      ->allow_extra_args(false);
  command->add_option("-o,--output", arguments->output, "Folder for output_0.pb, output_1.pb, …")->required();
  command->add_option("--threads", arguments->threads, "Number of threads")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  add_affinity_option(*command, arguments->affinity);
  command->add_flag("--npy", arguments->npy, "Write NumPy arrays (.npy) instead of .pb files");
  command->add_flag("--json", arguments->json, "Print the result as JSON");
  command->footer("Example: compiler run build/squeezenet --input input=cat.npy -o out");
  command->callback([arguments, &invocation] { invocation.run = [arguments] { return run(*arguments); }; });
}

}  // namespace tf::compiler_cli
