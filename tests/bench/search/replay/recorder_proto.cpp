#include <algorithm>
#include <cstdio>
#include <optional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "proto/farm/v1/trial.pb.h"
#include "proto/kernel/v1/kernel.pb.h"
#include "tests/bench/search/replay/recorder.h"
#include "tuner/cli/cpu_split.h"
#include "tuner/session/queue.h"
#include "tuner/session/record_proto.h"
#include "tuner/session/requests_proto.h"

namespace tf::replay {
namespace {

namespace farm = tunefarm::farm::v1;
namespace kernel = tunefarm::kernel::v1;
using Clock = std::chrono::steady_clock;

constexpr int kMaxTries = 3;  // of what gave no answer

// Twice the samples of a session: racing and fixed repeats are both computed from them. A candidate beyond
// what any figure looks at (pairs within 3 times the best) is left early.
farm::Trial make_trial(int threads, double best_seconds) {
  constexpr double kHopeless = 4;
  farm::Trial trial;
  trial.set_input_seed(1);
  trial.set_threads(static_cast<uint32_t>(threads));
  farm::MeasureOptions& measure = *trial.mutable_options();
  measure.set_samples(10);
  measure.set_min_sample_ns(5'000'000);
  measure.set_warmup_ns(1'000'000);
  measure.set_cache_mode(farm::CACHE_MODE_ROTATE);
  measure.set_stop_if_slower_than_ns(static_cast<int64_t>(best_seconds * kHopeless * 1e9));
  trial.mutable_limits()->set_run_timeout_ns(10'000'000'000);
  trial.mutable_limits()->set_memory_bytes(2ull << 30);
  trial.mutable_limits()->set_output_bytes(4096);
  return trial;
}

struct Built {
  const Wanted* wanted = nullptr;
  absl::StatusOr<kernel::BuildReply> reply;
};

absl::StatusOr<kernel::BuildReply> build(measure::PoolBuilder& builder, const kernel::BuildRequest& request) {
  absl::StatusOr<kernel::BuildReply> reply = builder.build(request);
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

// Threads that build what is wanted, in order, until all of it is built or `over` says so; a few at most wait
// to be run. Ends the threads when it goes.
class Builds {
 public:
  Builds(measure::PoolBuilder& builder, const session::Task& task, const std::string& target,
         const std::vector<Wanted>& wanted)
      : builder_(builder), task_(task), target_(target), wanted_(wanted) {
    for (int i = 0; i < builder.slots(); ++i) threads_.emplace_back([this] { work(); });
  }
  ~Builds() {
    over_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

  // The next one; nothing once all were given out.
  std::optional<Built> next() {
    if (given_ == wanted_.size()) return std::nullopt;
    ++given_;
    return built_.pop();
  }

 private:
  void work() {
    for (size_t i = next_++; i < wanted_.size() && !over_; i = next_++) {
      const auto request = session::candidate_request(task_, target_, wanted_[i].subject.schedule);
      built_.push({&wanted_[i], build(builder_, *request)});
    }
  }

  measure::PoolBuilder& builder_;
  const session::Task& task_;
  const std::string& target_;
  const std::vector<Wanted>& wanted_;
  std::atomic<size_t> next_ = 0;
  std::atomic<bool> over_ = false;
  size_t given_ = 0;
  session::Queue<Built> built_;
  std::vector<std::thread> threads_;
};

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
  const tuner_cli::CpuSplit split = tuner_cli::split_cpus(tuner_cli::allowed_cpus(), threads);
  TF_ASSIGN_OR_RETURN(recorder.runner_, measure::LocalRunner::start({.cpus = split.measure}));
  tuner_cli::stay_on(split.rest);  // before any thread or build worker is started
  const int workers = std::max(1, static_cast<int>(split.rest.size()));
  TF_ASSIGN_OR_RETURN(recorder.builder_, measure::PoolBuilder::create({.workers = workers}));
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
    TF_RETURN_IF_ERROR(measure_all(wanted, task, target, store, pool));
    show(runs, task, runs.trials_left() + trials_left_elsewhere);
  }
  return absl::OkStatus();
}

absl::Status Recorder::measure_all(const std::vector<Wanted>& wanted, const BenchTask& task,
                                   const std::string& target, database::Store& store, Pool& pool) {
  if (reference_of_ != task.task.label) {
    TF_ASSIGN_OR_RETURN(reference_, build_reference(*builder_, task.task, target));
    reference_of_ = task.task.label;
  }
  Builds builds(*builder_, task.task, target, wanted);
  while (!is_over()) {
    std::optional<Built> built = builds.next();
    if (!built) break;
    TF_RETURN_IF_ERROR(built->reply.status());
    session::Subject subject = built->wanted->subject;
    subject.job_id = static_cast<int64_t>(built->wanted->source);
    database::Measurement record;
    if (built->reply->code() != 0) {
      record = session::record_of(subject, *built->reply);
    } else {
      const farm::Trial trial = make_trial(threads_, pool.best_seconds());
      const measure::ArtifactBytes artifact =
          measure::make_artifact_bytes(built->reply->artifact().SerializeAsString());
      TF_ASSIGN_OR_RETURN(const farm::TrialResult result,
                          run(*runner_, {.candidate = artifact, .reference = reference_, .trial = &trial}));
      record = session::record_of(subject, *built->reply, result);
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
