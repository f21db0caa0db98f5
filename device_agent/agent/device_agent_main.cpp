#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/cli/command_line.h"
#include "base/cli/counted.h"
#include "base/cli/doctor.h"
#include "base/cli/exit_code.h"
#include "base/grpc_environment.h"
#include "base/status.h"
#include "base/version.h"
#include "compiler/runtime/kernel_abi.h"
#include "device_agent/agent/agent.h"
#include "device_agent/agent/doctor.h"
#include "device_agent/agent/golden/golden_kernel.h"
#include "device_agent/agent/machine/cpu_claims.h"
#include "device_agent/agent/machine/facts.h"
#include "device_agent/agent/offer.h"
#include "device_agent/agent/trials/counted_executor.h"
#include "device_agent/agent/trials/worker_executor.h"
#include "device_agent/worker/gpu/device_name.h"
#include "device_agent/worker/worker.h"
#include "proto/config/v1/farm.pb.h"
#include "proto/farm/v1/farm.pb.h"
#include "rpc/connection/default_endpoints.h"
#include "rpc/connection/ports.h"
#include "rpc/connection/protocol.h"
#include "rpc/connection/server.h"
#include "rpc/daemon/daemon_environment.h"
#include "rpc/daemon/daemon_log.h"
#include "rpc/daemon/operating_options.h"
#include "rpc/daemon/service_manager.h"
#include "rpc/daemon/stop_signals.h"
#include "rpc/daemon/text_config.h"
#include "rpc/identity/join_command.h"
#include "rpc/identity/membership.h"
#include "rpc/metrics/page.h"

namespace {

using tunefarm::config::v1::DeviceAgent;

DeviceAgent default_config() {
  DeviceAgent config;
  config.set_tracker(tf::rpc::kDefaultTracker);
  config.set_device("cpu");
  config.set_cache_mib(512);
  config.set_golden_seconds(300);
  config.set_log_level("info");
  config.set_log_format("text");
  return config;
}

// Empty, or what is wrong with a --device.
std::string is_device(const std::string& text) {
  if (text == "cpu" || tf::worker::parse_gpu_name(text)) return "";
  return absl::StrCat("there is no device '", text, "': give ", tf::worker::kKnownDevices);
}

// What tuners can select by: gpu-arch=sm_87. Labels of the configuration go before.
std::map<std::string, std::string> labels_of(const DeviceAgent& config,
                                             const std::optional<tf::worker::GpuDevice>& gpu) {
  std::map<std::string, std::string> labels(config.labels().begin(), config.labels().end());
  if (!gpu) return labels;
  labels.emplace("gpu", gpu->back_end);
  if (gpu->capability > 0) labels.emplace("gpu-arch", absl::StrCat("sm_", gpu->capability));
  if (gpu->units > 0) labels.emplace("gpu-units", absl::StrCat(gpu->units));
  return labels;
}

// A device with all that it needs to serve; in order of construction.
struct Served {
  std::vector<std::unique_ptr<tf::worker::Worker>> workers;  // of each slot
  std::vector<std::unique_ptr<tf::agent::WorkerExecutor>> executors;
  std::vector<std::unique_ptr<tf::agent::CountedExecutor>> counted;
  std::unique_ptr<tf::agent::Agent> agent;
};

// What all devices of this machine share.
struct Machine {
  std::shared_ptr<tf::rpc::Credentials> credentials;  // null: plain text
  uint64_t slot_memory_bytes = 0;
  uint64_t transfer_memory_bytes = 0;  // of each device
  tf::agent::GoldenKernel golden;
  std::shared_ptr<tf::agent::ExclusiveExecution> exclusive_execution =
      std::make_shared<tf::agent::ExclusiveExecution>();
  tf::rpc::WorkTally trials = {};
};

absl::StatusOr<Served> make_served(const DeviceAgent& config, const tf::agent::Offer& offer,
                                   Machine& machine) {
  TF_ASSIGN_OR_RETURN(const tf::worker::SandboxPolicy sandbox,
                      tf::worker::parse_without_sandbox(config.without_sandbox()));
  Served served;
  std::vector<tf::agent::AgentSlot> slots;
  std::vector<uint32_t> cpus;
  for (const tf::agent::CpuSet& slot : offer.slots) cpus.insert(cpus.end(), slot.begin(), slot.end());
  tunefarm::farm::v1::DeviceFacts facts = tf::agent::read_facts(cpus);
  for (const tf::agent::CpuSet& slot : offer.slots) {
    TF_ASSIGN_OR_RETURN(auto worker,
                        tf::worker::Worker::start({.device = config.device(),
                                                   .sandbox = sandbox,
                                                   .cpus = {slot.begin(), slot.end()},
                                                   .most_memory_bytes = machine.slot_memory_bytes}));
    served.workers.push_back(std::move(worker));
    served.executors.push_back(std::make_unique<tf::agent::WorkerExecutor>(*served.workers.back()));
    served.counted.push_back(
        std::make_unique<tf::agent::CountedExecutor>(*served.executors.back(), machine.trials));
    slots.push_back({.cpus = slot, .executor = served.counted.back().get()});
  }
  const auto without = tf::worker::capability_names(served.workers.front()->without_sandbox());
  if (!without.empty())
    spdlog::warn(absl::StrCat("candidates are confined without these layers: ", absl::StrJoin(without, ",")));
  tf::agent::add_sandbox(served.workers.front()->without_sandbox(), facts);
  TF_ASSIGN_OR_RETURN(const double peak_gflops, served.workers.front()->peak_gflops());
  facts.set_peak_gflops(peak_gflops);
  facts.set_fingerprint(served.workers.front()->device_state().fingerprint());
  const std::optional<tf::worker::GpuDevice> gpu = served.workers.front()->gpu();
  if (gpu) {
    tunefarm::farm::v1::Gpu& fact = *facts.add_gpus();
    fact.set_back_end(gpu->back_end);
    fact.set_model(gpu->model);
    fact.set_memory_bytes(gpu->memory_bytes);
    fact.set_units(gpu->units);
  }
  TF_ASSIGN_OR_RETURN(const tf::rpc::Endpoint tracker, tf::rpc::parse_endpoint(config.tracker()));
  const absl::Duration golden_every = absl::Seconds(config.golden_seconds());
  TF_ASSIGN_OR_RETURN(served.agent, tf::agent::Agent::create(
                                        {.tracker = tracker,
                                         .credentials = machine.credentials,
                                         .key = offer.key,
                                         .id = offer.id,
                                         .state_dir = offer.state_dir,
                                         .slots = std::move(slots),
                                         .version = std::string(tf::version()),
                                         .labels = labels_of(config, gpu),
                                         .cache_bytes = uint64_t{config.cache_mib()} << 20,
                                         .transfer_bytes = machine.transfer_memory_bytes,
                                         .golden = config.golden_seconds() == 0 ? nullptr : &machine.golden,
                                         .golden_every = golden_every,
                                         .exclusive_execution = machine.exclusive_execution,
                                         .listen = offer.listen,
                                         .advertise = offer.advertise},
                                        facts));
  const auto reached = served.agent->endpoint();
  const bool is_one_cpu = offer.slots.size() == 1 && offer.slots.front().size() == 1;
  spdlog::info(absl::StrCat(
      served.agent->id(), " with the key ", offer.key, ", ", tf::counted(std::ssize(offer.slots), "slot"),
      is_one_cpu ? " on CPU " : " on CPUs ", tf::agent::slots_text(offer.slots), ", ",
      std::llround(peak_gflops), facts.gpus().empty() ? " GFLOP/s per thread" : " GFLOP/s on ",
      facts.gpus().empty() ? "" : facts.gpus(0).model(), reached ? ", listening on " + reached->text() : ""));
  return served;
}

std::vector<tf::rpc::MetricFamily> metrics_of(const std::vector<Served>& all,
                                              const tf::rpc::WorkTally& trials) {
  std::vector<tf::rpc::MetricFamily> families =
      trials.families("tunefarm_agent_trial", "trials and golden kernels");
  std::map<std::string, double> devices = {{"connected", 0}, {"away", 0}};
  for (const Served& served : all) ++devices[served.agent->is_connected() ? "connected" : "away"];
  families.push_back(
      tf::rpc::by_label(tf::rpc::gauge("tunefarm_agent_devices",
                                       "offered devices by state: connected to the tracker, or away", 0),
                        "state", devices));
  return families;
}

// Two agents with one id are a mistake in their options: a service manager must not start the loser again.
absl::Status with_exit_code(const absl::Status& status) {
  return absl::IsAlreadyExists(status) ? absl::InvalidArgumentError(status.message()) : status;
}

// Until a signal, or until the tracker refuses one of them for good.
absl::Status serve_all(std::vector<Served>& all, tf::rpc::StopSignals& signals) {
  std::vector<absl::Status> ended(all.size());
  std::vector<std::thread> serving, stopping;
  for (size_t i = 0; i < all.size(); ++i) {
    serving.emplace_back([&, i] {
      ended[i] = all[i].agent->run();
      signals.stop_waiting();
    });
  }
  const tf::rpc::ServiceManager manager = tf::rpc::ServiceManager::from_environment();
  const tf::rpc::Watchdog watchdog(manager, [&] {
    for (Served& served : all) served.agent->answer();
  });
  manager.ready();
  if (const int signal = signals.wait(); signal != 0) {
    spdlog::info(
        absl::StrCat("stopping on ", tf::rpc::signal_text(signal),
                     " when the running trials have finished; a second SIGINT or SIGTERM stops at once"));
  }
  manager.stopping();
  for (Served& served : all) stopping.emplace_back([&] { served.agent->stop(); });
  for (std::thread& thread : stopping) thread.join();
  for (std::thread& thread : serving) thread.join();
  for (const absl::Status& status : ended) TF_RETURN_IF_ERROR(with_exit_code(status));
  return absl::OkStatus();
}

// One keeper for all of them. A farm has thousands of agents: only those that listen, and so must refuse
// callers themselves, ask often.
tf::rpc::KeeperOptions keeper_options(const std::vector<Served>& all) {
  const bool listens =
      std::ranges::any_of(all, [](const Served& served) { return served.agent->endpoint().has_value(); });
  return {.look_every = listens ? absl::Seconds(2) : absl::Seconds(30),
          .revoked = [&all](const std::set<std::string>& serials) {
            for (const Served& served : all) served.agent->set_revoked(serials);
          }};
}

std::vector<tf::rpc::Endpoint> listened_at(const std::vector<tf::agent::Offer>& offers) {
  std::vector<tf::rpc::Endpoint> all;
  for (const tf::agent::Offer& offer : offers) {
    if (offer.listen) all.push_back(*offer.listen);
  }
  return all;
}

std::vector<uint32_t> all_cpus(const std::vector<tf::agent::Offer>& offers) {
  std::vector<uint32_t> all;
  for (const tf::agent::Offer& offer : offers)
    for (const tf::agent::CpuSet& slot : offer.slots) all.insert(all.end(), slot.begin(), slot.end());
  return all;
}

absl::Status serve(const DeviceAgent& config) {
  TF_RETURN_IF_ERROR(tf::rpc::obey_test_environment("agent"));
  TF_RETURN_IF_ERROR(
      tf::rpc::log_to_stderr("device_agent", {.level = config.log_level(), .format = config.log_format()}));
  if (config.reflection()) tf::rpc::serve_reflection();
  tf::rpc::StopSignals signals;
  TF_ASSIGN_OR_RETURN(const tf::rpc::Endpoint tracker, tf::rpc::parse_endpoint(config.tracker()));
  TF_ASSIGN_OR_RETURN(const auto credentials, tf::rpc::Credentials::load_if_given(config.tls()));
  TF_RETURN_IF_ERROR(
      tf::rpc::require_role(credentials, tf::rpc::Role::kAgent, "only an agent may offer devices"));
  TF_RETURN_IF_ERROR(tf::rpc::require_protection(tracker, "--tracker", credentials));
  TF_ASSIGN_OR_RETURN(
      std::vector<tf::agent::Offer> offers,
      tf::agent::offers_of(config, tf::agent::allowed_cpus(), tf::rpc::default_state_folder()));
  TF_RETURN_IF_ERROR(tf::rpc::check_ports(listened_at(offers), config.metrics()));
  tf::rpc::log_configuration(absl::StrCat("starting, for the tracker at ", tracker.text()), config);
  const tf::agent::CpuClaims claims(all_cpus(offers));
  for (const std::string& warning : tf::agent::shared_cpu_warnings(claims)) spdlog::warn(warning);
  const uint64_t memory_bytes = tf::agent::read_facts().memory_bytes();
  Machine machine{.credentials = credentials,
                  .slot_memory_bytes = tf::agent::slot_memory_bytes(offers, memory_bytes),
                  .transfer_memory_bytes = tf::agent::transfer_memory_bytes(offers, memory_bytes),
                  .golden = tf::agent::GoldenKernel(config.device())};
  std::vector<Served> all;
  for (tf::agent::Offer& offer : offers) {
    // One device is its certificate's name, several stand below it.
    if (credentials && offer.id.empty() && offers.size() > 1)
      offer.id = credentials->identity().name + "/" + offer.key;
    TF_ASSIGN_OR_RETURN(Served served, make_served(config, offer, machine));
    all.push_back(std::move(served));
  }
  std::optional<tf::rpc::MembershipKeeper> keeper;
  if (credentials) keeper.emplace(credentials, tracker, keeper_options(all));
  TF_ASSIGN_OR_RETURN(const auto metrics, tf::rpc::MetricsPage::start(config.metrics(), [&] {
                        return metrics_of(all, machine.trials);
                      }));
  return serve_all(all, signals);
}

int examine(const DeviceAgent& config, bool json) {
  tf::CheckList checks(json ? tf::CheckList::Format::kJson : tf::CheckList::Format::kLines, stdout);
  tf::agent::examine(config, tf::rpc::default_state_folder(), checks);
  return tf::finish_output("device_agent", checks.finish());
}

void build(CLI::App& app, DeviceAgent& config, std::string& config_path) {
  app.add_option("--config", config_path,
                 "File in protobuf text format (proto/config/v1/farm.proto); flags override it");
  app.add_option("--tracker", *config.mutable_tracker(), "The tracker's HOST:PORT")->capture_default_str();
  app.add_option("--key", *config.mutable_key(),
                 "Device class, which tuners request with --device KEY; equal devices share it");
  app.add_option("--cpus", *config.mutable_cpus(), "CPUs of a single slot, as in 0-3,6 [all]");
  app.add_option("--slots", *config.mutable_slots(),
                 "CPUs of each slot, as in 0-1,2-3 or 0+4,1+5; slots run trials in parallel");
  app.add_option("--device", *config.mutable_device(),
                 "What to measure on: cpu; cuda:N or opencl:N, the GPU with that number")
      ->check(is_device)
      ->capture_default_str();
  app.add_option_function<std::vector<std::string>>(
         "--label",
         [&](const std::vector<std::string>& labels) {
           std::set<std::string> keys;  // one of a configuration file is replaced
           for (const std::string& label : labels) {
             const size_t sign = label.find('=');
             if (sign == std::string::npos)
               throw CLI::ValidationError("--label", label + " is not KEY=VALUE");
             const std::string key = label.substr(0, sign);
             if (!keys.insert(key).second)
               throw CLI::ValidationError("--label", "gives \"" + key + "\" twice: give it once");
             (*config.mutable_labels())[key] = label.substr(sign + 1);
           }
         },
         "Label for selectors, as in room=lab3; repeatable")
      ->type_name("KEY=VALUE");
  app.add_option("--id", *config.mutable_id(),
                 "Unique name of this device [generated at the first start and kept in the state folder]");
  app.add_option("--state-dir", *config.mutable_state_dir(),
                 "Folder for lease state and the artifact cache [~/.local/state/tunefarm/agent-KEY]");
  app.add_option("--listen", *config.mutable_listen(),
                 "HOST:PORT on which tuners can send trials and artifacts directly [off]");
  app.add_option("--advertise", *config.mutable_advertise(),
                 "HOST:PORT under which tuners reach it, if different from --listen");
  app.add_option_function<uint32_t>(
         "--golden-seconds", [&](uint32_t value) { config.set_golden_seconds(value); },
         "Seconds between two runs of the golden kernel on an idle device; 0: never")
      ->check(CLI::Range(0, 86400))
      ->default_str(std::to_string(config.golden_seconds()));
  app.add_option_function<uint32_t>(
         "--cache-mib", [&](uint32_t value) { config.set_cache_mib(value); },
         "Size limit of the artifact cache, in MiB")
      ->check(CLI::Range(1, 1 << 20))
      ->default_str(std::to_string(config.cache_mib()));
  app.add_option("--without-sandbox", *config.mutable_without_sandbox(),
                 "Run without these sandbox layers, as in seccomp,cgroup; missing: every layer that this "
                 "machine lacks [all layers are required]");
  app.add_option("--tls", *config.mutable_tls(),
                 "Folder of the agent's certificate (`device_agent join`), for a secured tracker");
  tf::rpc::add_operating_options(app, {.log_level = config.mutable_log_level(),
                                       .log_format = config.mutable_log_format(),
                                       .metrics = config.mutable_metrics(),
                                       .set_reflection = [&config] { config.set_reflection(true); }});
  app.footer(
      "Example: device_agent --tracker 127.0.0.1:7190 --key box --slots 0-1,2-3\n"
      "Example: device_agent join --tracker farm.example.org:7190 --token tfj-... --tls box.tls\n"
      "Reconnects to the tracker indefinitely. On SIGINT, SIGTERM or SIGHUP, finishes running trials and "
      "releases its leases.\n"
      "Exit codes: 0 stopped, 1 failed or refused by the tracker, 2 usage or another agent has its id, 130 "
      "second Ctrl-C.");
}

struct Arguments {
  DeviceAgent config = default_config();
  std::string config_path;
  bool doctor = false;
  bool json = false;
  std::function<absl::Status()> join;  // the command, if it is this one
  std::string command;                 // as in "device_agent join"
};

// Parses the command line onto `arguments`; the exit code if there is nothing to run.
std::optional<int> parse(int argc, char** argv, Arguments& arguments) {
  CLI::App app("Offers this machine to a tracker and measures candidate kernels on it.", "device_agent");
  build(app, arguments.config, arguments.config_path);
  CLI::App& doctor =
      *app.add_subcommand("doctor", "Check that this machine meets the needs of an agent with these options");
  doctor.fallthrough();
  doctor.add_flag("--json", arguments.json, "Print a JSON array instead of a table");
  doctor.footer(
      "Example: device_agent doctor --tracker 127.0.0.1:7190 --key box --slots 0-1,2-3\n"
      "Without --key it still checks the machine, but fails, because an agent needs a key.\n"
      "Exit codes: 0 all checks passed, 1 a check failed, 2 usage.");
  tf::rpc::add_join_command(app, "device_agent", [&arguments](std::function<absl::Status()> join) {
    arguments.join = std::move(join);
  });
  const std::optional<int> done = tf::parse_command_line(
      app, argc, argv, {{"farm protocol", tf::rpc::kProtocolVersion}, {"kernel ABI", TF_ABI_VERSION}});
  arguments.doctor = doctor.parsed();
  arguments.command = tf::command_name(app);
  return done;
}

}  // namespace

int main(int argc, char** argv) {
  tf::set_grpc_environment();
  Arguments arguments;
  if (const std::optional<int> done = parse(argc, argv, arguments)) return *done;
  absl::Status status;
  if (!arguments.config_path.empty()) {
    // Again on top of the file, so that flags override it.
    Arguments merged;
    status = tf::rpc::merge_text_config(arguments.config_path, merged.config);
    parse(argc, argv, merged);
    arguments = std::move(merged);
  }
  if (status.ok() && arguments.doctor) return examine(arguments.config, arguments.json);
  if (status.ok()) status = arguments.join ? arguments.join() : serve(arguments.config);
  return status.ok() ? tf::kExitOk : tf::report_error(arguments.command.c_str(), status);
}
