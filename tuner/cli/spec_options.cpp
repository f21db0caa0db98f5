#include "tuner/cli/spec_options.h"

#include <CLI/CLI.hpp>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "base/cli/command_line.h"
#include "base/status.h"
#include "compiler/frontends/frontends.h"
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
  command.add_option("--dim", arguments.dims,
                     "NAME=N: value of a named dimension of the network; repeatable");
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
  for (const std::string& dim : arguments.dims) TF_RETURN_IF_ERROR(service::parse_dim(dim, spec));
  if (spec.trials() == 0 && spec.minutes() == 0 && spec.until_gain_percent() == 0) spec.set_trials(1000);
  TF_RETURN_IF_ERROR(service::check(spec));
  return spec;
}

}  // namespace tf::tuner_cli
