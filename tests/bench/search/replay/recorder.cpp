#include "tests/bench/search/replay/recorder.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <random>
#include <span>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/cli/counted.h"
#include "base/status.h"
#include "compiler/driver/wire.h"
#include "proto/farm/v1/trial.pb.h"
#include "proto/kernel/v1/kernel.pb.h"
#include "tests/bench/search/replay/time_left.h"
#include "tuner/cli/cpu_split.h"
#include "tuner/session/calibrate/calibration.h"
#include "tuner/session/loop/record_wire.h"

namespace tf::replay {
namespace {

namespace farm = tunefarm::farm::v1;
namespace kernel = tunefarm::kernel::v1;
using Clock = std::chrono::steady_clock;

constexpr int kMaxTries = 3;  // of what gave no answer
// Candidates that are built before they are measured: nothing else runs while a candidate is timed.
constexpr size_t kTurn = 32;

// Between two looks at whether the machine is calm; what was measured while it was not is measured again, so
// often at most.
constexpr size_t kStretch = 8;
constexpr int kMostStretches = 6;

// A candidate beyond what any figure looks at (pairs within 3 times the best) is left early, and not visited
// again.
constexpr double kHopeless = 3.2;
// What is kept for later replicates, a share of the machine's memory; beyond it they build again.
size_t most_built_bytes() {
  return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) / 8 * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// Of the first replicate the samples of a session, for racing and fixed repeats are computed from them; of
// later ones fewer, for a process more tells more of a candidate than samples more of one process.
farm::Trial make_trial(const session::Task& task, int threads, double best_seconds, bool is_first) {
  farm::Trial trial;
  trial.set_input_seed(1);
  trial.set_threads(static_cast<uint32_t>(threads));
  farm::MeasureOptions& measure = *trial.mutable_options();
  measure.set_samples(is_first ? 12 : 6);
  measure.set_min_sample_ns(1'000'000);
  measure.set_enough_ns(is_first ? 12'000'000 : 6'000'000);
  measure.set_warmup_ns(500'000);
  measure.set_cache_mode(farm::CACHE_MODE_ROTATE);
  measure.set_reuse_distance_bytes(task.kernel.reuse_distance_bytes);
  measure.set_stop_if_slower_than_ns(static_cast<int64_t>(best_seconds * kHopeless * 1e9));
  trial.mutable_limits()->set_run_timeout_ns(10'000'000'000);
  trial.mutable_limits()->set_memory_bytes(2ull << 30);
  trial.mutable_limits()->set_output_bytes(4096);
  return trial;
}

using Reply = absl::StatusOr<kernel::BuildReply>;

Reply build(driver::BuildPool& builder, const kernel::BuildRequest& request) {
  Reply reply = builder.build(request);
  for (int tries = 1; tries < kMaxTries && !reply.ok() && measure::may_retry(reply.status()); ++tries)
    reply = builder.build(request);
  return reply;
}

absl::StatusOr<farm::TrialResult> run(measure::LocalRunner& runner, const measure::MeasureRequest& request) {
  absl::StatusOr<farm::TrialResult> result = runner.run(request);
  for (int tries = 1; tries < kMaxTries && !result.ok() && measure::may_retry(result.status()); ++tries)
    result = runner.run(request);
  return result;
}

// In the order of the schedules, on all CPUs.
std::vector<Reply> build_all(driver::BuildPool& builder, const session::Task& task, const std::string& target,
                             std::span<const std::string> schedules) {
  std::vector<Reply> replies(schedules.size(), absl::UnavailableError("not built yet"));
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < schedules.size(); i = next++)
      replies[i] = build(builder, driver::kernel_request(task.kernel, target, schedules[i]));
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < builder.slots(); ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  return replies;
}

absl::StatusOr<measure::ArtifactBytes> build_reference(driver::BuildPool& builder, const session::Task& task,
                                                       const std::string& target) {
  TF_ASSIGN_OR_RETURN(const kernel::BuildReply reply,
                      build(builder, driver::reference_request(task.kernel, target)));
  if (reply.code() == 0) return measure::make_artifact_bytes(reply.artifact().SerializeAsString());
  return absl::FailedPreconditionError(
      absl::StrCat("the reference kernel of ", task.label, " does not compile: ", reply.message()));
}

}  // namespace

absl::StatusOr<Recorder> Recorder::start(int threads, const worker::SandboxPolicy& sandbox,
                                         const std::atomic<bool>& stop, Clock::time_point deadline) {
  Recorder recorder(stop, deadline);
  recorder.threads_ = threads;
  const std::vector<int> cpus = tuner_cli::allowed_cpus();
  const tuner_cli::CpuSplit split = tuner_cli::split_cpus(cpus, threads);
  TF_ASSIGN_OR_RETURN(
      recorder.runner_,
      measure::LocalRunner::start({.sandbox = sandbox, .cpus = split.measure, .spare_cpus = split.rest}));
  TF_ASSIGN_OR_RETURN(recorder.builder_,
                      driver::BuildPool::create({.workers = std::max(1, static_cast<int>(cpus.size()))}));
  return recorder;
}

Machine Recorder::machine() {
  const absl::StatusOr<farm::DeviceState> device = runner_->device();
  return {.model = device.ok() ? device->model() : "",
          .fingerprint = device.ok() ? device->fingerprint() : "",
          .peak_gflops = runner_->peak_gflops()};
}

absl::StatusOr<model::MeasuredRates> Recorder::measure_rates(database::Store& store,
                                                             const target::Target& target) {
  return session::measured_rates({.machine = {target, kDeviceClass, machine().fingerprint}}, *builder_,
                                 *runner_, store, stop_);
}

int Recorder::search_threads() const {
  return builder_->slots();
}

struct Recorder::Built {
  kernel::BuildReply reply;  // without the artifact's bytes
  measure::ArtifactBytes artifact;
};

absl::Status Recorder::record(RunSet& runs, const Recording& recording) {
  while (!is_over()) {
    const std::vector<Wanted> wanted = runs.advance(recording.pool, search_threads());
    if (wanted.empty()) break;
    for (size_t first = 0; first < wanted.size() && !is_over(); first += kTurn) {
      TF_RETURN_IF_ERROR(run_all(std::span(wanted).subspan(first, std::min(kTurn, wanted.size() - first)),
                                 recording, /*is_first=*/true));
      show(absl::StrFormat("%.0f%% covered", 100 * runs.coverage()), recording, runs.trials_left());
    }
  }
  return absl::OkStatus();
}

absl::Status Recorder::revisit(size_t replicate, const Recording& recording) {
  const double limit = kHopeless * recording.pool.best_seconds();
  std::vector<Wanted> wanted;
  for (const auto& entry : recording.pool.entries()) {
    if (entry->replicates.size() + 1 != replicate || shortest_sample(entry->replicates.front()) > limit)
      continue;
    database::Measurement subject;
    subject.problem =
        tensor::key_for(recording.task.task.kernel, target::parse_target(recording.target).value(), threads_);
    subject.schedule = entry->schedule;
    subject.sketch_hash = entry->sketch_hash;
    subject.choices = entry->choices;
    subject.device.device_class = kDeviceClass;
    wanted.push_back({std::move(subject), entry->source});
  }
  std::shuffle(wanted.begin(), wanted.end(), std::mt19937_64(replicate));
  for (size_t first = 0; first < wanted.size() && !is_over(); first += kTurn) {
    TF_RETURN_IF_ERROR(run_all(std::span(wanted).subspan(first, std::min(kTurn, wanted.size() - first)),
                               recording, /*is_first=*/false));
    show(absl::StrFormat("replicate %d: %.0f%%", replicate, 100.0 * first / wanted.size()), recording,
         static_cast<int64_t>(wanted.size() - first));
  }
  return absl::OkStatus();
}

absl::StatusOr<Recorder::BuiltTask*> Recorder::built_task(const Recording& recording) {
  const auto [task, is_new] = built_.try_emplace(recording.task.task.label);
  if (is_new) {
    TF_ASSIGN_OR_RETURN(task->second.reference,
                        build_reference(*builder_, recording.task.task, recording.target));
  }
  return &task->second;
}

absl::Status Recorder::build_missing(std::span<const Wanted> wanted, const Recording& recording,
                                     BuiltTask& built) {
  const Clock::time_point start = Clock::now();
  std::vector<std::string> missing;
  for (const Wanted& each : wanted)
    if (!built.candidates.contains(each.subject.schedule)) missing.push_back(each.subject.schedule);
  std::vector<Reply> replies = build_all(*builder_, recording.task.task, recording.target, missing);
  for (size_t i = 0; i < missing.size(); ++i) {
    TF_RETURN_IF_ERROR(replies[i].status());
    auto candidate = std::make_shared<Built>();
    if (replies[i]->code() == 0)
      candidate->artifact = measure::make_artifact_bytes(replies[i]->artifact().SerializeAsString());
    kernel::Artifact rest;  // cleared, a message would keep its memory
    rest.mutable_manifest()->Swap(replies[i]->mutable_artifact()->mutable_manifest());
    replies[i]->mutable_artifact()->Swap(&rest);
    candidate->reply = *std::move(replies[i]);
    const size_t bytes = candidate->artifact.bytes == nullptr ? 0 : candidate->artifact.bytes->size();
    const bool is_new = built.candidates.emplace(missing[i], std::move(candidate)).second;
    if (is_new) built_bytes_ += bytes;
  }
  building_ += Clock::now() - start;
  return absl::OkStatus();
}

absl::Status Recorder::run_all(std::span<const Wanted> wanted, const Recording& recording, bool is_first) {
  TF_ASSIGN_OR_RETURN(BuiltTask* const built, built_task(recording));
  if (built_bytes_ > most_built_bytes()) {
    for (auto& [task, each] : built_) each.candidates.clear();
    built_bytes_ = 0;
  }
  TF_RETURN_IF_ERROR(build_missing(wanted, recording, *built));
  const Clock::time_point start = Clock::now();
  const farm::Trial trial =
      make_trial(recording.task.task, threads_, recording.pool.best_seconds(), is_first);
  for (size_t first = 0; first < wanted.size() && !is_over(); first += kStretch) {
    const std::span<const Wanted> stretch = wanted.subspan(first, std::min(kStretch, wanted.size() - first));
    std::vector<database::Measurement> records;
    for (int tries = 1; tries <= kMostStretches && !is_over(); ++tries) {
      TF_ASSIGN_OR_RETURN(records, run_stretch(stretch, *built, trial));
      TF_ASSIGN_OR_RETURN(const bool is_calm, look(*built, trial));
      if (is_calm) break;
      ++disturbed_;
    }
    for (const database::Measurement& record : records) {
      TF_RETURN_IF_ERROR(recording.store.insert(record).status());
      recording.pool.add(record);
      ++measured_;
    }
    if (!built->anchor.candidate) choose_anchor(*built, stretch, records);
  }
  measuring_ += Clock::now() - start;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<database::Measurement>> Recorder::run_stretch(std::span<const Wanted> wanted,
                                                                         const BuiltTask& built,
                                                                         const farm::Trial& trial) {
  std::vector<std::optional<absl::StatusOr<database::Measurement>>> replicates(wanted.size());
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < wanted.size() && !is_over(); i = next++)
      replicates[i] =
          replicate(wanted[i], *built.candidates.at(wanted[i].subject.schedule), built.reference, trial);
  };
  // The second sets up its candidate, on other CPUs, while the first's is timed.
  std::thread second(work);
  work();
  second.join();
  std::vector<database::Measurement> records;
  for (auto& each : replicates) {
    if (!each) continue;  // it is over
    TF_RETURN_IF_ERROR(each->status());
    records.push_back(**std::move(each));
  }
  return records;
}

// The first stretch's fastest.
void Recorder::choose_anchor(BuiltTask& built, std::span<const Wanted> wanted,
                             std::span<const database::Measurement> records) {
  const database::Measurement* fastest = nullptr;
  double least_ns = 0;
  for (const database::Measurement& record : records) {
    const std::optional<double> ns = record.median_ns();
    if (!ns || (fastest != nullptr && *ns >= least_ns)) continue;
    fastest = &record;
    least_ns = *ns;
  }
  if (fastest == nullptr) return;
  for (const Wanted& each : wanted)
    if (each.subject.schedule == fastest->schedule)
      built.anchor = {.wanted = each, .candidate = built.candidates.at(fastest->schedule), .calm = {}};
}

// Whether the machine was calm just now; what cannot be told counts as that.
absl::StatusOr<bool> Recorder::look(BuiltTask& built, const farm::Trial& trial) {
  if (!built.anchor.candidate) return true;
  TF_ASSIGN_OR_RETURN(const database::Measurement record,
                      replicate(built.anchor.wanted, *built.anchor.candidate, built.reference, trial));
  const std::optional<double> ns = record.median_ns();
  return !ns || built.anchor.calm.hear(*ns * 1e-9);
}

absl::StatusOr<database::Measurement> Recorder::replicate(const Wanted& wanted, const Built& candidate,
                                                          const measure::ArtifactBytes& reference,
                                                          const farm::Trial& trial) {
  database::Measurement subject = wanted.subject;
  subject.job_id = static_cast<int64_t>(wanted.source);
  if (candidate.reply.code() != 0) return session::record_of(subject, candidate.reply);
  TF_ASSIGN_OR_RETURN(
      const farm::TrialResult result,
      run(*runner_, {.candidate = candidate.artifact, .reference = reference, .trial = &trial}));
  return session::record_of(subject, candidate.reply, result);
}

// A line every few seconds. The time left is at most that: some of what is to come is in the pool already,
// and hopeless candidates are not run again.
void Recorder::show(const std::string& what, const Recording& recording, int64_t left) {
  using Seconds = std::chrono::duration<double>;
  const Clock::time_point now = Clock::now();
  if (measured_ == 0 || now - shown_ < std::chrono::seconds(10)) return;
  shown_ = now;
  const double elapsed_s = Seconds(now - started_).count();
  const double per_second = static_cast<double>(measured_) / elapsed_s;
  std::fprintf(stderr, "%-28s %-14s %s, %.1f/s (building %.0f%%, measuring %.0f%%, %s disturbed), %s\n",
               recording.task.task.label.c_str(), what.c_str(), counted(measured_, "replicate").c_str(),
               per_second, 100 * Seconds(building_).count() / elapsed_s,
               100 * Seconds(measuring_).count() / elapsed_s, counted(disturbed_, "time").c_str(),
               time_left(static_cast<double>(left + recording.left_elsewhere) / per_second / 60).c_str());
}

}  // namespace tf::replay
