#include <algorithm>
#include <cstdio>
#include <span>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "proto/farm/v1/trial.pb.h"
#include "proto/kernel/v1/kernel.pb.h"
#include "tests/bench/search/replay/recorder.h"
#include "tuner/cli/cpu_split.h"
#include "tuner/session/record_proto.h"
#include "tuner/session/requests_proto.h"

namespace tf::replay {
namespace {

namespace farm = tunefarm::farm::v1;
namespace kernel = tunefarm::kernel::v1;
using Clock = std::chrono::steady_clock;

constexpr int kMaxTries = 3;  // of what gave no answer
// Candidates that are built before they are measured: nothing else runs while a candidate is timed.
constexpr size_t kTurn = 32;

// Twice the samples of a session: racing and fixed repeats are both computed from them. A candidate beyond
// what any figure looks at (pairs within 3 times the best) is left early.
farm::Trial make_trial(int threads, double best_seconds) {
  constexpr double kHopeless = 3.2;
  farm::Trial trial;
  trial.set_input_seed(1);
  trial.set_threads(static_cast<uint32_t>(threads));
  farm::MeasureOptions& measure = *trial.mutable_options();
  measure.set_samples(40);
  measure.set_min_sample_ns(1'000'000);
  measure.set_enough_ns(40'000'000);
  measure.set_warmup_ns(500'000);
  measure.set_cache_mode(farm::CACHE_MODE_ROTATE);
  measure.set_stop_if_slower_than_ns(static_cast<int64_t>(best_seconds * kHopeless * 1e9));
  trial.mutable_limits()->set_run_timeout_ns(10'000'000'000);
  trial.mutable_limits()->set_memory_bytes(2ull << 30);
  trial.mutable_limits()->set_output_bytes(4096);
  return trial;
}

using Reply = absl::StatusOr<kernel::BuildReply>;

Reply build(measure::PoolBuilder& builder, const kernel::BuildRequest& request) {
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

// In the order of what is wanted, on all CPUs.
std::vector<Reply> build_all(measure::PoolBuilder& builder, const session::Task& task,
                             const std::string& target, std::span<const Wanted> wanted) {
  std::vector<Reply> replies(wanted.size(), absl::UnavailableError("not built yet"));
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < wanted.size(); i = next++)
      replies[i] = build(builder, *session::candidate_request(task, target, wanted[i].subject.schedule));
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < builder.slots(); ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  return replies;
}

absl::StatusOr<measure::ArtifactBytes> build_reference(measure::PoolBuilder& builder,
                                                       const session::Task& task, const std::string& target) {
  TF_ASSIGN_OR_RETURN(const kernel::BuildReply reply,
                      build(builder, *session::reference_request(task, target)));
  if (reply.code() == 0) return measure::make_artifact_bytes(reply.artifact().SerializeAsString());
  return absl::FailedPreconditionError(
      absl::StrCat("the reference kernel of ", task.label, " does not compile: ", reply.message()));
}

}  // namespace

absl::StatusOr<Recorder> Recorder::start(int threads, const std::atomic<bool>& stop,
                                         Clock::time_point deadline) {
  Recorder recorder(stop, deadline);
  recorder.threads_ = threads;
  const std::vector<int> cpus = tuner_cli::allowed_cpus();
  TF_ASSIGN_OR_RETURN(recorder.runner_,
                      measure::LocalRunner::start({.cpus = tuner_cli::split_cpus(cpus, threads).measure}));
  TF_ASSIGN_OR_RETURN(recorder.builder_,
                      measure::PoolBuilder::create({.workers = std::max(1, static_cast<int>(cpus.size()))}));
  return recorder;
}

Machine Recorder::machine() {
  const absl::StatusOr<farm::DeviceState> device = runner_->device();
  return {.model = device.ok() ? device->model() : "", .peak_gflops = runner_->peak_gflops()};
}

int Recorder::search_threads() const {
  return builder_->slots();
}

absl::Status Recorder::record(RunSet& runs, const BenchTask& task, const std::string& target,
                              database::Store& store, Pool& pool, int64_t trials_left_elsewhere) {
  while (!is_over()) {
    const std::vector<Wanted> wanted = runs.advance(pool, search_threads());
    if (wanted.empty()) break;
    for (size_t first = 0; first < wanted.size() && !is_over(); first += kTurn) {
      const auto turn = std::span(wanted).subspan(first, std::min(kTurn, wanted.size() - first));
      TF_RETURN_IF_ERROR(measure_all(turn, task, target, store, pool));
      show(runs, task, runs.trials_left() + trials_left_elsewhere);
    }
  }
  return absl::OkStatus();
}

absl::Status Recorder::measure_all(std::span<const Wanted> wanted, const BenchTask& task,
                                   const std::string& target, database::Store& store, Pool& pool) {
  if (reference_of_ != task.task.label) {
    TF_ASSIGN_OR_RETURN(reference_, build_reference(*builder_, task.task, target));
    reference_of_ = task.task.label;
  }
  const std::vector<Reply> replies = build_all(*builder_, task.task, target, wanted);
  for (size_t i = 0; i < wanted.size() && !is_over(); ++i) {
    TF_RETURN_IF_ERROR(replies[i].status());
    session::Subject subject = wanted[i].subject;
    subject.job_id = static_cast<int64_t>(wanted[i].source);
    database::Measurement record;
    if (replies[i]->code() != 0) {
      record = session::record_of(subject, *replies[i]);
    } else {
      const farm::Trial trial = make_trial(threads_, pool.best_seconds());
      const measure::ArtifactBytes artifact =
          measure::make_artifact_bytes(replies[i]->artifact().SerializeAsString());
      TF_ASSIGN_OR_RETURN(const farm::TrialResult result,
                          run(*runner_, {.candidate = artifact, .reference = reference_, .trial = &trial}));
      record = session::record_of(subject, *replies[i], result);
    }
    TF_RETURN_IF_ERROR(store.insert(record).status());
    pool.add(record);
    ++measured_;
  }
  return absl::OkStatus();
}

// A line every few seconds. The time left is at most that: some of what is to come is in the pool already.
void Recorder::show(const RunSet& runs, const BenchTask& task, int64_t trials_left) {
  const Clock::time_point now = Clock::now();
  if (measured_ == 0 || now - shown_ < std::chrono::seconds(10)) return;
  shown_ = now;
  const double elapsed_s = std::chrono::duration<double>(now - started_).count();
  const double per_second = static_cast<double>(measured_) / elapsed_s;
  std::fprintf(stderr, "%-28s %3.0f%% covered, %lld measured, %.1f/s, at most %.0f minutes left\n",
               task.task.label.c_str(), 100 * runs.coverage(), static_cast<long long>(measured_), per_second,
               static_cast<double>(trials_left) / per_second / 60);
}

}  // namespace tf::replay
