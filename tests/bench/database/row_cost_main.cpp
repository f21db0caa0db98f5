// What a durable row costs: inserts results as a farm's tuners do, through the real store, and says after
// every step how many bytes a row has brought to the disk (/proc/PID/io, which tells nothing on a tmpfs), and
// what commits took. A commit has a set number of rows, so that the bytes are the same on a fast and on a
// busy disk.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/cli/command_line.h"
#include "base/cli/exit_code.h"
#include "base/files/temporary_folder.h"
#include "database/sqlite/sqlite_store.h"
#include "tests/bench/figures/process_figures.h"
#include "tests/bench/figures/quantiles.h"

namespace {

using namespace tf::database;  // NOLINT: the program is about this module
using SteadyClock = std::chrono::steady_clock;

struct Options {
  int64_t rows = 300'000;
  int64_t steps = 6;
  int group = 10;
  int leases = 1000;
  int trials_a_lease = 10;
  int problems = 1;
  size_t schedule_bytes = 40;
  std::string data;
  std::string json;
};

double seconds_since(SteadyClock::time_point begin) {
  return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

// Results of many leases at a time, each of the next one of some lease; one that is complete gives way to
// another on its slot.
class Results {
 public:
  explicit Results(const Options& options)
      : options_(options), leases_(static_cast<size_t>(options.leases)), random_(1) {}

  static Workload workload() { return {.text = "made up", .op = "made up", .flops = 1}; }

  Measurement next() {
    const size_t slot = random_() % leases_.size();
    Lease& lease = leases_[slot];
    if (lease.id.empty() || lease.sequence == static_cast<uint64_t>(options_.trials_a_lease))
      lease = {hexadecimal(32), lease.epoch + 1, 0};
    ++lease.sequence;
    Measurement m;
    m.problem = {.workload = workload().key(),
                 .binding = absl::StrCat("N=", random_() % static_cast<uint64_t>(options_.problems)),
                 .target = "x86_64"};
    m.schedule = absl::StrCat(lease.id, " ", lease.sequence);
    if (m.schedule.size() < options_.schedule_bytes) m.schedule.resize(options_.schedule_bytes, ' ');
    const int64_t ns = 5'000'000 + static_cast<int64_t>(random_() % 1'000'000);
    for (int i = 0; i < 5; ++i) m.samples.push_back({ns + i, 10});
    m.device.device_class = "box";
    m.artifact_digest = std::string(64, 'a');
    m.lease = LeaseStamp{.slot = absl::StrCat("simulated-", slot / 25, "/", slot, "/0"),
                         .lease_id = lease.id,
                         .epoch = lease.epoch,
                         .sequence = lease.sequence};
    m.finished_unix_ns = ++time_;
    return m;
  }

 private:
  struct Lease {
    std::string id;
    uint64_t epoch = 0;
    uint64_t sequence = 0;
  };

  std::string hexadecimal(size_t digits) {
    std::string text(digits, '0');
    for (char& digit : text) digit = "0123456789abcdef"[random_() % 16];
    return text;
  }

  const Options options_;
  std::vector<Lease> leases_;
  std::mt19937_64 random_;
  int64_t time_ = 1'700'000'000'000'000'000;
};

// One commit: the last of the group waits for it, and with it for all.
void insert_group(Store& store, Results& results, int rows) {
  const auto check = [](const absl::StatusOr<InsertResult>& result) {
    TF_CHECK(result.ok() && !result->duplicate) << result.status();
  };
  for (int i = 1; i < rows; ++i) store.insert_async(results.next(), Origin::kLive, check);
  check(store.insert(results.next()));
}

int64_t written_bytes() {
  return tf::bench::figures_of(getpid()).written_bytes;
}

nlohmann::ordered_json run(const Options& options, const std::string& path) {
  nlohmann::ordered_json report;
  std::unique_ptr<Store> store = open_sqlite_store(path).value();
  TF_CHECK(store->add_workload(Results::workload()).ok());
  Results results(options);
  const int64_t at_first = written_bytes();
  const int64_t groups_a_step = std::max<int64_t>(1, options.rows / options.steps / options.group);
  const int64_t rows_a_step = groups_a_step * options.group;
  for (int64_t step = 1; step <= options.steps; ++step) {
    const int64_t before = written_bytes();
    const auto begin = SteadyClock::now();
    std::vector<double> commits_ms;
    for (int64_t i = 0; i < groups_a_step; ++i) {
      const auto asked = SteadyClock::now();
      insert_group(*store, results, options.group);
      commits_ms.push_back(1e3 * seconds_since(asked));
    }
    const auto rows = static_cast<double>(rows_a_step);
    report["steps"].push_back(
        {{"rows", step * rows_a_step},
         {"written_bytes_per_row", static_cast<double>(written_bytes() - before) / rows},
         {"rows_per_s", rows / seconds_since(begin)},
         {"commit_ms", tf::bench::quantiles(std::move(commits_ms))}});
    std::fprintf(stderr, "%s\n", report["steps"].back().dump().c_str());
  }
  const auto begin = SteadyClock::now();
  store = nullptr;
  const auto rows = static_cast<double>(options.steps * rows_a_step);
  report["close_s"] = seconds_since(begin);
  report["written_bytes_per_row"] = static_cast<double>(written_bytes() - at_first) / rows;
  report["file_bytes_per_row"] = static_cast<double>(std::filesystem::file_size(path)) / rows;
  const auto opening = SteadyClock::now();
  store = open_sqlite_store(path).value();
  report["open_s"] = seconds_since(opening);
  return report;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Says what a durable result costs: bytes to the disk, time", "row_cost");
  app.add_option("--rows", options.rows, "Results to insert")->capture_default_str();
  app.add_option("--steps", options.steps, "Figures are told so often on the way")->capture_default_str();
  app.add_option("--group", options.group, "Results a commit")->capture_default_str();
  app.add_option("--leases", options.leases, "Leases that bring results at a time")->capture_default_str();
  app.add_option("--trials-a-lease", options.trials_a_lease, "Then another lease has the slot")
      ->capture_default_str();
  app.add_option("--problems", options.problems, "Problems that they answer")->capture_default_str();
  app.add_option("--schedule-bytes", options.schedule_bytes, "Of a schedule, at least")
      ->capture_default_str();
  app.add_option("--data", options.data,
                 "Folder for the database, on the disk in question [a temporary one]");
  app.add_option("--json", options.json, "File for the report, which is printed anyway");
  app.footer("Example: row_cost --rows 300000 --data /mnt/disk");
  if (const std::optional<int> done = tf::parse_command_line(app, argc, argv)) return *done;
  const auto folder =
      options.data.empty() ? tf::TemporaryFolder::make() : tf::TemporaryFolder::make_in({options.data});
  if (!folder.ok()) return tf::report_error("row_cost", folder.status());
  const nlohmann::ordered_json report = run(options, folder->file("tuned.db"));
  std::printf("%s\n", report.dump(2).c_str());
  if (!options.json.empty()) std::ofstream(options.json) << report.dump(2) << "\n";
  return tf::kExitOk;
}
