#include "compiler/cli/model_arguments.h"

#include <CLI/CLI.hpp>

#include "absl/strings/str_cat.h"
#include "base/machine/cpu_list.h"
#include "base/status.h"
#include "compiler/driver/library/device_kernel.h"
#include "compiler/frontends/frontends.h"
#include "compiler/frontends/network_request.h"

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

void add_sizes_option(CLI::App& command, tensor::Binding& sizes, const std::string& help) {
  command
      .add_option_function<std::vector<std::string>>(
          "--dim",
          [&sizes](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) {
              const absl::StatusOr<tensor::Binding> one = tensor::parse_binding(text);
              if (!one.ok()) throw CLI::ValidationError("--dim", std::string(one.status().message()));
              for (const auto& [name, size] : *one)
                if (!sizes.emplace(name, size).second)
                  throw CLI::ValidationError("--dim",
                                             absl::StrCat("gives \"", name, "\" twice: give it once"));
            }
          },
          absl::StrCat("NAME=N: ", help, "; repeatable [the greatest]"))
      ->allow_extra_args(false);
}

std::vector<CLI::Option*> add_graph_options(CLI::App& command, ModelArguments& arguments) {
  return {command
              .add_option("--dim", arguments.dims,
                          "NAME=N: value of a named dimension of the network, or, where a library for all "
                          "sizes is built, "
                          "NAME=LEAST..MOST, or NAME=LEAST..MOST:N for multiples of N; repeatable")
              ->allow_extra_args(false),
          command
              .add_option("--input", arguments.inputs,
                          "NAME=VALUE, as in rate=16000 or axes=0,2: fix an input of the network; repeatable")
              ->allow_extra_args(false),
          command
              .add_option("--expose", arguments.exposed,
                          "Name of a value inside the network that becomes one more output; repeatable")
              ->allow_extra_args(false)};
}

void add_model_options(CLI::App& command, ModelArguments& arguments) {
  command
      .add_option("model", arguments.model,
                  absl::StrCat("The network, an ", frontends::format_names(), " file"))
      ->required();
  command
      .add_option("--target", arguments.target,
                  "Target to compile for: host, x86_64:cpu=znver4, opencl, cuda:arch=sm_90, …")
      ->capture_default_str();
  add_graph_options(command, arguments);
}

void add_anchor_option(CLI::App& command, ModelArguments& arguments) {
  command
      .add_option(
          "--at", arguments.anchors,
          "NAME=N,N,…: sizes of a dimension with a range that get kernels of their own, as in batch=1,8,64; "
          "with several dimensions, all combinations; repeatable")
      ->allow_extra_args(false);
}

namespace {

absl::StatusOr<frontends::NetworkRequest> request_of(const ModelArguments& arguments) {
  frontends::NetworkRequest request;
  for (const std::string& text : arguments.dims) TF_RETURN_IF_ERROR(frontends::add_dim(text, request));
  for (const std::string& text : arguments.inputs) TF_RETURN_IF_ERROR(frontends::add_input(text, request));
  TF_RETURN_IF_ERROR(frontends::add_anchors(arguments.anchors, request));
  request.options.outputs = arguments.exposed;
  return request;
}

}  // namespace

absl::StatusOr<graph::Graph> load_model(const ModelArguments& arguments) {
  TF_ASSIGN_OR_RETURN(const frontends::NetworkRequest request, request_of(arguments));
  if (!request.ranges.empty())
    return absl::InvalidArgumentError(absl::StrCat("--dim ", request.ranges[0].var->name,
                                                   ": this command looks at one size: write it as ",
                                                   request.ranges[0].var->name, "=", request.ranges[0].high));
  return frontends::import_file(arguments.model, request.options);
}

absl::StatusOr<graph::Network> load_network(const ModelArguments& arguments) {
  TF_ASSIGN_OR_RETURN(const frontends::NetworkRequest request, request_of(arguments));
  return frontends::import_network(arguments.model, request);
}

absl::StatusOr<target::Target> load_target(const ModelArguments& arguments) {
  TF_ASSIGN_OR_RETURN(const target::Target target, target::parse_target(arguments.target));
  if (!target.is_hosted() && !driver::is_for_device(target))
    return absl::InvalidArgumentError(absl::StrCat("--target ", arguments.target,
                                                   ": a network is built as a shared library, which this "
                                                   "target does not have; single kernels can be compiled: "
                                                   "see `compiler kernel --help`"));
  return target;
}

}  // namespace tf::compiler_cli
