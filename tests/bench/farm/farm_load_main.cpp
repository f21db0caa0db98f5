// Loads a real tracker with simulated agents and tuners that speak the real protocol, and says what came of
// it. See docs/explanation/farm-benchmark.md.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/cli/command_line.h"
#include "base/cli/exit_code.h"
#include "base/files/temporary_folder.h"
#include "base/grpc_environment.h"
#include "database/sqlite/sqlite_store.h"
#include "rpc/connection/channel.h"
#include "rpc/daemon/daemon_environment.h"
#include "rpc/identity/credentials.h"
#include "tests/bench/farm/acknowledged.h"
#include "tests/bench/farm/load_artifacts.h"
#include "tests/bench/farm/load_members.h"
#include "tests/bench/farm/scraped_durations.h"
#include "tests/bench/farm/simulated_agent.h"
#include "tests/bench/farm/simulated_tuner.h"
#include "tests/bench/figures/process_figures.h"
#include "tests/bench/figures/quantiles.h"
#include "tests/farm/harness.h"
#include "tests/farm/stored_candidates.h"
#include "tests/support/operating/scrape.h"

namespace {

using namespace tf::farm_load;  // NOLINT: the program is this module's main
using std::chrono::seconds;
using tf::bench::figures_of;
using tf::bench::ProcessFigures;
using tf::bench::quantiles;
using tf::farm_test::Process;

constexpr int kTunersAChannel = 50;
constexpr seconds kReportEvery(10);
// Handshakes under way at a time, but for storms: one takes some 2 ms at either end.
constexpr int64_t kConnecting = 100;
// Connections of tuners, files, and what libraries keep open.
constexpr uint64_t kOtherDescriptors = 200;

struct Options {
  int agents = 1000;
  int tuners = -1;  // -1: as many as agents
  int run_s = 600;
  int warm_up_s = 10;
  int trial_ms = 1000;
  int trials_a_lease = 10;
  int artifacts = 1;
  bool storm = false;
  bool plain = false;
  std::string data;
  std::string json;
};

double mib(int64_t bytes) {
  return static_cast<double>(bytes) / (1 << 20);
}

double seconds_since(SteadyClock::time_point begin) {
  return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

// Waits until it is so; how long that took, or nothing after `grace_period`.
template <typename IsSo>
std::optional<double> time_until(const IsSo& is_so, seconds grace_period) {
  const auto begin = SteadyClock::now();
  while (seconds_since(begin) < static_cast<double>(grace_period.count())) {
    if (is_so()) return seconds_since(begin);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return std::nullopt;
}

nlohmann::ordered_json or_null(const std::optional<double>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

// The mean of `what` in the last minute over that in minute five; null for runs that have no minute between.
nlohmann::ordered_json last_over_fifth_minute(const nlohmann::ordered_json& over_time, const char* what) {
  const auto mean = [&](double from_s, double to_s) {
    double sum = 0;
    int count = 0;
    for (const auto& sample : over_time) {
      if (sample["at_s"] < from_s || sample["at_s"] > to_s) continue;
      sum += sample[what].get<double>();
      ++count;
    }
    return sum / count;
  };
  const double end_s = over_time.back()["at_s"];
  if (end_s < 6 * 60) return nullptr;
  return mean(end_s - 60, end_s) / mean(4 * 60, 5 * 60);
}

class Load {
 public:
  // In `data` is the database.
  Load(const Options& options, tf::TemporaryFolder data)
      : options_(options), data_(std::move(data)), artifacts_(options.artifacts) {
    if (!options_.plain) {
      auto made = make_members(folder_.path(), options_.agents / kAgentsOfABoard + 1);
      TF_CHECK(made.ok()) << made.status();
      members_ = *std::move(made);
    }
    start_tracker();
    auto opened = tf::database::open_sqlite_store(data_.file("tuned.db"));
    TF_CHECK(opened.ok()) << opened.status();
    store_ = *std::move(opened);
    TF_CHECK(store_->add_workload(tf::farm_test::made_up_workload()).ok());
  }

  nlohmann::ordered_json run() {
    nlohmann::ordered_json report;
    report["agents"] = options_.agents;
    report["tuners"] = tuner_count();
    report["mutual_tls"] = !options_.plain;
    const std::optional<double> connected = connect_agents();
    if (!connected) tally_.error("the agents did not all connect");
    report["connected_s"] = or_null(connected);
    warm_up();
    measure(report);
    if (options_.storm) report["storm"] = storm();
    report["rows"] = check_rows();
    report["errors"] = tally_.errors.load();
    for (const auto& [what, count] : tally_.error_kinds()) report["error_kinds"][what] = count;
    return report;
  }

  // What would outlive this process.
  void leave() {
    tracker_ = nullptr;
    std::error_code error;
    for (const std::string& path : {folder_.path(), data_.path()}) std::filesystem::remove_all(path, error);
  }

 private:
  int tuner_count() const { return options_.tuners < 0 ? options_.agents : options_.tuners; }

  void start_tracker() {
    tracker_ = nullptr;
    std::vector<std::string> command{
        tf::farm_test::program("tracker"), "serve",       "--listen", endpoint_.text(), "--state",
        folder_.file("tracker.db"),        "--log-level", "warning",  "--metrics",      metrics_.text()};
    if (!options_.plain) command.insert(command.end(), {"--tls", folder_.file("ca")});
    tracker_ = std::make_unique<Process>(std::move(command), folder_.file("output"));
  }

  std::optional<double> connect_agents() {
    AgentPlan plan{.tracker = endpoint_,
                   .credentials = nullptr,
                   .key = "box",
                   .fetches = artifacts_.travel(),
                   .trial = std::chrono::milliseconds(options_.trial_ms)};
    for (int i = 0; i < options_.agents; ++i) {
      if (!options_.plain) plan.credentials = members_.boards[static_cast<size_t>(i / kAgentsOfABoard)];
      agents_.push_back(std::make_unique<SimulatedAgent>(i, plan, alarms_, tally_));
    }
    const auto begin = SteadyClock::now();
    const seconds grace_period(300);
    for (int i = 0; i < options_.agents; ++i) {
      if (!time_until([&] { return i - tally_.connected < kConnecting; }, grace_period)) return std::nullopt;
      agents_[static_cast<size_t>(i)]->connect();
    }
    if (!time_until([&] { return tally_.connected == options_.agents; }, grace_period)) return std::nullopt;
    return seconds_since(begin);
  }

  // One tuner after another: those that begin at once ask at once, lease after lease, and the load would be a
  // storm every few seconds.
  void warm_up() {
    const auto begin = SteadyClock::now();
    const double warm_up_s = options_.warm_up_s;
    make_tuners();
    for (size_t i = 0; i < tuners_.size(); ++i) {
      const double at_s = warm_up_s * static_cast<double>(i) / static_cast<double>(tuners_.size());
      std::this_thread::sleep_until(begin + std::chrono::duration<double>(at_s));
      tuners_[i]->start();
    }
    std::this_thread::sleep_until(begin + std::chrono::duration<double>(warm_up_s));
  }

  void make_tuners() {
    const TunerPlan plan{.tracker = endpoint_,
                         .key = "box",
                         .devices = options_.agents,
                         .trials_a_lease = options_.trials_a_lease};
    std::shared_ptr<grpc::Channel> channel;
    for (int i = 0; i < tuner_count(); ++i) {
      if (i % kTunersAChannel == 0)
        channel = tf::rpc::make_channel(endpoint_, members_.tuners, tf::rpc::Role::kTracker);
      tuners_.push_back(std::make_unique<SimulatedTuner>(i, plan, channel, artifacts_, *store_, acknowledged_,
                                                         alarms_, tally_));
    }
  }

  void measure(nlohmann::ordered_json& report) {
    const auto begin = SteadyClock::now();
    tally_.take_grants();
    tally_.take_commits_ms();
    alarms_.take_late_ms();
    const int64_t durable = tally_.durable;
    const int64_t grants = tally_.grants, uploads = tally_.uploads, fetches = tally_.fetches;
    const ProcessFigures self = figures_of(getpid());
    const ProcessFigures tracker = figures_of(tracker_->pid());
    const std::string metrics = tf::test::scrape(metrics_);
    int64_t lowest_connected = tally_.connected;
    double next_report = 0;
    while (seconds_since(begin) < options_.run_s) {
      if (seconds_since(begin) >= next_report) {
        report["over_time"].push_back(sample(seconds_since(begin), durable));
        next_report += static_cast<double>(kReportEvery.count());
      }
      lowest_connected = std::min<int64_t>(lowest_connected, tally_.connected);
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    report["over_time"].push_back(sample(seconds_since(begin), durable));
    const double took = seconds_since(begin);
    const Tally::GrantTimes grant_times = tally_.take_grants();
    const double cpus = static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN));
    report["seconds"] = took;
    report["results_per_s"] = static_cast<double>(tally_.durable - durable) / took;
    report["uploads_per_s"] = static_cast<double>(tally_.uploads - uploads) / took;
    report["fetches_per_s"] = static_cast<double>(tally_.fetches - fetches) / took;
    report["grants_per_s"] = static_cast<double>(tally_.grants - grants) / took;
    report["grant_ms"] = quantiles(grant_times.free_ms);
    if (!grant_times.queued_ms.empty()) {
      report["queued_grants"] = grant_times.queued_ms.size();
      report["queued_grant_ms"] = quantiles(grant_times.queued_ms);
    }
    report["tracker_saving_ms"] =
        durations_between(metrics, tf::test::scrape(metrics_), "tunefarm_tracker_saving_seconds");
    report["commit_ms"] = quantiles(tally_.take_commits_ms());
    report["generator_late_ms"] = quantiles(alarms_.take_late_ms());
    report["agents_connected_at_least"] = lowest_connected;
    const ProcessFigures self_now = figures_of(getpid()), tracker_now = figures_of(tracker_->pid());
    report["generator_written_mib_per_s"] = mib(self_now.written_bytes - self.written_bytes) / took;
    report["tracker_written_mib_per_s"] = mib(tracker_now.written_bytes - tracker.written_bytes) / took;
    report["cpus"] = cpus;
    report["generator_share_of_cpu"] = (self_now.cpu_s - self.cpu_s) / took / cpus;
    report["tracker_share_of_cpu"] = (tracker_now.cpu_s - tracker.cpu_s) / took / cpus;
    for (const char* what : {"tracker_mib", "tracker_descriptors"}) {
      report[absl::StrCat(what, "_last_minute_over_fifth")] =
          last_over_fifth_minute(report["over_time"], what);
    }
  }

  nlohmann::ordered_json sample(double at_s, int64_t durable_before) const {
    const ProcessFigures tracker = figures_of(tracker_->pid());
    const double generator_mib = mib(figures_of(getpid()).resident_bytes);
    std::fprintf(stderr,
                 "%5.0f s: %ld agents, %ld results, tracker %.1f MiB, %ld descriptors, generator %.1f MiB, "
                 "%ld errors\n",
                 at_s, static_cast<long>(tally_.connected),
                 static_cast<long>(tally_.durable - durable_before), mib(tracker.resident_bytes),
                 static_cast<long>(tracker.descriptors), generator_mib, static_cast<long>(tally_.errors));
    return {{"at_s", at_s},
            {"results", tally_.durable - durable_before},
            {"tracker_mib", mib(tracker.resident_bytes)},
            {"tracker_descriptors", tracker.descriptors},
            {"generator_mib", generator_mib}};
  }

  // Once all has come to rest: what was said to be durable stands there once, as its agent measured it.
  int64_t check_rows() {
    for (const auto& tuner : tuners_) tuner->stop();
    for (int64_t before = -1; before != tally_.durable;) {
      before = tally_.durable;
      std::this_thread::sleep_for(3 * std::chrono::milliseconds(options_.trial_ms) + seconds(1));
    }
    for (const auto& [fault, times] : acknowledged_.faults(*store_)) tally_.error(fault, times);
    return tally_.durable;
  }

  // The tracker is killed and started again: all agents and tuners come back at once.
  nlohmann::ordered_json storm() {
    nlohmann::ordered_json report;
    tally_.storm = true;
    tracker_->kill_9();
    std::this_thread::sleep_for(seconds(1));
    const int64_t grants = tally_.grants;
    std::vector<int64_t> stored;
    for (const auto& tuner : tuners_) stored.push_back(tuner->stored());
    start_tracker();
    const auto begin = SteadyClock::now();
    std::optional<double> first_grant;
    std::optional<double> connected;
    const auto all_work = [&] {
      for (size_t i = 0; i < tuners_.size(); ++i)
        if (tuners_[i]->stored() == stored[i]) return false;
      return true;
    };
    const auto settled = time_until(
        [&] {
          if (!first_grant && tally_.grants > grants) first_grant = seconds_since(begin);
          if (!connected && tally_.connected == options_.agents) connected = seconds_since(begin);
          return connected && all_work();
        },
        seconds(120));
    tally_.storm = false;
    if (!settled) tally_.error("the storm did not settle");
    report["first_grant_s"] = or_null(first_grant);
    report["agents_connected_s"] = or_null(connected);
    report["every_tuner_stored_again_s"] = or_null(settled);
    return report;
  }

  const Options options_;
  const tf::TemporaryFolder folder_ = *tf::TemporaryFolder::make();
  const tf::TemporaryFolder data_;
  const tf::rpc::Endpoint endpoint_ = tf::farm_test::free_endpoint(),
                          metrics_ = tf::farm_test::free_endpoint();
  LoadMembers members_;
  std::unique_ptr<Process> tracker_;
  std::unique_ptr<tf::database::Store> store_;
  LoadArtifacts artifacts_;
  Acknowledged acknowledged_;
  Tally tally_;
  Alarms alarms_;
  std::vector<std::unique_ptr<SimulatedAgent>> agents_;
  std::vector<std::unique_ptr<SimulatedTuner>> tuners_;
};

// A connection for each agent, here and at the tracker, which has the same limit.
absl::Status allow_descriptors(const Options& options) {
  const uint64_t needed = static_cast<uint64_t>(options.agents) + kOtherDescriptors;
  const uint64_t allowed = tf::rpc::allow_descriptors(needed);
  if (allowed >= needed) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat(options.agents, " agents need ", needed, " descriptors, and a process may have ", allowed,
                   " here: raise the hard limit (`ulimit -Hn`), or give fewer --agents"));
}

}  // namespace

int main(int argc, char** argv) {
  tf::set_grpc_environment();
  Options options;
  CLI::App app("Loads a tracker with simulated agents and tuners that speak the real protocol", "farm_load");
  app.add_option("--agents", options.agents, "Simulated agents, a connection each")->capture_default_str();
  app.add_option("--tuners", options.tuners, "Leases held at a time; 0: the agents idle [as many as agents]");
  app.add_option("--seconds", options.run_s, "How long is measured")->capture_default_str();
  app.add_option(
         "--warm-up", options.warm_up_s,
         "Seconds before that, in which the tuners begin one after another; as long as a lease, at least")
      ->capture_default_str();
  app.add_option("--trial-ms", options.trial_ms,
                 "How long an agent takes for a trial on average: 0.8 to 1.2 of it")
      ->capture_default_str();
  app.add_option("--trials-a-lease", options.trials_a_lease, "After so many a lease is released")
      ->capture_default_str();
  app.add_option("--artifacts", options.artifacts,
                 "Distinct artifacts that trials name, uploaded and fetched from 2 on; 1: one for all, which "
                 "nobody has")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_flag("--storm", options.storm, "Then kill the tracker, start it again, and time how all come back");
  app.add_flag("--plain", options.plain, "Without TLS");
  app.add_option("--data", options.data,
                 "Folder, of another disk perhaps, for the tuners' database [beside the tracker's file]");
  app.add_option("--json", options.json, "File for the report, which is printed anyway");
  app.footer("Example: farm_load --agents 1000 --seconds 60 --storm");
  if (const std::optional<int> done = tf::parse_command_line(app, argc, argv)) return *done;
  if (const absl::Status allowed = allow_descriptors(options); !allowed.ok())
    return tf::report_error("farm_load", allowed);

  auto data =
      options.data.empty() ? tf::TemporaryFolder::make() : tf::TemporaryFolder::make_in({options.data});
  if (!data.ok()) return tf::report_error("farm_load", data.status());

  auto load = std::make_unique<Load>(options, *std::move(data));
  const nlohmann::ordered_json report = load->run();
  std::printf("%s\n", report.dump(2).c_str());
  std::fflush(stdout);
  if (!options.json.empty()) std::ofstream(options.json) << report.dump(2) << "\n";
  const bool any_error = report["errors"] != 0;
  // Streams and alarms point into the load, and nothing that they hold needs an end.
  load->leave();
  std::_Exit(any_error ? tf::kExitFailed : tf::kExitOk);
}
