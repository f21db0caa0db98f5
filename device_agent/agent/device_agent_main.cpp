#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <thread>

#include "absl/strings/str_join.h"
#include "base/command_line.h"
#include "base/cpu_list.h"
#include "base/exit_code.h"
#include "base/status.h"
#include "device_agent/agent/agent.h"
#include "device_agent/agent/facts.h"
#include "device_agent/agent/worker_executor.h"
#include "device_agent/worker/worker.h"
#include "proto/config/v1/farm.pb.h"
#include "proto/farm/v1/farm.pb.h"
#include "rpc/daemon_environment.h"
#include "rpc/stop_signals.h"
#include "rpc/text_config.h"

namespace {

using tunefarm::config::v1::DeviceAgent;

DeviceAgent default_config() {
  DeviceAgent config;
  config.set_tracker("127.0.0.1:7190");
  config.set_device("cpu");
  config.set_cache_mib(512);
  config.set_log_level("info");
  return config;
}

absl::StatusOr<std::vector<uint32_t>> slot_cpus(const std::string& list) {
  const std::vector<uint32_t> allowed = tf::agent::allowed_cpus();
  if (list.empty()) return allowed;
  TF_ASSIGN_OR_RETURN(std::vector<uint32_t> cpus, tf::parse_cpu_list(list));
  std::ranges::sort(cpus);
  if (std::ranges::adjacent_find(cpus) != cpus.end())
    return absl::InvalidArgumentError("--cpus " + list + ": name each CPU once");
  for (const uint32_t cpu : cpus) {
    if (std::ranges::find(allowed, cpu) == allowed.end()) {
      return absl::InvalidArgumentError("--cpus " + list + ": this process may run on " +
                                        absl::StrJoin(allowed, ",") + " only");
    }
  }
  return cpus;
}

absl::Status serve(DeviceAgent config) {
  tf::rpc::log_to_stderr("device_agent", config.log_level());
  tf::rpc::StopSignals signals;
  if (config.key().empty())
    return absl::InvalidArgumentError("a device needs a key that tuners ask for: give --key");
  TF_ASSIGN_OR_RETURN(const tf::rpc::Endpoint tracker, tf::rpc::parse_endpoint(config.tracker()));
  TF_RETURN_IF_ERROR(tf::rpc::require_loopback(tracker, "--tracker"));
  TF_ASSIGN_OR_RETURN(const std::vector<uint32_t> cpus, slot_cpus(config.cpus()));
  config.set_cpus(absl::StrJoin(cpus, ","));
  if (config.state_dir().empty())
    config.set_state_dir(tf::rpc::default_state_folder() + "/agent-" + config.key());
  TF_ASSIGN_OR_RETURN(const auto worker, tf::worker::Worker::start({.cpus = {cpus.begin(), cpus.end()}}));
  tf::agent::WorkerExecutor executor(*worker);

  tunefarm::farm::v1::DeviceFacts facts = tf::agent::read_facts();
  facts.set_fingerprint(worker->device_state().fingerprint());
  TF_ASSIGN_OR_RETURN(const double peak_gflops, worker->peak_gflops());
  facts.set_peak_gflops(peak_gflops);
  TF_ASSIGN_OR_RETURN(const auto agent,
                      tf::agent::Agent::create({.tracker = tracker,
                                                .key = config.key(),
                                                .id = config.id(),
                                                .state_dir = config.state_dir(),
                                                .cpus = cpus,
                                                .version = TF_VERSION,
                                                .cache_bytes = uint64_t{config.cache_mib()} << 20},
                                               facts, executor));
  config.set_id(agent->id());
  spdlog::info("{}, {:.0f} GFLOP/s a thread; configuration: {}", facts.cpu_model(), peak_gflops,
               tf::rpc::one_line(config));
  absl::Status ended;
  std::thread serving([&] {
    ended = agent->run();
    signals.stop_waiting();
  });
  if (signals.wait() != 0) {
    spdlog::info("stopping once the running trial has ended; a second signal stops at once");
    agent->stop();
  }
  serving.join();
  return ended;
}

void build(CLI::App& app, DeviceAgent& config, std::string& config_path) {
  app.add_option("--config", config_path,
                 "File in protobuf text format (proto/config/v1/farm.proto); flags override it");
  app.add_option("--tracker", *config.mutable_tracker(), "The tracker's HOST:PORT")->capture_default_str();
  app.add_option("--key", *config.mutable_key(),
                 "What tuners ask for, as in --device KEY; devices that are alike share one");
  app.add_option("--cpus", *config.mutable_cpus(), "CPUs that candidates may use, as in 0-3,6 [all]");
  app.add_option("--device", *config.mutable_device(), "What to measure on")
      ->check(CLI::IsMember({"cpu"}))
      ->capture_default_str();
  app.add_option("--id", *config.mutable_id(),
                 "Unique name of this device [made on the first start, kept in the state folder]");
  app.add_option("--state-dir", *config.mutable_state_dir(),
                 "Newest lease and artifact cache [~/.local/state/tunefarm/agent-KEY]");
  app.add_option_function<uint32_t>(
         "--cache-mib", [&](uint32_t value) { config.set_cache_mib(value); }, "Bound of the artifact cache")
      ->check(CLI::Range(1, 1 << 20))
      ->default_str(std::to_string(config.cache_mib()));
  app.add_option("--log-level", *config.mutable_log_level(), "debug, info, warning or error")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}))
      ->capture_default_str();
  app.footer(
      "Example: device_agent --tracker 127.0.0.1:7190 --key box --cpus 0\n"
      "Reconnects to its tracker for ever. SIGINT or SIGTERM: the running trial ends, then the lease is "
      "handed "
      "back.\n"
      "Exit codes: 0 stopped, 1 failed or refused by the tracker, 2 usage, 130 second Ctrl-C.");
}

// Parses the command line onto `config`; the exit code if there is nothing to run.
std::optional<int> parse(int argc, char** argv, DeviceAgent& config, std::string& config_path) {
  CLI::App app("Offers this machine to a tracker and measures candidate kernels on it", "device_agent");
  build(app, config, config_path);
  return tf::parse_command_line(app, argc, argv);
}

}  // namespace

int main(int argc, char** argv) {
  DeviceAgent config = default_config();
  std::string config_path;
  if (const std::optional<int> done = parse(argc, argv, config, config_path)) return *done;
  absl::Status status;
  if (!config_path.empty()) {
    // Again on top of the file, so that flags override it.
    config = default_config();
    status = tf::rpc::merge_text_config(config_path, config);
    parse(argc, argv, config, config_path);
  }
  if (status.ok()) status = serve(std::move(config));
  return status.ok() ? tf::kExitOk : tf::report_error("device_agent", status);
}
