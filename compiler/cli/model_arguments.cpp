#include "compiler/cli/model_arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/machine/cpu_list.h"
#include "base/status.h"
#include "compiler/frontends/frontends.h"
#include "compiler/frontends/network.h"

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
                  throw CLI::ValidationError("--dim", absl::StrCat("gives \"", name, "\" twice"));
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
  command.add_option("--target", arguments.target, "Target to compile for: host, x86_64:cpu=znver4, …")
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

struct Dims {
  tensor::Binding values;
  std::vector<graph::NamedDimension> ranges;
};

// NAME=N, NAME=LEAST..MOST or NAME=LEAST..MOST:MULTIPLE.
absl::Status read_dim(const std::string& text, Dims& dims) {
  const size_t equals = text.rfind('=');
  const std::string name = text.substr(0, equals == std::string::npos ? 0 : equals);
  const std::string range = name.empty() ? "" : text.substr(equals + 1);
  const size_t dots = range.find("..");
  int64_t low = 0, high = 0, multiple_of = 1;
  const bool is_range = dots != std::string::npos;
  const std::vector<std::string> rest =
      absl::StrSplit(is_range ? range.substr(dots + 2) : "0", absl::MaxSplits(':', 1));
  if (!absl::SimpleAtoi(range.substr(0, dots), &low) || !absl::SimpleAtoi(rest[0], &high) ||
      (rest.size() > 1 && !absl::SimpleAtoi(rest[1], &multiple_of)))
    return absl::InvalidArgumentError(absl::StrCat(
        "--dim ", text,
        ": write it as NAME=N, as in --dim batch=4, or as a range, as in --dim batch=1..64, or --dim "
        "height=32..512:32 for multiples of 32"));
  const bool is_known = dims.values.contains(name) || std::ranges::any_of(dims.ranges, [&](const auto& dim) {
                          return dim.var->name == name;
                        });
  if (is_known) return absl::InvalidArgumentError(absl::StrCat("--dim gives \"", name, "\" twice"));
  if (is_range && (low < 1 || high < low || high > tensor::Dimension().high))
    return absl::InvalidArgumentError(absl::StrCat(
        "--dim ", text, ": a range goes from 1 or more up to at most ", tensor::Dimension().high));
  if (is_range && multiple_of < 1)
    return absl::InvalidArgumentError(absl::StrCat("--dim ", text, ": sizes are multiples of 1 or more"));
  if (is_range && (low % multiple_of != 0 || high % multiple_of != 0))
    return absl::InvalidArgumentError(
        absl::StrCat("--dim ", text, ": a range of multiples begins and ends with a multiple of ", rest[1]));
  if (is_range)
    dims.ranges.push_back({{tensor::var(name), low, high}, multiple_of});
  else
    dims.values[name] = low;
  return absl::OkStatus();
}

absl::StatusOr<frontends::ImportOptions> import_options(const ModelArguments& arguments, Dims& dims) {
  frontends::ImportOptions options;
  for (const std::string& text : arguments.dims) TF_RETURN_IF_ERROR(read_dim(text, dims));
  options.dims = dims.values;
  for (const std::string& text : arguments.inputs) {
    const size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos)
      return absl::InvalidArgumentError(
          absl::StrCat("--input ", text, ": write it as NAME=VALUE, as in --input rate=16000"));
    const std::string name = text.substr(0, equals);
    if (!options.given.insert({name, text.substr(equals + 1)}).second)
      return absl::InvalidArgumentError(absl::StrCat("--input gives \"", name, "\" twice"));
  }
  options.outputs = arguments.exposed;
  return options;
}

// NAME=N,N,… for each dimension with a range; all combinations.
absl::StatusOr<std::vector<tensor::Binding>> read_anchors(const std::vector<std::string>& texts,
                                                          const std::vector<graph::NamedDimension>& ranges) {
  std::map<std::string, std::vector<int64_t>> sizes;
  for (const std::string& text : texts) {
    const std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits('=', 1));
    const auto dim =
        std::ranges::find_if(ranges, [&](const auto& each) { return each.var->name == parts[0]; });
    if (dim == ranges.end())
      return absl::InvalidArgumentError(absl::StrCat("--at ", text, ": no --dim gives '", parts[0],
                                                     "' a range, as in --dim ", parts[0], "=1..64"));
    for (const absl::string_view number : absl::StrSplit(parts.size() > 1 ? parts[1] : "", ',')) {
      int64_t size = 0;
      if (!absl::SimpleAtoi(number, &size) || size < dim->low || size > dim->high ||
          size % dim->multiple_of != 0)
        return absl::InvalidArgumentError(absl::StrCat(
            "--at ", text, ": write sizes from ", dim->low, " to ", dim->high,
            dim->multiple_of > 1 ? absl::StrCat(" that are multiples of ", dim->multiple_of) : "",
            ", as in --at ", parts[0], "=", dim->low, ",", dim->high));
      sizes[parts[0]].push_back(size);
    }
  }
  if (sizes.empty()) return std::vector<tensor::Binding>{};
  std::vector<tensor::Binding> anchors = {{}};
  for (const graph::NamedDimension& dim : ranges) {
    if (!sizes.contains(dim.var->name))
      return absl::InvalidArgumentError(absl::StrCat("--at has sizes of some dimensions, but none of '",
                                                     dim.var->name, "': give some, as in --at ",
                                                     dim.var->name, "=", dim.high));
    std::vector<tensor::Binding> more;
    for (const tensor::Binding& anchor : anchors) {
      for (const int64_t size : sizes[dim.var->name]) {
        more.push_back(anchor);
        more.back()[dim.var->name] = size;
      }
    }
    anchors = std::move(more);
  }
  return anchors;
}

}  // namespace

absl::StatusOr<graph::Graph> load_model(const ModelArguments& arguments) {
  Dims dims;
  TF_ASSIGN_OR_RETURN(const frontends::ImportOptions options, import_options(arguments, dims));
  if (!dims.ranges.empty())
    return absl::InvalidArgumentError(absl::StrCat("--dim ", dims.ranges[0].var->name,
                                                   ": this command looks at one size: write it as ",
                                                   dims.ranges[0].var->name, "=", dims.ranges[0].high));
  return frontends::import_file(arguments.model, options);
}

absl::StatusOr<graph::Network> load_network(const ModelArguments& arguments) {
  Dims dims;
  TF_ASSIGN_OR_RETURN(frontends::ImportOptions options, import_options(arguments, dims));
  TF_ASSIGN_OR_RETURN(const std::vector<tensor::Binding> anchors,
                      read_anchors(arguments.anchors, dims.ranges));
  return frontends::network_of_file(arguments.model, std::move(options), std::move(dims.ranges), anchors);
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
