// Networks tuned for a while by an agent on this machine's device: trials, and the time of a run before and after. Fails
// where a network that was built with what was found does not answer as ONNX Runtime does.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/cli/command_line.h"
#include "base/files/file.h"
#include "base/status.h"
#include "compiler/driver/loaded_model.h"
#include "database/stores/open_store.h"
#include "tests/farm/one_agent.h"
#include "tests/integration/onnxruntime/reference.h"

namespace tf {
namespace {

constexpr double kTolerance = 1e-4;  // of the largest output

struct Arguments {
  std::vector<std::string> networks = {"squeezenet", "mobilenet_v2", "bert_mini"};
  std::string device = "opencl:0", target = "opencl", json, keep;
  double minutes = 1;
  int runs = 5;
};

// Of one job, as its records tell.
struct Trials {
  int64_t all = 0, right = 0;
  double first_s = 0;                      // from the submission to the first result
  std::vector<tensor::KernelKey> kernels;  // that have one
};

absl::StatusOr<Trials> trials_of(const std::string& database, int64_t began_unix_ns) {
  TF_ASSIGN_OR_RETURN(const auto records, database::open_records(database));
  Trials trials;
  TF_RETURN_IF_ERROR(records->scan({}, [&](const database::Measurement& record) {
    if (record.job_id == 0 || record.interleaved) return absl::OkStatus();
    if (trials.all++ == 0)
      trials.first_s = static_cast<double>(record.finished_unix_ns - began_unix_ns) / 1e9;
    trials.right += !database::is_failure(record.outcome);
    if (std::ranges::find(trials.kernels, record.problem) == trials.kernels.end())
      trials.kernels.push_back(record.problem);
    return absl::OkStatus();
  }));
  return trials;
}

absl::StatusOr<Distance> distance_of(const std::string& folder, const Reference& reference) {
  TF_ASSIGN_OR_RETURN(const auto model, driver::LoadedModel::open(folder, 1));
  TF_ASSIGN_OR_RETURN(const std::vector<graph::HostTensor> outputs, model->run(reference.inputs));
  return distance(outputs, reference.outputs);
}

absl::StatusOr<nlohmann::json> measure(const std::string& network, const Arguments& arguments) {
  farm_test::OneAgentFarm farm(arguments.device);
  const auto run = [&farm](const std::string& name, const std::vector<std::string>& options) {
    if (farm.run(name, options) == 0) return absl::OkStatus();
    return absl::InternalError(absl::StrCat(name, " ", options.front(),
                                            " failed: ", read_file(farm.file("errors.log")).value_or("")));
  };
  const std::string model = farm.file("model.onnx");
  TF_RETURN_IF_ERROR(run("compiler", {"zoo", network, "-o", model}));
  TF_ASSIGN_OR_RETURN(const Reference reference, ask_onnx_runtime(model, farm.file("")));
  const int64_t began_unix_ns = absl::GetCurrentTimeNanos();
  if (!farm.tune(model, arguments.target, {"--minutes", absl::StrCat(arguments.minutes)})) {
    farm.print_logs();
    return absl::InternalError(absl::StrCat(network, " was not tuned"));
  }
  TF_ASSIGN_OR_RETURN(const Trials trials, trials_of(farm.database(), began_unix_ns));
  const std::string untuned = farm.file("default"), tuned = farm.file("tuned");
  TF_RETURN_IF_ERROR(run("compiler", {"build", model, "--target", arguments.target, "-o", untuned}));
  TF_RETURN_IF_ERROR(
      run("compiler", {"build", model, "--target", arguments.target, "--db", farm.database(), "-o", tuned}));
  TF_RETURN_IF_ERROR(
      run("compiler", {"bench", untuned, tuned, "--runs", absl::StrCat(arguments.runs), "--json"}));
  TF_ASSIGN_OR_RETURN(const std::string timed, read_file(farm.file("run.log")));
  const nlohmann::json parsed = nlohmann::json::parse(timed, nullptr, /*allow_exceptions=*/false);
  if (!parsed.contains("builds")) return absl::InternalError("compiler bench printed no JSON: " + timed);
  const nlohmann::json& builds = parsed["builds"];
  TF_ASSIGN_OR_RETURN(const Distance far, distance_of(tuned, reference));
  if (!arguments.keep.empty())
    TF_RETURN_IF_ERROR(
        write_file(absl::StrCat(arguments.keep, "/", network, ".db"), *read_file(farm.database())));
  return nlohmann::json{{"network", network},
                        {"kernels", trials.kernels.size()},
                        {"trials", trials.all},
                        {"failed", trials.all - trials.right},
                        {"trials_per_s", static_cast<double>(trials.all) / (60 * arguments.minutes)},
                        {"first_result_s", trials.first_s},
                        {"default_ms", builds[0]["median_ms"]},
                        {"tuned_ms", builds[1]["median_ms"]},
                        {"ratio", builds[1]["ratio"]},
                        {"verdict", builds[1]["verdict"]},
                        {"difference", far.worst},
                        {"largest", far.largest}};
}

void print(const nlohmann::json& row) {
  std::printf("%-14s %7d %6d %6d %8.1f %8.1f %10.2f %10.2f %6.2f %10.1e %8.1e\n",
              row["network"].get<std::string>().c_str(), row["kernels"].get<int>(), row["trials"].get<int>(),
              row["failed"].get<int>(), row["trials_per_s"].get<double>(),
              row["first_result_s"].get<double>(), row["default_ms"].get<double>(),
              row["tuned_ms"].get<double>(), row["ratio"].get<double>(), row["difference"].get<double>(),
              row["largest"].get<double>());
  std::fflush(stdout);
}

int run(const Arguments& arguments) {
  std::printf("%-14s %7s %6s %6s %8s %8s %10s %10s %6s %10s %8s\n", "network", "kernels", "trials", "failed",
              "trials/s", "first s", "default ms", "tuned ms", "ratio", "difference", "of");
  nlohmann::json all = nlohmann::json::array();
  bool is_right = true;
  for (const std::string& network : arguments.networks) {
    const absl::StatusOr<nlohmann::json> row = measure(network, arguments);
    if (!row.ok()) {
      std::fprintf(stderr, "%s\n", std::string(row.status().message()).c_str());
      return 1;
    }
    print(*row);
    is_right = is_right && (*row)["difference"].get<double>() <= kTolerance * (*row)["largest"].get<double>();
    all.push_back(*row);
  }
  if (!arguments.json.empty()) std::ofstream(arguments.json) << all.dump(1) << "\n";
  if (is_right) return 0;
  std::fprintf(stderr, "answers differ from ONNX Runtime's by more than %g of the largest\n", kTolerance);
  return 1;
}

}  // namespace
}  // namespace tf

int main(int argc, char** argv) try {
  tf::Arguments arguments;
  CLI::App app("Networks tuned for a while by an agent on this machine's device");
  app.add_option("--device", arguments.device, "As of device_agent")->capture_default_str();
  app.add_option("--target", arguments.target)->capture_default_str();
  app.add_option("--minutes", arguments.minutes, "For each network")
      ->check(CLI::Range(0.1, 600.0))
      ->capture_default_str();
  app.add_option("--runs", arguments.runs, "Rounds of the comparison")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--json", arguments.json, "File to write");
  app.add_option("--keep", arguments.keep, "Folder in which to keep the databases");
  app.add_option("network", arguments.networks, "Of `compiler zoo list`");
  app.footer("Example: tuned_networks --minutes 1 squeezenet");
  if (const std::optional<int> done = tf::parse_command_line(app, argc, argv)) return *done;
  if (!tf::has_onnx_runtime()) {
    std::fprintf(stderr, "ONNX Runtime is not installed: deploy/install_peers.sh does it\n");
    return 77;
  }
  return tf::run(arguments);
} catch (const std::exception& error) {
  std::fprintf(stderr, "tuned_networks: %s\n", error.what());
  return 1;
}
