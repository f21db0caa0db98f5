#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <thread>

#include "absl/strings/str_join.h"
#include "base/exit_code.h"
#include "base/status.h"
#include "device_agent/agent/agent.h"
#include "device_agent/agent/facts.h"
#include "device_agent/agent/worker_executor.h"
#include "device_agent/worker/worker.h"
#include "proto/farm/v1/farm.pb.h"
#include "rpc/daemon_environment.h"
#include "rpc/stop_signals.h"

namespace {

struct Arguments {
  std::string tracker = "127.0.0.1:7190";
  std::string key;
  std::string id;
  std::string cpus;
  std::string device = "cpu";
  std::string state_dir;
  std::string log_level = "info";
  uint64_t cache_mib = 512;
};

absl::StatusOr<std::vector<uint32_t>> slot_cpus(const std::string& list) {
  const std::vector<uint32_t> allowed = tf::agent::allowed_cpus();
  if (list.empty()) return allowed;
  TF_ASSIGN_OR_RETURN(std::vector<uint32_t> cpus, tf::agent::parse_cpu_list(list));
  for (const uint32_t cpu : cpus) {
    if (std::ranges::find(allowed, cpu) == allowed.end()) {
      return absl::InvalidArgumentError("--cpus " + list + ": this process may run on " +
                                        absl::StrJoin(allowed, ",") + " only");
    }
  }
  return cpus;
}

absl::Status serve(const Arguments& arguments) {
  tf::rpc::log_to_stderr("device_agent", arguments.log_level);
  tf::rpc::StopSignals signals;
  TF_ASSIGN_OR_RETURN(const tf::rpc::Endpoint tracker, tf::rpc::parse_endpoint(arguments.tracker));
  TF_ASSIGN_OR_RETURN(const std::vector<uint32_t> cpus, slot_cpus(arguments.cpus));
  TF_ASSIGN_OR_RETURN(const auto worker, tf::worker::Worker::start({.cpus = {cpus.begin(), cpus.end()}}));
  tf::agent::WorkerExecutor executor(*worker);

  tunefarm::farm::v1::DeviceFacts facts = tf::agent::read_facts();
  facts.set_fingerprint(worker->device_state().fingerprint());
  TF_ASSIGN_OR_RETURN(const double peak_gflops, worker->peak_gflops());
  facts.set_peak_gflops(peak_gflops);
  const std::string state_dir = arguments.state_dir.empty()
                                    ? tf::rpc::default_state_folder() + "/agent-" + arguments.key
                                    : arguments.state_dir;
  TF_ASSIGN_OR_RETURN(const auto agent, tf::agent::Agent::create({.tracker = tracker,
                                                                  .key = arguments.key,
                                                                  .id = arguments.id,
                                                                  .state_dir = state_dir,
                                                                  .cpus = cpus,
                                                                  .version = TF_VERSION,
                                                                  .cache_bytes = arguments.cache_mib << 20},
                                                                 facts, executor));
  spdlog::info("device {} key {}: {}, CPUs {}, {:.0f} GFLOP/s a thread; tracker {}, state {}", agent->id(),
               arguments.key, facts.cpu_model(), absl::StrJoin(cpus, ","), peak_gflops, tracker.text(),
               state_dir);
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

void build(CLI::App& app, Arguments& arguments) {
  app.add_option("--tracker", arguments.tracker, "The tracker's HOST:PORT")->capture_default_str();
  app.add_option("--key", arguments.key,
                 "What tuners ask for, as in --device KEY; devices that are alike share one")
      ->required();
  app.add_option("--cpus", arguments.cpus, "CPUs that candidates may use, as in 0-3,6 [all]");
  app.add_option("--device", arguments.device, "What to measure on")
      ->check(CLI::IsMember({"cpu"}))
      ->capture_default_str();
  app.add_option("--id", arguments.id,
                 "Unique name of this device [made on the first start, kept in the state folder]");
  app.add_option("--state-dir", arguments.state_dir,
                 "Newest lease and artifact cache "
                 "[~/.local/state/tunefarm/agent-KEY]");
  app.add_option("--cache-mib", arguments.cache_mib, "Bound of the artifact cache")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--log-level", arguments.log_level, "debug, info, warning or error")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}))
      ->capture_default_str();
  app.footer(
      "Example: device_agent --tracker 127.0.0.1:7190 --key box --cpus 0\n"
      "Reconnects to its tracker for ever. SIGINT or SIGTERM: the running trial ends, then the lease is "
      "handed back.\n"
      "Exit codes: 0 stopped, 1 failed or refused by the tracker, 2 usage, 130 second Ctrl-C.");
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Offers this machine to a tracker and measures candidate kernels on it", "device_agent");
  build(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? tf::kExitOk : tf::kExitUsage;
  }
  const absl::Status status = serve(arguments);
  return status.ok() ? tf::kExitOk : tf::report_error("device_agent", status);
}
