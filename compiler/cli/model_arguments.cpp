#include "compiler/cli/model_arguments.h"

#include <CLI/CLI.hpp>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/machine/cpu_list.h"
#include "base/status.h"
#include "compiler/frontends/frontends.h"

namespace tf::compiler_cli {

void add_affinity_option(CLI::App& command, std::vector<int>& cpus) {
  command.add_option_function<std::string>(
      "--affinity",
      [&cpus](const std::string& text) {
        const absl::StatusOr<std::vector<uint32_t>> list = parse_cpu_list(text);
        if (!list.ok()) throw CLI::ValidationError("--affinity", std::string(list.status().message()));
        cpus.assign(list->begin(), list->end());
      },
      "CPUs to pin threads to, as in 0-3,6: thread t runs on the t-th [chosen by the system]");
}

void add_model_options(CLI::App& command, ModelArguments& arguments) {
  command
      .add_option("model", arguments.model,
                  absl::StrCat("The network, an ", frontends::format_names(), " file"))
      ->required();
  command.add_option("--target", arguments.target, "Target to compile for: host, x86_64:cpu=znver4, …")
      ->capture_default_str();
  command
      .add_option("--dim", arguments.dims, "NAME=N: value of a named dimension of the network; repeatable")
      ->allow_extra_args(false);
  command
      .add_option("--input", arguments.inputs,
                  "NAME=VALUE, as in rate=16000 or axes=0,2: fix an input of the network; repeatable")
      ->allow_extra_args(false);
  command
      .add_option("--expose", arguments.exposed,
                  "Name of a value inside the network that becomes one more output; repeatable")
      ->allow_extra_args(false);
}

absl::StatusOr<graph::Graph> load_model(const ModelArguments& arguments) {
  frontends::ImportOptions options;
  for (const std::string& text : arguments.dims) {
    const size_t equals = text.rfind('=');
    int64_t value = 0;
    if (equals == 0 || equals == std::string::npos || !absl::SimpleAtoi(text.substr(equals + 1), &value))
      return absl::InvalidArgumentError(
          absl::StrCat("--dim ", text, ": write it as NAME=N, as in --dim batch=4"));
    const std::string name = text.substr(0, equals);
    if (!options.dims.insert({name, value}).second)
      return absl::InvalidArgumentError(absl::StrCat("--dim gives \"", name, "\" twice"));
  }
  for (const std::string& text : arguments.inputs) {
    const size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos)
      return absl::InvalidArgumentError(
          absl::StrCat("--input ", text, ": write it as NAME=VALUE, as in --input rate=16000"));
    options.given[text.substr(0, equals)] = text.substr(equals + 1);
  }
  options.outputs = arguments.exposed;
  return frontends::import_file(arguments.model, options);
}

absl::StatusOr<target::Target> load_target(const ModelArguments& arguments) {
  TF_ASSIGN_OR_RETURN(const target::Target target, target::parse_target(arguments.target));
  if (!target.is_hosted())
    return absl::InvalidArgumentError(absl::StrCat("--target ", arguments.target,
                                                   ": a network is built as a shared library, which this "
                                                   "target does not have; single kernels can be compiled: "
                                                   "see `compiler kernel --help`"));
  return target;
}

}  // namespace tf::compiler_cli
