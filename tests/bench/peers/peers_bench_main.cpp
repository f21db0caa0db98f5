// Our kernels against OpenBLAS, BLIS and oneDNN, in turns within one process.
// docs/explanation/peer-benchmark.md says how.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "base/cli/command_line.h"
#include "base/cli/exit_code.h"
#include "base/files/file.h"
#include "base/status.h"
#include "base/text/json_text.h"
#include "compiler/runtime/clock.h"
#include "compiler/runtime/peak.h"
#include "compiler/schedule/numerics.h"
#include "database/stores/open_store.h"
#include "tests/bench/kernels/kernel_task.h"
#include "tests/bench/peers/blas_peers.h"
#include "tests/bench/peers/memory_floor.h"
#include "tests/bench/peers/network_kernels.h"
#include "tests/bench/peers/onednn/onednn_peer.h"
#include "tests/bench/peers/our_kernel.h"
#include "tests/bench/peers/report.h"
#include "tests/bench/peers/tuning.h"
#include "tuner/service/jobs/job_spec.h"

namespace tf::peers {
namespace {

struct Arguments {
  std::string kernels = ".*", elements = "f32", database, json, allow, print;
  std::vector<std::string> schedules, networks;
  int threads = 1;
  int rounds = 15;
  double turn_ms = 10;
  double tune_minutes = 0;
  bool row_major = false, list = false, only_ours = false;
};

struct Bench {
  const Arguments& arguments;
  target::Target target = target::host_target();
  Runtime runtime{arguments.threads};
  std::unique_ptr<driver::BuildPool> pool;
  std::unique_ptr<database::Records> records;  // may be null
  std::vector<std::string> allowed_numerics;
};

absl::StatusOr<NamedSchedule> find_schedule(const Bench& bench, const session::Task& task,
                                            const std::string& spec) {
  const int threads = bench.arguments.threads;
  if (spec == "default") return default_schedule_of(task, bench.target, threads, bench.allowed_numerics);
  if (spec == "best")
    return best_schedule_of(task, bench.target, threads, bench.records.get(), bench.allowed_numerics);
  TF_ASSIGN_OR_RETURN(std::string text, read_file(spec == "-" ? "/dev/stdin" : spec));
  return NamedSchedule{.name = spec, .text = std::move(text)};
}

absl::Status print_kernel(const Bench& bench, const session::Task& task) {
  TF_ASSIGN_OR_RETURN(const NamedSchedule schedule,
                      find_schedule(bench, task, bench.arguments.schedules.front()));
  if (bench.arguments.print == "workload") {
    std::printf("%s", tensor::canonical_text(task.kernel.workload).c_str());
  } else if (bench.arguments.print == "schedule") {
    std::printf("%s", schedule.text.c_str());
  } else {
    const Form form = bench.arguments.print == "ir" ? Form::kIr : Form::kAssembly;
    TF_ASSIGN_OR_RETURN(const std::string text, show_kernel(*bench.pool, task, bench.target, schedule, form));
    std::printf("%s\n", text.c_str());
  }
  return absl::OkStatus();
}

absl::StatusOr<Answer> right_answer(const Bench& bench, const bench::Kernel& kernel,
                                    const session::Task& task, const bench::Operands& operands) {
  if (std::holds_alternative<bench::NetworkKernel>(kernel.shape))
    return reference_answer(*bench.pool, task, bench.target, operands, bench.runtime);
  return Answer{.elements = operands.output_elements, .at = [&kernel, &operands](int64_t index) {
                  return bench::expected_element(kernel, operands, index);
                }};
}

absl::StatusOr<Row> compare(const Bench& bench, const bench::Kernel& kernel) {
  const Arguments& arguments = bench.arguments;
  const session::Task task = bench::task_of(kernel, bench.target, arguments.row_major);
  const bench::Operands operands = bench::make_operands(kernel);
  std::vector<Contender> contenders;
  for (const std::string& spec : arguments.schedules) {
    TF_ASSIGN_OR_RETURN(const NamedSchedule schedule, find_schedule(bench, task, spec));
    TF_ASSIGN_OR_RETURN(Contender ours,
                        our_kernel(*bench.pool, task, bench.target, schedule, operands, bench.runtime));
    contenders.push_back(std::move(ours));
  }
  if (!arguments.only_ours) {
    TF_ASSIGN_OR_RETURN(const double tolerance, plain_tolerance(*bench.pool, task, bench.target));
    const bench::Gemm* gemm = std::get_if<bench::Gemm>(&kernel.shape);
    if (gemm != nullptr && kernel.element == tensor::Element::kFloat32)
      absl::c_move(blas_contenders(*gemm, operands, arguments.threads, tolerance),
                   std::back_inserter(contenders));
    const OnednnOptions options{.threads = arguments.threads,
                                .tolerance = tolerance,
                                .bf16 = schedule::allows(bench.allowed_numerics, schedule::kBf16)};
    absl::c_move(onednn_contenders(kernel, operands, options), std::back_inserter(contenders));
  }
  TF_ASSIGN_OR_RETURN(const Answer right, right_answer(bench, kernel, task, operands));
  TF_RETURN_IF_ERROR(check_answers(kernel.name, right, contenders));
  const Turns turns =
      take_turns(contenders, {.rounds = arguments.rounds,
                              .turn_ms = arguments.turn_ms,
                              .runtime = bench.runtime.get(),
                              .move_bytes = memory_traffic(bench::traffic_of(kernel), bench.runtime)});
  return make_row(kernel, contenders, turns);
}

// Says on stderr from time to time how far a long comparison is, and about how long the rest takes.
class Progress {
 public:
  explicit Progress(std::span<const bench::Kernel> kernels) : kernels_(kernels.size()) {
    for (const bench::Kernel& kernel : kernels) left_ += effort(kernel);
  }

  void done_one(const bench::Kernel& kernel) {
    const int64_t now_ns = tf_monotonic_ns();
    ++done_;
    spent_ += effort(kernel);
    left_ -= effort(kernel);
    if (done_ == kernels_ || now_ns - said_ns_ < kPauseNs) return;
    said_ns_ = now_ns;
    const double minutes = static_cast<double>(now_ns - start_ns_) / 60e9;
    std::fprintf(stderr, "peers_bench: %zu of %zu kernels after %.1f min, about %.1f min left\n", done_,
                 kernels_, minutes, minutes / spent_ * left_);
  }

 private:
  static constexpr int64_t kPauseNs = 20'000'000'000;
  // Building and turns take about as long for all small kernels; of large ones, where a turn is one run,
  // operations count: a GFLOP as four small kernels.
  static double effort(const bench::Kernel& kernel) { return 1 + 4e-9 * bench::flops_of(kernel); }

  size_t kernels_, done_ = 0;
  double spent_ = 0, left_ = 0;
  int64_t start_ns_ = tf_monotonic_ns(), said_ns_ = start_ns_;
};

struct Comparison {
  std::vector<Row> rows;
  int failures = 0;  // kernels that were not compared, each with a line on stderr
};
Comparison compare_all(const Bench& bench, std::span<const bench::Kernel> kernels) {
  const bool details = kernels.size() == 1 || bench.arguments.schedules.size() > 1;
  Comparison all;
  Progress progress(kernels);
  std::optional<bench::Family> family;
  print_header();
  for (const bench::Kernel& kernel : kernels) {
    absl::StatusOr<Row> row = compare(bench, kernel);
    progress.done_one(kernel);
    if (!row.ok()) {
      report_error("peers_bench", row.status());
      ++all.failures;
      continue;
    }
    if (!bench.arguments.networks.empty() && family != row->family) print_family(row->family);
    family = row->family;
    print_row(*row);
    if (details) print_entries(*row);
    all.rows.push_back(*std::move(row));
  }
  if (all.rows.size() > 1) print_summary(all.rows);
  return all;
}

absl::StatusOr<std::vector<bench::Kernel>> chosen_kernels(const Arguments& arguments,
                                                          const target::Target& target) {
  TF_ASSIGN_OR_RETURN(const tensor::Element element, tensor::element_from_name(arguments.elements));
  if (element != tensor::Element::kFloat32 && !arguments.networks.empty())
    return absl::InvalidArgumentError(absl::StrCat("--elements ", arguments.elements,
                                                   " is of the table's kernels; ",
                                                   "networks have their own: leave --network out"));
  std::vector<bench::Kernel> all;
  for (const bench::Kernel& kernel : bench::kernel_table())
    all.push_back(bench::with_element(kernel, element));
  for (const std::string& network : arguments.networks) {
    TF_ASSIGN_OR_RETURN(std::vector<bench::Kernel> more, model_kernels(network, target.fp32_lanes()));
    absl::c_move(more, std::back_inserter(all));
  }
  keep_distinct(all);
  if (!arguments.networks.empty()) sort_by_family(all);
  try {
    const std::regex pattern(arguments.kernels);
    std::erase_if(all, [&](const bench::Kernel& kernel) { return !std::regex_search(kernel.name, pattern); });
  } catch (const std::regex_error& error) {
    return absl::InvalidArgumentError(
        absl::StrCat("--kernels ", arguments.kernels, " is not a regular expression: ", error.what()));
  }
  return all;
}

absl::Status write_report(const Bench& bench, std::span<const Row> rows) {
  nlohmann::json kernels = nlohmann::json::array();
  for (const Row& row : rows) kernels.push_back(to_json(row));
  const nlohmann::json report = {{"target", bench.target.text()},
                                 {"threads", bench.arguments.threads},
                                 {"rounds", bench.arguments.rounds},
                                 {"buffers", "hot"},
                                 {"peak_gflops", tf_peak_gflops_threads(bench.runtime.get(), 100'000'000)},
                                 {"kernels", kernels}};
  return write_file(bench.arguments.json, json_text(report, 1) + "\n");
}

absl::Status tune(const Bench& bench, std::span<const bench::Kernel> kernels) {
  const Arguments& arguments = bench.arguments;
  if (arguments.database.empty())
    return absl::InvalidArgumentError("--tune-minutes needs --db: where to keep what is measured");
  return tune_kernels(kernels,
                      {.target = bench.target,
                       .threads = arguments.threads,
                       .row_major = arguments.row_major,
                       .allowed_numerics = bench.allowed_numerics,
                       .minutes = arguments.tune_minutes},
                      arguments.database);
}

absl::Status run(const Arguments& arguments) {
  Bench bench{.arguments = arguments};
  TF_ASSIGN_OR_RETURN(const std::vector<bench::Kernel> kernels, chosen_kernels(arguments, bench.target));
  if (kernels.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("no kernel's name has '", arguments.kernels, "' in it; --list prints all"));
  }
  if (arguments.list) {
    for (const bench::Kernel& kernel : kernels) std::printf("%s\n", kernel.name.c_str());
    return absl::OkStatus();
  }
  TF_ASSIGN_OR_RETURN(bench.pool, driver::BuildPool::create({}));
  TF_ASSIGN_OR_RETURN(bench.allowed_numerics, schedule::parse_numerics(arguments.allow));
  if (arguments.tune_minutes > 0) return tune(bench, kernels);
  if (!arguments.database.empty()) {
    TF_ASSIGN_OR_RETURN(bench.records, database::open_records(arguments.database));
  }
  if (!arguments.print.empty())
    return print_kernel(bench, bench::task_of(kernels.front(), bench.target, arguments.row_major));
  const Comparison comparison = compare_all(bench, kernels);
  if (!arguments.json.empty()) TF_RETURN_IF_ERROR(write_report(bench, comparison.rows));
  if (comparison.failures == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(comparison.failures, " of ", kernels.size(),
                                                    " kernels were not compared; see the lines above"));
}

void add_options(CLI::App& app, Arguments& arguments) {
  app.add_option("--kernels", arguments.kernels, "Regular expression that finds names of kernels")
      ->capture_default_str();
  app.add_option("--elements", arguments.elements,
                 "Of the operands: f32, bf16, i8, or u8 (with weights of i8); sums of bytes are i32")
      ->check(CLI::IsMember({"f32", "bf16", "i8", "u8"}))
      ->capture_default_str();
  app.add_option("--schedule", arguments.schedules,
                 "Ours: best (of --db, else default), default, a FILE, or - for stdin; several run in turns "
                 "[best]");
  app.add_option("--db", arguments.database, "Database with tuned schedules");
  app.add_option("--allow", arguments.allow, "Reduced numerics that ours may use, as in tuner tune");
  app.add_option("--threads", arguments.threads, "Of every contender")->check(CLI::Range(1, 1024));
  app.add_option("--rounds", arguments.rounds, "Turns of each contender; 6 or more give 95% bounds")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app.add_option("--turn-ms", arguments.turn_ms, "Timed, of each turn")
      ->check(at_least(0.01))
      ->capture_default_str();
  app.add_option("--tune-minutes", arguments.tune_minutes,
                 "Tune the kernels into --db for so long in all, at most 2 minutes each; nothing is compared")
      ->check(at_least(0));
  app.add_option("--json", arguments.json, "Write the report to FILE, too");
  app.add_option("--print", arguments.print, "Of the first kernel that is found; nothing runs")
      ->check(CLI::IsMember({"workload", "schedule", "ir", "asm"}));
  app.add_option("--network", arguments.networks,
                 "ONNX files, each distinct kernel of which is compared, too");
  app.add_flag("--row-major", arguments.row_major, "Our feature maps as [channels, height, width]");
  app.add_flag("--only-ours", arguments.only_ours, "Without peers");
  app.add_flag("--list", arguments.list, "Names of kernels; nothing runs");
  app.footer(
      "Example: peers_bench --kernels 3x3_64_64 --print schedule > a.txt; edit it; then\n"
      "         peers_bench --kernels 3x3_64_64 --schedule a.txt --schedule default");
}

// Idle workers of OpenBLAS and of OpenMP (oneDNN's) otherwise run on for 26 ms and for some ms, which is in
// the turns of the others. The first reads its 2^18 ticks when it is opened, the second is in this program
// and has read its settings: with them the program starts again.
void let_idle_workers_sleep(char** argv) {
  constexpr int kUnlessSet = 0;
  setenv("OPENBLAS_THREAD_TIMEOUT", "18", kUnlessSet);
  if (getenv("GOMP_SPINCOUNT") != nullptr) return;
  setenv("GOMP_SPINCOUNT", "30000", kUnlessSet);
  execv("/proc/self/exe", argv);  // should it fail, it goes on as it is
}

}  // namespace
}  // namespace tf::peers

int main(int argc, char** argv) {
  CLI::App app("Our kernels against OpenBLAS, BLIS and oneDNN, in turns", "peers_bench");
  tf::peers::Arguments arguments;
  tf::peers::add_options(app, arguments);
  if (const std::optional<int> done = tf::parse_command_line(app, argc, argv)) return *done;
  if (arguments.schedules.empty()) arguments.schedules = {"best"};
  tf::peers::let_idle_workers_sleep(argv);
  const absl::Status status = tf::peers::run(arguments);
  return tf::finish_output("peers_bench",
                           status.ok() ? tf::kExitOk : tf::report_error("peers_bench", status));
}
