#include "tuner/cli/spec_options.h"

#include <CLI/CLI.hpp>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/cli/command_line.h"
#include "base/status.h"
#include "compiler/frontends/frontends.h"
#include "compiler/frontends/network_request.h"
#include "compiler/schedule/numerics.h"

namespace tf::tuner_cli {

void add_spec_options(CLI::App& command, SpecArguments& arguments) {
  service::JobSpec& spec = arguments.spec;
  command
      .add_option("model", arguments.model,
                  absl::StrCat("The network, an ", frontends::format_names(), " file"))
      ->required();
  command.add_option("--target", *spec.mutable_target(), "Target to compile for: host, x86_64:cpu=znver4, …")
      ->capture_default_str();
  command
      .add_option("--trials", arguments.trials,
                  "Maximum number of candidates to measure [1000 if there is no other limit]")
      ->check(above_zero);
  command
      .add_option("--minutes", arguments.minutes, "Time budget in minutes, including the final comparison")
      ->check(above_zero);
  command
      .add_option("--until-gain", arguments.until_gain_percent,
                  "Stop when the expected gain falls below this percentage of the network's time per minute")
      ->check(above_zero);
  command.add_option("--threads", arguments.threads, "Number of threads of each kernel")
      ->capture_default_str();
  command.add_option("--allow", arguments.allow,
                     absl::StrCat("Reduced-precision methods to allow: ", schedule::kAllowHelp));
  command
      .add_option("--dim", arguments.dims,
                  "NAME=N: value of a named dimension of the network, or, to tune for a library for all "
                  "sizes, NAME=LEAST..MOST, or NAME=LEAST..MOST:N for multiples of N; repeatable")
      ->allow_extra_args(false);
  command
      .add_option(
          "--at", arguments.anchors,
          "NAME=N,N,…: sizes of a dimension with a range to tune for, as in batch=1,8,64, the --at of "
          "`compiler build`; with several dimensions, all combinations; repeatable [one size, near "
          "the greatest]")
      ->allow_extra_args(false);
  command
      .add_option("--input", arguments.inputs,
                  "NAME=VALUE, as in rate=16000 or axes=0,2: fix an input of the network; repeatable")
      ->allow_extra_args(false);
  command
      .add_option(
          "--strategy", *spec.mutable_strategy(),
          "Search strategy: evolutionary, random, grid, annealing, or ansor (a baseline for comparison)")
      ->capture_default_str();
  command.add_option("--seed", arguments.seed, "Seed of the search")->capture_default_str();
  command.add_flag("--json", arguments.json, "Print progress and result as JSON lines on stdout");
}

absl::StatusOr<service::JobSpec> finish_spec(const SpecArguments& arguments) {
  service::JobSpec spec = arguments.spec;
  spec.set_model_name(std::filesystem::path(arguments.model).filename().string());
  spec.set_trials(arguments.trials);
  spec.set_minutes(arguments.minutes);
  spec.set_until_gain_percent(arguments.until_gain_percent);
  spec.set_threads(static_cast<uint32_t>(arguments.threads));
  spec.set_seed(arguments.seed);
  TF_ASSIGN_OR_RETURN(const schedule::Numerics allowed, schedule::parse_numerics(arguments.allow));
  spec.mutable_allowed_numerics()->Assign(allowed.begin(), allowed.end());
  frontends::NetworkRequest network;
  for (const std::string& text : arguments.dims) {
    for (const absl::string_view dim : absl::StrSplit(text, ','))
      TF_RETURN_IF_ERROR(frontends::add_dim(std::string(dim), network));
  }
  for (const std::string& text : arguments.inputs) TF_RETURN_IF_ERROR(frontends::add_input(text, network));
  TF_RETURN_IF_ERROR(frontends::add_anchors(arguments.anchors, network));
  service::set_network_request(network, spec);
  if (spec.trials() == 0 && spec.minutes() == 0 && spec.until_gain_percent() == 0) spec.set_trials(1000);
  TF_RETURN_IF_ERROR(service::check(spec));
  return spec;
}

}  // namespace tf::tuner_cli
