#include "device_agent/worker/worker.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/cli/counted.h"
#include "base/digest.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "compiler/runtime/clock.h"
#include "device_agent/worker/answers.h"
#include "device_agent/worker/device_state.h"
#include "device_agent/worker/job_wire.h"
#include "device_agent/worker/steadiness.h"
#include "device_agent/worker/trial_setup.h"
#include "device_agent/worker/verdict.h"
#include "device_agent/worker/zygote_client.h"
#include "proto/farm/v1/trial.pb.h"

namespace tf::worker {
namespace {

namespace farm = tunefarm::farm::v1;
using sandbox::Job;
using sandbox::JobKind;

constexpr uint64_t kReferenceMemoryBytes = uint64_t{4} << 30;
constexpr uint64_t kReferenceOutputBytes = 4096;
constexpr int64_t kPeakTimeoutNs = 5'000'000'000;
constexpr int64_t kGpuPeakTimeoutNs = 60'000'000'000;  // a driver's compiler starts, on a busy machine maybe
// A trial whose buffers take more is made ready only once the one before has ended.
constexpr uint64_t kReadyAheadBytes = 32 << 20;
// Of one that stands still then.
constexpr uint64_t kStillAheadBytes = 256 << 20;
// Of processes with a device that compiles, each of which makes a candidate ready, if there are so many CPUs.
constexpr size_t kFewestCompilers = 2, kMostCompilers = 3;

absl::Status check_cpus(const std::vector<int>& cpus) {
  for (int cpu : cpus) {
    if (cpu < 0 || cpu >= static_cast<int>(sandbox::kCpuWords * 64)) {
      return absl::InvalidArgumentError(absl::StrCat("invalid CPU ", cpu, ": CPUs are 0 to 1023"));
    }
  }
  return absl::OkStatus();
}

// A supervisor with two runners. Drivers take memory and threads of their own, and compile beside that.
Helper gpu_helper() {
  return {.path = "",
          .name = "gpu_worker",
          .own_bytes = uint64_t{4} << 30,
          .own_processes = 512,
          .has_driver = true};
}
// What it does not have: drivers make too many system calls for a list of those that are allowed.
constexpr Capability kNotOnGpus = Capability::kSeccomp;

bool is_cpu(std::string_view device) {
  return device == "cpu";
}
// Whether its driver compiles candidates, which is worth a second process with the device open; others load machine code.
bool compiles(std::string_view device) {
  return device.starts_with("opencl:");
}

void set_device(std::string_view device, Job* job) {
  device = device.substr(0, sandbox::kMaxDeviceChars - 1);  // the child knows no device of a longer name
  std::copy(device.begin(), device.end(), job->device);
}

sandbox::CpuSet set_of(const std::vector<int>& cpus) {
  sandbox::CpuSet set = {};
  for (int cpu : cpus) set.words[cpu / 64] |= uint64_t{1} << (cpu % 64);
  return set;
}

sandbox::CpuSet both(sandbox::CpuSet a, const sandbox::CpuSet& b) {
  for (uint32_t w = 0; w < sandbox::kCpuWords; ++w) a.words[w] |= b.words[w];
  return a;
}

size_t count_of(const sandbox::CpuSet& cpus) {
  size_t count = 0;
  for (const uint64_t word : cpus.words) count += static_cast<size_t>(std::popcount(word));
  return count;
}

class ZygoteWorker final : public Worker {
 public:
  explicit ZygoteWorker(WorkerOptions options)
      : options_(std::move(options)),
        cpus_(set_of(options_.cpus)),
        ahead_(!near_cpus(options_.cpus, options_.spare_cpus).empty()),
        ready_cpus_(ahead_ ? set_of(near_cpus(options_.cpus, options_.spare_cpus)) : cpus_),
        all_cpus_(both(cpus_, ready_cpus_)),
        without_(options_.sandbox.without),
        probe_(options_.cpus),
        answers_(options_.reference_cache_bytes) {}

  // Where there are CPUs for it, a second zygote has the next trial ready when one ends.
  absl::Status start_zygotes() {
    TF_ASSIGN_OR_RETURN(missing_, missing_capabilities(options_.program, without_));
    TF_RETURN_IF_ERROR(check_missing(options_.sandbox, missing_));
    for (const CapabilityState& state : missing_) without_.add(state.capability);
    const size_t count = ahead_ ? 2 : 1;
    TF_RETURN_IF_ERROR(fill(zygotes_, count));
    if (is_cpu(options_.device)) return absl::OkStatus();
    const size_t compilers = std::clamp(count_of(all_cpus_), kFewestCompilers, kMostCompilers);
    return fill(gpus_, compiles(options_.device) ? compilers : 1);
  }

  absl::StatusOr<farm::TrialResult> run(const farm::Trial& trial, std::string_view candidate,
                                        std::string_view reference, std::stop_token end) override {
    TF_RETURN_IF_ERROR(check_trial(trial, options_.longest_run_ns));
    TF_ASSIGN_OR_RETURN(LoadedArtifact loaded, load_artifact(candidate, trial.artifact_digest()));
    set_device(options_.device, &loaded.job);
    std::shared_ptr<const Expected> right;
    if (!trial.reference_digest().empty()) {
      TF_ASSIGN_OR_RETURN(right, answers_for(trial, reference, end));
      TF_RETURN_IF_ERROR(check_same_computation(loaded.job, right->job));
    }
    set_up_trial(trial, loaded.workspace_per_thread_bytes, {probe_.l2_bytes(), probe_.last_cache_bytes()},
                 &loaded.job);
    limit_memory(options_.most_memory_bytes, &loaded.job);
    loaded.job.ready_cpus = others_stand_still() ? all_cpus_ : ready_cpus_;
    loaded.job.device_cpus = cpus_;
    farm::TrialResult result;
    TF_RETURN_IF_ERROR(rest_until_steady(end));
    const uint64_t printed_bytes = std::min(trial.limits().output_bytes(), kMostPrintedBytes);
    std::unique_lock device(device_mutex_, std::defer_lock);
    TF_ASSIGN_OR_RETURN(ChildRun run, run_child(loaded, printed_bytes, end, device));
    // Others had its processor; if they have it again, so be it.
    if (device.owns_lock() && (run.result.disturbed != 0 || was_held_up(run, loaded.job))) {
      device.unlock();
      TF_ASSIGN_OR_RETURN(run, run_child(loaded, printed_bytes, end, device));
    }
    // What is left to do for this one would take from the next one's time where that runs on the same CPUs.
    if (device.owns_lock() && !others_stand_still()) {
      device.unlock();
      std::this_thread::yield();  // to whose turn it is
    }
    if (std::lock_guard lock(gpu_facts_mutex_); gpu_facts_) note_gpu_state(run.result.gpu);
    TF_RETURN_IF_ERROR(judge_end(run, loaded.job, &result));
    if (result.outcome() == farm::OUTCOME_UNSPECIFIED) {
      if (right) judge_answers(run, loaded, *right, &result);
      if (result.outcome() == farm::OUTCOME_UNSPECIFIED) judge_samples(run, loaded.job, &result);
      if (device.owns_lock()) device.unlock();
      if (result.outcome() == farm::OUTCOME_UNSPECIFIED) TF_RETURN_IF_ERROR(check_roofline(loaded, &result));
    }
    if (result.outcome() == farm::OUTCOME_UNSPECIFIED) {
      const bool stopped = run.result.end == sandbox::ChildEnd::kStoppedEarly;
      result.set_outcome(stopped ? farm::OUTCOME_STOPPED_EARLY : farm::OUTCOME_OK);
    }
    result.set_printed(printable_lines(run.printed));
    result.set_cache_mode(trial.options().cache_mode());
    result.set_reuse_distance_bytes(trial.options().reuse_distance_bytes());
    result.set_artifact_digest(trial.artifact_digest());
    *result.mutable_device() = device_state();
    return result;
  }

  bool has_reference(std::string_view digest, uint64_t seed) const override {
    std::lock_guard lock(answers_mutex_);
    return answers_.contains(digest, seed);
  }

  size_t trials_at_once() const override {
    const size_t helpers = (is_cpu(options_.device) ? zygotes_ : gpus_).all.size();
    return helpers > 1 ? helpers + 1 : 1;
  }

  absl::StatusOr<double> peak_gflops() override {
    std::lock_guard lock(peak_mutex_);
    if (peak_gflops_ == 0) TF_RETURN_IF_ERROR(measure_peak().status());
    return peak_gflops_;
  }

  void cancel() override {
    cancelled_ = true;
    std::lock_guard lock(zygote_mutex_);
    for (const Helpers* helpers : {&zygotes_, &gpus_})
      for (const Zygote& zygote : helpers->all) zygote->kill();
  }

  absl::Status renew_sandbox() override {
    std::lock_guard one(renewing_mutex_);  // who takes all of them
    for (Helpers* helpers : {&zygotes_, &gpus_}) {
      std::vector<Zygote*> taken;
      for (size_t i = 0; i < helpers->all.size(); ++i) taken.push_back(take(*helpers, {}));
      absl::Status status;
      for (Zygote* zygote : taken) {
        if (status.ok()) status = start(*helpers, *zygote);
        give_back(*helpers, *zygote);
      }
      TF_RETURN_IF_ERROR(status);
    }
    return absl::OkStatus();
  }

  CapabilitySet without_sandbox() const override {
    CapabilitySet without = without_;
    if (!is_cpu(options_.device)) without.add(kNotOnGpus);
    return without;
  }

  const std::vector<CapabilityState>& missing_layers() const override { return missing_; }

  std::optional<GpuDevice> gpu() override {
    std::lock_guard lock(gpu_facts_mutex_);
    return gpu_facts_;
  }

  // Of a GPU it is another device than the machine's CPUs, and their clock and temperature say nothing of it.
  farm::DeviceState device_state() const override {
    farm::DeviceState state = probe_.read();
    std::lock_guard lock(gpu_facts_mutex_);
    if (!gpu_facts_) return state;
    farm::DeviceState of_gpu;
    of_gpu.set_model(gpu_facts_->model);
    of_gpu.set_fingerprint(
        sha256(absl::StrCat(state.fingerprint(), "\n", gpu_facts_->back_end, "\n", gpu_facts_->model, "\n",
                            gpu_facts_->driver, "\n", gpu_facts_->memory_bytes))
            .hex());
    of_gpu.set_load_1min(state.load_1min());
    of_gpu.set_clock_mhz(gpu_facts_->clock_mhz);
    of_gpu.set_temperature_c(gpu_facts_->temperature_c);
    of_gpu.set_throttled(gpu_facts_->throttled);
    return of_gpu;
  }

 private:
  using Zygote = std::unique_ptr<ZygoteClient>;
  // Where one kind of candidates runs: the one makes its job ready while another's is measured.
  struct Helpers {
    std::vector<Zygote> all;
    std::vector<Zygote*> idle;
    std::mutex mutex;  // of the idle ones
    std::condition_variable_any has_idle;
  };

  absl::Status fill(Helpers& helpers, size_t count) {
    helpers.all.resize(count);
    for (Zygote& zygote : helpers.all) {
      TF_RETURN_IF_ERROR(start(helpers, zygote));
      helpers.idle.push_back(&zygote);
    }
    return absl::OkStatus();
  }

  absl::Status start(const Helpers& helpers, Zygote& zygote) {
    std::vector<CapabilityState> missing;
    const bool on_gpu = &helpers == &gpus_;
    const Helper helper = on_gpu ? gpu_helper() : Helper{.path = options_.program};
    TF_ASSIGN_OR_RETURN(Zygote fresh,
                        ZygoteClient::start(helper, on_gpu ? without_sandbox() : without_, &missing));
    std::lock_guard lock(zygote_mutex_);
    zygote = std::move(fresh);
    if (on_gpu && timed_ != nullptr && timed_ != &zygote) zygote->pause(true);
    return absl::OkStatus();
  }

  absl::StatusOr<ChildRun> run_child(const LoadedArtifact& loaded, uint64_t output_bytes,
                                     const std::stop_token& end) {
    std::unique_lock device(device_mutex_, std::defer_lock);
    return run_child(loaded, output_bytes, end, device);
  }

  // `device` is locked if it came to that.
  absl::StatusOr<ChildRun> run_child(const LoadedArtifact& loaded, uint64_t output_bytes,
                                     const std::stop_token& end, std::unique_lock<std::mutex>& device) {
    if (std::optional<ChildRun> none = does_not_fit(loaded)) return *std::move(none);
    Helpers& helpers = is_cpu(loaded.job.device) ? zygotes_ : gpus_;
    Zygote* taken = take(helpers, end);
    if (taken == nullptr) return absl::CancelledError("the trial was ended");
    Zygote& zygote = *taken;
    absl::StatusOr<ChildRun> run = run_child(zygote, helpers.all.size(), loaded, output_bytes, end, device);
    if (!run.ok() && cancelled_) run = absl::CancelledError("the worker was cancelled");
    // The last word of a zygote that is killed may be that its child was: it counts for nothing.
    const bool ended = end.stop_requested();
    if (absl::IsUnavailable(run.status()) || ended) {
      if (absl::Status started = start(helpers, zygote); !started.ok()) run = std::move(started);
    }
    if (ended) run = absl::CancelledError("the trial was ended");
    give_back(helpers, zygote);
    return run;
  }

  // What is made ready beside a running trial stays small, so as not to disturb it.
  absl::StatusOr<ChildRun> run_child(Zygote& owned, size_t at_once, const LoadedArtifact& loaded,
                                     uint64_t output_bytes, const std::stop_token& end,
                                     std::unique_lock<std::mutex>& device) {
    ZygoteClient& zygote = *owned;
    const bool on_gpu = !is_cpu(loaded.job.device), still = on_gpu && others_stand_still();
    const bool ahead = buffer_bytes(loaded) <= (still ? kStillAheadBytes : kReadyAheadBytes) &&
                       !zygote.must_fill(loaded.job);
    if (!ahead) device.lock();
    if (cancelled_ || end.stop_requested()) return absl::CancelledError("");
    const std::stop_callback kill(end, [&zygote] { zygote.kill(); });
    TF_RETURN_IF_ERROR(zygote.prepare(loaded.job, loaded.blobs, loaded.result_bytes, on_gpu ? at_once : 1));
    if (on_gpu) {
      TF_ASSIGN_OR_RETURN(const bool is_ready, zygote.wait_until_ready(output_bytes));
      if (!is_ready) return zygote.run(cpus_, output_bytes);
    }
    if (ahead) device.lock();
    if (still) pause_others(owned, true);
    absl::StatusOr<ChildRun> run = zygote.run(cpus_, output_bytes);
    if (still) pause_others(owned, false);
    return run;
  }

  // Where they would take from the one that is timed: its device is the CPUs, or they have none of their own.
  bool others_stand_still() const {
    std::lock_guard lock(gpu_facts_mutex_);
    return compiles(options_.device) && (!ahead_ || !gpu_facts_ || gpu_facts_->is_processor);
  }

  void pause_others(const Zygote& measured, bool on) {
    std::lock_guard lock(zygote_mutex_);
    timed_ = on ? &measured : nullptr;
    for (const Zygote& zygote : gpus_.all)
      if (&zygote != &measured) zygote->pause(on);
  }

  static uint64_t buffer_bytes(const LoadedArtifact& loaded) {
    uint64_t bytes = loaded.result_bytes + loaded.job.workspace_bytes;
    for (uint32_t p = 0; p < loaded.job.port_count; ++p) bytes += 3 * loaded.job.ports[p].size_bytes;
    return bytes;
  }

  // Null: the end came first.
  static Zygote* take(Helpers& helpers, const std::stop_token& end) {
    std::unique_lock lock(helpers.mutex);
    if (!helpers.has_idle.wait(lock, end, [&helpers] { return !helpers.idle.empty(); })) return nullptr;
    Zygote* taken = helpers.idle.back();
    helpers.idle.pop_back();
    return taken;
  }
  static void give_back(Helpers& helpers, Zygote& zygote) {
    {
      std::lock_guard lock(helpers.mutex);
      helpers.idle.push_back(&zygote);
    }
    helpers.has_idle.notify_one();
  }

  // The reference's answers, from memory or by running it once; who else needs them waits.
  absl::StatusOr<std::shared_ptr<const Expected>> answers_for(const farm::Trial& trial,
                                                              std::string_view reference,
                                                              const std::stop_token& end) {
    std::lock_guard one(reference_mutex_);
    {
      std::lock_guard lock(answers_mutex_);
      std::shared_ptr<const Expected> found = answers_.find(trial.reference_digest(), trial.input_seed());
      if (found) return found;
    }
    if (reference.empty()) {
      return absl::FailedPreconditionError(absl::StrCat("the answers of reference ", trial.reference_digest(),
                                                        " are unknown here: send the artifact"));
    }
    TF_ASSIGN_OR_RETURN(LoadedArtifact loaded, load_artifact(reference, trial.reference_digest()));
    TF_ASSIGN_OR_RETURN(ChildRun run, run_reference(trial, &loaded, end));
    std::vector<Tensor> outputs = read_outputs(loaded.job, run.memory.data(), false);
    if (outputs.size() % 2 != 0) {
      return absl::InvalidArgumentError("a reference gives each output's magnitude after its outputs");
    }
    for (const Tensor& tensor : outputs) {
      if (!is_poisoned(tensor)) continue;
      return absl::FailedPreconditionError(
          absl::StrCat("the reference ", trial.reference_digest(), " left part of an output unwritten"));
    }
    auto answers = std::make_shared<Expected>();
    const auto half = outputs.begin() + static_cast<std::ptrdiff_t>(outputs.size() / 2);
    answers->outputs.assign(std::make_move_iterator(outputs.begin()), std::make_move_iterator(half));
    answers->magnitudes.assign(std::make_move_iterator(half), std::make_move_iterator(outputs.end()));
    answers->job = loaded.job;
    TF_RETURN_IF_ERROR(check_magnitudes(*answers));
    std::lock_guard lock(answers_mutex_);
    answers_.insert(trial.reference_digest(), trial.input_seed(), answers);
    return std::shared_ptr<const Expected>(answers);
  }

  absl::StatusOr<ChildRun> run_reference(const farm::Trial& trial, LoadedArtifact* loaded,
                                         const std::stop_token& end) {
    Job& job = loaded->job;
    set_device("cpu", &job);  // whatever the candidate runs on
    job.kind = JobKind::kReference;
    job.threads = 1;
    job.seed = trial.input_seed();
    job.timeout_ns = options_.reference_timeout_ns;
    job.memory_bytes = std::max<uint64_t>(trial.limits().memory_bytes(), kReferenceMemoryBytes);
    limit_memory(options_.most_memory_bytes, &job);
    job.workspace_bytes += loaded->workspace_per_thread_bytes;
    job.ready_cpus = ready_cpus_;
    TF_ASSIGN_OR_RETURN(ChildRun run, run_child(*loaded, kReferenceOutputBytes, end));
    farm::TrialResult result;
    TF_RETURN_IF_ERROR(judge_end(run, job, &result));
    if (result.outcome() == farm::OUTCOME_UNSPECIFIED) return run;
    return absl::FailedPreconditionError(absl::StrCat("the reference ", trial.reference_digest(),
                                                      " failed: ", farm::Outcome_Name(result.outcome()), ", ",
                                                      result.detail()));
  }

  // The FMA rate is what no candidate changes: when it falls, the machine is hot or throttled, and what it
  // measures compares with nothing. Everybody rests.
  absl::Status rest_until_steady(const std::stop_token& end) {
    std::lock_guard lock(peak_mutex_);
    int64_t rest_ns = 0;
    while (steadiness_.is_due(tf_monotonic_ns()) && !cancelled_ && !end.stop_requested()) {
      std::this_thread::sleep_for(std::chrono::nanoseconds(rest_ns));
      TF_ASSIGN_OR_RETURN(const double gflops, measure_peak(end));
      rest_ns = steadiness_.take(gflops, tf_monotonic_ns());
    }
    return absl::OkStatus();
  }

  void note_gpu(const sandbox::Result& result) {
    const auto text = [](const char* chars, size_t most) { return printable({chars, strnlen(chars, most)}); };
    std::lock_guard lock(gpu_facts_mutex_);
    gpu_facts_ = {.back_end = options_.device.substr(0, options_.device.find(':')),
                  .model = text(result.detail, sizeof result.detail),
                  .driver = text(result.gpu.driver, sizeof result.gpu.driver),
                  .memory_bytes = result.gpu.memory_bytes,
                  .capability = result.gpu.capability,
                  .units = result.gpu.units,
                  .is_processor = result.gpu.is_processor != 0};
    note_gpu_state(result.gpu);
  }

  // With the mutex. A runner that was killed says nothing: what was known is still the best guess.
  void note_gpu_state(const sandbox::GpuResult& state) {
    if (state.has_state == 0) return;
    gpu_facts_->clock_mhz = state.clock_mhz;
    gpu_facts_->temperature_c = state.temperature_c;
    gpu_facts_->throttled = state.throttled != 0;
  }

  // What it is now; peak_gflops_ keeps the best.
  absl::StatusOr<double> measure_peak(const std::stop_token& end = {}) {
    LoadedArtifact none;
    set_device(options_.device, &none.job);
    none.job.kind = JobKind::kPeak;
    none.job.threads = 1;
    none.job.timeout_ns = is_cpu(options_.device) ? kPeakTimeoutNs : kGpuPeakTimeoutNs;
    none.job.memory_bytes = 64 << 20;
    none.result_bytes = sizeof(sandbox::Result);
    none.job.ready_cpus = others_stand_still() ? all_cpus_ : ready_cpus_;
    none.job.device_cpus = cpus_;
    TF_ASSIGN_OR_RETURN(ChildRun run, run_child(none, 0, end));
    if (run.result.end == sandbox::ChildEnd::kOtherDevice)
      return absl::InvalidArgumentError(run.result.detail);
    if (run.result.end == sandbox::ChildEnd::kCannotMeasure)
      return absl::UnavailableError(absl::StrCat(options_.device, ": ", run.result.detail));
    if (run.result.end != sandbox::ChildEnd::kDone || run.result.peak_gflops <= 0) {
      return absl::UnavailableError("cannot measure the FMA rate: try again");
    }
    peak_gflops_ = std::max(peak_gflops_, run.result.peak_gflops);
    if (!is_cpu(options_.device)) note_gpu(run.result);
    return run.result.peak_gflops;
  }

  // No program does its FLOPs faster than the units run. A peak that was measured while the machine was busy
  // is too low: before we call anyone a liar we measure again.
  absl::Status check_roofline(const LoadedArtifact& loaded, farm::TrialResult* result) {
    const double best_ns = best_run_ns(*result);
    if (loaded.flops <= 0 || best_ns <= 0) return absl::OkStatus();
    std::lock_guard lock(peak_mutex_);
    const double gflops = loaded.flops / best_ns;
    for (int attempt = 0; attempt < 4; ++attempt) {
      if (peak_gflops_ > 0 && gflops <= most_gflops(loaded, peak_gflops_)) return absl::OkStatus();
      TF_RETURN_IF_ERROR(measure_peak().status());
    }
    if (gflops <= most_gflops(loaded, peak_gflops_)) return absl::OkStatus();
    result->set_outcome(farm::OUTCOME_IMPLAUSIBLE);
    result->set_detail(absl::StrCat("it claims ", gflops, " GFLOP/s; ", counted(loaded.job.threads, "thread"),
                                    loaded.job.threads == 1 ? " reaches" : " reach", " at most ",
                                    most_gflops(loaded, peak_gflops_)));
    return absl::OkStatus();
  }

  const WorkerOptions options_;
  const sandbox::CpuSet cpus_;
  const bool ahead_;
  const sandbox::CpuSet ready_cpus_, all_cpus_;
  CapabilitySet without_;
  std::vector<CapabilityState> missing_;  // part of without_
  const DeviceProbe probe_;
  std::atomic<bool> cancelled_ = false;
  // In the order in which they are taken: what a run waits for to know, a zygote, the device.
  std::mutex reference_mutex_, peak_mutex_, renewing_mutex_;
  std::mutex device_mutex_;        // one child at a time computes
  std::mutex zygote_mutex_;        // replacing one of the helpers against cancel()
  const Zygote* timed_ = nullptr;  // while the others stand still
  Helpers zygotes_;
  Helpers gpus_;  // none: candidates run on CPUs
  mutable std::mutex gpu_facts_mutex_;
  std::optional<GpuDevice> gpu_facts_;
  mutable std::mutex answers_mutex_;
  AnswerCache answers_;
  double peak_gflops_ = 0;
  Steadiness steadiness_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Worker>> Worker::start(WorkerOptions options) {
  TF_RETURN_IF_ERROR(check_cpus(options.cpus));
  TF_RETURN_IF_ERROR(check_cpus(options.spare_cpus));
  auto worker = std::make_unique<ZygoteWorker>(std::move(options));
  TF_RETURN_IF_ERROR(worker->start_zygotes());
  return worker;
}

}  // namespace tf::worker
