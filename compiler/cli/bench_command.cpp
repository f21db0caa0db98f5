// compiler bench: how long a built model takes, and with --profile where.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/cli/counted.h"
#include "base/cli/exit_code.h"
#include "base/cli/text_table.h"
#include "base/files/output_file.h"
#include "base/statistics/paired.h"
#include "base/statistics/race.h"
#include "base/status.h"
#include "base/text/json_text.h"
#include "base/text/printable.h"
#include "compiler/cli/commands.h"
#include "compiler/cli/model_arguments.h"
#include "compiler/cli/profile.h"
#include "compiler/cli/profile_svg.h"
#include "compiler/driver/loaded_model.h"
#include "compiler/driver/turns.h"
#include "compiler/graph/graph.h"
#include "compiler/runtime/cpu_limit.h"
#include "compiler/target/target.h"

namespace tf::compiler_cli {
namespace {

using driver::LoadedModel;

constexpr int kWarmUp = 3;  // runs of a single build that are not timed

struct BenchArguments {
  std::vector<std::string> folders;
  int threads = 1, runs = 30;
  std::vector<int> affinity;  // CPUs; empty: any
  tensor::Binding sizes;
  bool profile = false, json = false;
  std::string svg;  // a file for the profile's drawing; empty: none
};

void print(const std::vector<double>& samples_ms, const Profile& profile) {
  const std::vector<double> s = sorted(samples_ms);
  std::printf("%s: median %.3f ms, p10 %.3f, p90 %.3f, p99 %.3f, min %.3f, max %.3f\n",
              counted(std::ssize(s), "run").c_str(), percentile(s, 0.5), percentile(s, 0.1),
              percentile(s, 0.9), percentile(s, 0.99), s.front(), s.back());
  if (profile.kernels.empty()) return;
  if (profile.device.empty())
    std::printf("FMA peak: %.0f GFLOP/s%s; kernels take %.3f ms together\n", profile.peak_gflops,
                profile.memory_gb_per_s > 0
                    ? absl::StrFormat("; memory: %.1f GB/s read", profile.memory_gb_per_s).c_str()
                    : "",
                profile.total_ms);
  else
    std::printf("on %s, one kernel at a time by its clock: %.3f ms together\n", profile.device.c_str(),
                profile.total_ms);
  std::vector<std::vector<std::string>> rows;
  for (const KernelRow& row : profile.kernels)
    rows.push_back({row.name, absl::StrFormat("%.1f", row.median_ns / 1e3),
                    absl::StrFormat("%.1f%%", row.share * 100), absl::StrFormat("%.1f", row.gflops()),
                    profile.peak_gflops > 0 ? absl::StrFormat("%.1f%%", row.of_peak * 100) : "-",
                    row.key.substr(0, 12)});
  std::printf("%s", text_table({{"kernel", Cells::kShortened},
                                {"us", Cells::kWhole, Side::kRight},
                                {"share", Cells::kWhole, Side::kRight},
                                {"GFLOP/s", Cells::kWhole, Side::kRight},
                                {"of peak", Cells::kWhole, Side::kRight},
                                {"key", Cells::kLeftOut}},
                               std::move(rows), terminal_width())
                        .c_str());
  // Neither is a mistake of the clock.
  if (std::ranges::any_of(profile.kernels, [](const KernelRow& row) { return row.of_peak > 1; }))
    std::printf(
        "above 100%%: the peak counts multiply-adds only, and Winograd needs fewer operations than the\n"
        "definition, whose FLOPs are shown\n");
}

void print_json(const std::vector<double>& samples_ms, const Profile& profile) {
  nlohmann::json result = {{"median_ms", percentile(sorted(samples_ms), 0.5)},
                           {"min_ms", sorted(samples_ms).front()},
                           {"samples_ms", samples_ms}};
  if (!profile.kernels.empty()) {
    if (profile.device.empty())
      result["peak_gflops"] = profile.peak_gflops;
    else
      result["device"] = profile.device;
    result["kernels_ms"] = profile.total_ms;
    if (profile.memory_gb_per_s > 0) result["memory_gb_per_s"] = profile.memory_gb_per_s;
  }
  for (const KernelRow& row : profile.kernels)
    result["kernels"].push_back(
        {{"name", row.name},
         {"key", row.key},
         {"flops", row.flops},
         {"bytes", row.bytes},
         {"median_ns", row.median_ns},
         {"gflops", row.gflops()},
         {"share", row.share},
         {"share_of_peak", profile.peak_gflops > 0 ? nlohmann::json(row.of_peak) : nullptr}});
  std::printf("%s\n", json_text(result, 1).c_str());
}

// A network takes the same time each run on a machine that does nothing else.
void warn_of_busy_machine(const std::vector<double>& samples_ms) {
  const std::vector<double> s = sorted(samples_ms);
  const double ratio = percentile(s, 0.5) / s.front();
  if (ratio < 1.5) return;
  std::fprintf(stderr,
               "compiler bench: warning: the median run took %.1f times as long as the fastest: the machine "
               "was busy; repeat on an idle machine, or compare the fastest runs\n",
               ratio);
}

int cpus_of(const BenchArguments& arguments) {
  const std::vector<int>& cpus = arguments.affinity;
  if (cpus.empty()) return tf_usable_cpus();
  const auto used = std::min(static_cast<int>(cpus.size()), arguments.threads);
  return static_cast<int>(std::set<int>(cpus.begin(), cpus.begin() + used).size());
}

// What is then measured is how long threads wait for their turn.
void warn_of_shared_cpus(int threads, int cpus) {
  if (threads <= cpus) return;
  std::fprintf(stderr,
               "compiler bench: warning: %d threads share %d CPU%s: use at most --threads %d, or give more "
               "CPUs with --affinity\n",
               threads, cpus, cpus == 1 ? "" : "s", cpus);
}

absl::StatusOr<std::unique_ptr<LoadedModel>> open_bound(const std::string& folder,
                                                        const BenchArguments& arguments) {
  TF_ASSIGN_OR_RETURN(std::unique_ptr<LoadedModel> model, LoadedModel::open(folder, arguments.threads));
  TF_RETURN_IF_ERROR(model->set_affinity(arguments.affinity));
  // Of builds that are compared, some may be of one size.
  const bool is_of_one_size = model->dims().empty() && arguments.folders.size() > 1;
  TF_ASSIGN_OR_RETURN(const std::vector<graph::HostTensor> inputs,
                      random_inputs_at(*model, 1, is_of_one_size ? tensor::Binding() : arguments.sizes));
  TF_RETURN_IF_ERROR(model->bind(inputs));
  return model;
}

// How a build stands beside the first one.
struct Compared {
  std::string folder;
  std::vector<double> samples_ms;  // one a round
  Paired paired;
};

// "0.974 (0.961 to 0.988)"; the first one has none.
std::vector<std::string> compared_row(const Compared& build, bool is_first) {
  const Estimate& ratio = build.paired.ratio;
  return {build.folder, absl::StrFormat("%.3f ms", build.paired.other),
          is_first ? "" : absl::StrFormat("%.3f", ratio.median_ns),
          is_first ? "" : absl::StrFormat("%.3f to %.3f", ratio.low_ns, ratio.high_ns)};
}

void print(const std::vector<Compared>& builds) {
  std::vector<std::vector<std::string>> rows;
  for (const Compared& build : builds) rows.push_back(compared_row(build, &build == &builds.front()));
  std::printf("%s", text_table({{"build", Cells::kShortened},
                                {"time", Cells::kWhole, Side::kRight},
                                {"ratio", Cells::kWhole, Side::kRight},
                                {"95% interval"}},
                               std::move(rows), terminal_width())
                        .c_str());
  const std::string& first = builds.front().folder;
  std::printf("%s; ratio: median of the ratios to %s in each round; time: %s's median times the ratio\n",
              counted(std::ssize(builds.front().samples_ms), "round").c_str(), first.c_str(), first.c_str());
  for (const Compared& build : std::span(builds).subspan(1))
    std::printf("%s is %s than %s\n", build.folder.c_str(),
                std::string(verdict_words(verdict_of(build.paired.ratio))).c_str(), first.c_str());
}

void print_json(const std::vector<Compared>& builds) {
  nlohmann::json all = nlohmann::json::array();
  for (const Compared& build : builds) {
    const Estimate& ratio = build.paired.ratio;
    all.push_back({{"folder", build.folder},
                   {"time_ms", build.paired.other},
                   {"ratio", ratio.median_ns},
                   {"ratio_interval", {ratio.low_ns, ratio.high_ns}},
                   {"verdict", &build == &builds.front() ? "first" : verdict_words(verdict_of(ratio))},
                   {"median_ms", estimate(build.samples_ms).median_ns},
                   {"min_ms", std::ranges::min(build.samples_ms)},
                   {"samples_ms", build.samples_ms}});
  }
  std::printf("%s\n", json_text({{"builds", std::move(all)}}, 1).c_str());
}

// "data f32[1, 3, 224, 224] -> prob f32[1, 1000]", at the sizes of the run.
absl::StatusOr<std::string> interface_of(LoadedModel& model, const BenchArguments& arguments) {
  const auto text = [](const std::vector<graph::HostTensor>& tensors) {
    return absl::StrJoin(tensors, ", ", [](std::string* out, const graph::HostTensor& tensor) {
      absl::StrAppend(out, printable(tensor.name), " ",
                      graph::to_string(graph::tensor_type(tensor.element, tensor.shape)));
    });
  };
  TF_RETURN_IF_ERROR(model.run_bound().status());
  std::vector<graph::HostTensor> inputs = model.inputs();
  TF_ASSIGN_OR_RETURN(const std::vector<std::vector<int64_t>> shapes,
                      model.shapes_at(model.dims().empty() ? tensor::Binding() : arguments.sizes));
  for (size_t i = 0; i < inputs.size(); ++i) inputs[i].shape = shapes[i];
  return absl::StrCat(text(inputs), " -> ", text(model.last_outputs()));
}

// What differs in these is no build of the same network, and a ratio of their times says nothing.
absl::Status check_same_network(const BenchArguments& arguments, LoadedModel& first,
                                const std::string& other_folder, LoadedModel& other) {
  const std::string& first_folder = arguments.folders[0];
  TF_ASSIGN_OR_RETURN(const std::string one, interface_of(first, arguments));
  TF_ASSIGN_OR_RETURN(const std::string another, interface_of(other, arguments));
  if (one != another)
    return absl::InvalidArgumentError(
        absl::StrCat("cannot compare builds of different networks: ", first_folder, " computes ", one,
                     " and ", other_folder, " ", another, "; time each separately"));
  // Where fusing differs, a little does.
  constexpr double kSame = 0.05;
  if (!first.dims().empty() || !other.dims().empty())
    return absl::OkStatus();  // which count for the greatest sizes
  if (std::abs(other.flops() - first.flops()) > kSame * first.flops())
    std::fprintf(stderr,
                 "compiler bench: warning: %s needs %.4g GFLOP and %s %.4g: they may be builds of different "
                 "networks\n",
                 first_folder.c_str(), first.flops() / 1e9, other_folder.c_str(), other.flops() / 1e9);
  return absl::OkStatus();
}

// Several builds, in turns; each against the first.
absl::StatusOr<int> compare(const BenchArguments& arguments) {
  std::vector<driver::Run> runs;
  std::shared_ptr<LoadedModel> first;
  for (const std::string& folder : arguments.folders) {
    TF_ASSIGN_OR_RETURN(std::shared_ptr<LoadedModel> model, open_bound(folder, arguments));
    if (!first) first = model;
    TF_RETURN_IF_ERROR(check_same_network(arguments, *first, folder, *model));
    runs.push_back([model] { return model->run_bound(); });
  }
  TF_ASSIGN_OR_RETURN(const std::vector<driver::Rounds> rounds,
                      driver::run_in_turns(runs, {.rounds = arguments.runs}));
  std::vector<Compared> builds;
  for (size_t i = 0; i < rounds.size(); ++i) {
    std::vector<double> samples_ms = rounds[i];
    for (double& sample : samples_ms) sample /= 1e6;
    const Paired paired = compare_paired(i == 0 ? samples_ms : builds[0].samples_ms, samples_ms);
    builds.push_back({arguments.folders[i], std::move(samples_ms), paired});
  }
  arguments.json ? print_json(builds) : print(builds);
  return kExitOk;
}

// That the drawing takes the place of nothing in the build's folder, before anything is timed for it.
absl::Status check_svg(const BenchArguments& arguments) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(arguments.folders[0], error))
    if (entry.path().extension() != ".svg") files.push_back(entry.path());
  TF_RETURN_IF_ERROR(check_is_no_input(arguments.svg, "--svg", files));
  return check_output(arguments.svg);
}

absl::StatusOr<int> run(const BenchArguments& arguments) {
  warn_of_shared_cpus(arguments.threads, cpus_of(arguments));
  if (arguments.folders.size() > 1 && arguments.profile)
    return absl::InvalidArgumentError(
        "--profile takes one folder, because kernels of different builds cannot be compared");
  if (arguments.folders.size() > 1) return compare(arguments);
  if (!arguments.svg.empty()) TF_RETURN_IF_ERROR(check_svg(arguments));
  TF_ASSIGN_OR_RETURN(const auto model, open_bound(arguments.folders[0], arguments));
  std::vector<double> samples_ms;
  for (int i = -kWarmUp; i < arguments.runs; ++i) {
    if (i == 0 && arguments.profile) model->profile();
    TF_ASSIGN_OR_RETURN(const double ns, model->run_bound());
    if (i >= 0) samples_ms.push_back(ns / 1e6);
  }
  warn_of_busy_machine(samples_ms);
  const Profile profile = arguments.profile ? profile_of(*model, arguments.threads) : Profile{};
  arguments.json ? print_json(samples_ms, profile) : print(samples_ms, profile);
  if (!arguments.svg.empty()) {
    TF_RETURN_IF_ERROR(
        write_output(arguments.svg, profile_svg(profile, arguments.folders[0], arguments.threads)));
    std::fprintf(stderr, "wrote %s\n", arguments.svg.c_str());
  }
  return kExitOk;
}

}  // namespace

void add_bench_command(CLI::App& app, Invocation& invocation) {
  auto arguments = std::make_shared<BenchArguments>();
  CLI::App* command = app.add_subcommand("bench", "Time a built model on random inputs");
  command
      ->add_option("folder", arguments->folders,
                   "Folder that `compiler build -o` wrote. Several builds of one network run alternately and "
                   "are compared with the first")
      ->required();
  command->add_option("--threads", arguments->threads, "Number of threads")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  add_affinity_option(*command, arguments->affinity);
  command
      ->add_option("--runs", arguments->runs,
                   absl::StrCat("Number of timed runs, after ", kWarmUp,
                                " warm-up runs. With several builds: number of rounds; each build runs ",
                                driver::kTurn, " times a round, and the first of these is discarded"))
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  add_sizes_option(*command, arguments->sizes, "Size to run at, of a model that was built for a range");
  auto* profile = command->add_flag(
      "--profile", arguments->profile,
      "Also print the time, rate and share of the FMA peak of each kernel; one folder only");
  command
      ->add_option("--svg", arguments->svg,
                   "Draw the profile to this file: kernels by time, and a roofline with the measured peaks")
      ->needs(profile);
  command->add_flag("--json", arguments->json, "Print the result as JSON");
  command->footer(
      "Example: compiler bench build/squeezenet --threads 1 --profile --svg profile.svg\n"
      "         compiler bench build/untuned build/tuned");
  command->callback([arguments, &invocation] { invocation.run = [arguments] { return run(*arguments); }; });
}

}  // namespace tf::compiler_cli
