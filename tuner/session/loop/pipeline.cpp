#include "tuner/session/loop/pipeline.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"
#include "proto/farm/v1/trial.pb.h"
#include "proto/kernel/v1/kernel.pb.h"
#include "tuner/session/loop/record_wire.h"

namespace tf::session {
namespace {

namespace farm = tunefarm::farm::v1;
namespace kernel = tunefarm::kernel::v1;

// A measurement is short and a build is long; so many waiting candidates a slot keep a device from ever
// waiting.
constexpr int kQueuedPerSlot = 2;
// A second trial on its way to each slot hides the way to a remote device.
constexpr int kRunsPerSlot = 2;
// A turn of measuring: long enough that handing over does not count, short enough that what is learned from
// it comes in time.
constexpr int kBurst = 6;
// The same for all trials, so that a device computes a reference's answers once.
constexpr uint64_t kInputSeed = 1;

// Devices come and go.
int runs_at_once(const measure::Runner& runner) {
  return kRunsPerSlot * std::max(1, runner.slots());
}

TurnOptions turns(driver::Builder& builder, const measure::Runner& runner, bool takes_turns) {
  TurnOptions options{.most = [&runner] { return runs_at_once(runner); }, .most_of_bench = kRunsPerSlot};
  if (!takes_turns) return options;
  options.burst = kBurst;
  options.pause = [&builder] { builder.pause(); };
  options.resume = [&builder] { builder.resume(); };
  return options;
}

}  // namespace

bool may_try_again(const Finished& finished) {
  return measure::may_retry(finished.status) && finished.work.tries + 1 < kMaxTries;
}

Pipeline::Pipeline(driver::Builder& builder, measure::Runner& runner, PipelineOptions options)
    : builder_(builder),
      runner_(runner),
      options_(std::move(options)),
      to_run_(turns(builder, runner, options_.takes_turns), [](const Work& work) { return work.bench; }),
      incumbents_(options_.tasks.size()) {
  for (size_t i = 0; i < options_.tasks.size(); ++i) references_.push_back(std::make_unique<Reference>());
  for (int i = 0; i < builder_.slots(); ++i) threads_.emplace_back([this] { build_loop(); });
  follow_slots();
}

void Pipeline::follow_slots() {
  for (; runs_ < runs_at_once(runner_); ++runs_) threads_.emplace_back([this] { run_loop(); });
  to_run_.look_again();
}

std::optional<Finished> Pipeline::next(std::chrono::milliseconds timeout) {
  follow_slots();
  return finished_.pop_for(timeout);
}

Pipeline::~Pipeline() {
  to_build_.close();
  to_run_.close();
  for (std::thread& thread : threads_) thread.join();
}

int Pipeline::depth() const {
  const int queued = (1 + kQueuedPerSlot) * std::max(1, runner_.slots());
  // While one burst is measured, the next one is proposed.
  return builder_.slots() + (options_.takes_turns ? std::max(2 * kBurst, queued) : queued);
}

int Pipeline::begun() const {
  return builder_.slots() + (options_.takes_turns ? kBurst : runs_at_once(runner_));
}

void Pipeline::submit(Work work) {
  to_run_.expect();
  if (work.built != nullptr) {
    to_run_.push(std::move(work));
  } else {
    to_build_.push(std::move(work));
  }
}

void Pipeline::let_go(const Finished& finished) {
  if (finished.result && !finished.is_duplicate) runner_.acknowledge(*finished.result);
}

void Pipeline::set_incumbent(int task, const Incumbent& incumbent) {
  std::lock_guard lock(incumbents_mutex_);
  incumbents_.at(static_cast<size_t>(task)) = incumbent;
}

farm::Trial Pipeline::trial_of(const Work& work) {
  farm::Trial trial;
  trial.set_input_seed(kInputSeed);
  trial.set_threads(static_cast<uint32_t>(options_.threads));
  farm::MeasureOptions& measure = *trial.mutable_options();
  const Sampling sampling = sampling_of(work.priority);
  measure.set_samples(sampling.samples);
  measure.set_min_sample_ns(sampling.min_sample_ns);
  measure.set_enough_ns(sampling.enough_ns);
  measure.set_warmup_ns(sampling.warmup_ns);
  measure.set_cache_mode(farm::CACHE_MODE_ROTATE);
  measure.set_reuse_distance_bytes(options_.tasks[static_cast<size_t>(work.task)].reuse_distance_bytes);
  if (work.priority == Priority::kRace) {
    std::lock_guard lock(incumbents_mutex_);
    const Incumbent& incumbent = incumbents_[static_cast<size_t>(work.task)];
    measure.set_stop_if_slower_than_ns(static_cast<int64_t>(incumbent.ns));
    measure.set_noise(incumbent.noise);
  }
  trial.mutable_limits()->set_run_timeout_ns(10'000'000'000);
  trial.mutable_limits()->set_memory_bytes(2ull << 30);
  trial.mutable_limits()->set_output_bytes(4096);
  return trial;
}

// Built by the first candidate that needs it; the others of its task wait. What an overloaded machine spoiled
// is tried again by the next candidate.
absl::StatusOr<measure::ArtifactBytes> Pipeline::reference(int task) {
  Reference& reference = *references_.at(static_cast<size_t>(task));
  std::lock_guard lock(reference.mutex);
  if (reference.artifact.ok() || !measure::may_retry(reference.artifact.status())) return reference.artifact;
  absl::StatusOr<kernel::BuildReply> reply =
      builder_.build(*options_.tasks[static_cast<size_t>(task)].reference);
  if (!reply.ok()) {
    reference.artifact = reply.status();
  } else if (reply->code() != 0) {
    const absl::Status refused(static_cast<absl::StatusCode>(reply->code()), reply->message());
    const std::string message = absl::StrCat("the reference kernel does not compile: ", reply->message());
    reference.artifact = measure::may_retry(refused) ? absl::UnavailableError(message)
                                                     : absl::FailedPreconditionError(message);
  } else {
    reference.artifact = measure::make_artifact_bytes(reply->artifact().SerializeAsString());
  }
  return reference.artifact;
}

void Pipeline::build_loop() {
  while (std::optional<Work> work = to_build_.pop()) {
    if (work->is_withdrawn()) {
      to_run_.drop();
    } else if (std::optional<Finished> finished = build(*work)) {
      to_run_.drop();
      finished_.push(*std::move(finished));
    } else {
      pass_on(*std::move(work));
    }
  }
}

// Nothing if it is built and to be measured.
std::optional<Finished> Pipeline::build(Work& work) {
  absl::StatusOr<measure::ArtifactBytes> checked_by = reference(work.task);
  if (!checked_by.ok()) return Finished{work, checked_by.status()};
  absl::StatusOr<kernel::BuildReply> reply = builder_.build(*work.request);
  if (!reply.ok()) return Finished{work, reply.status()};
  work.built = std::make_shared<const kernel::BuildReply>(*std::move(reply));
  if (work.built->code() != 0) return Finished{work, absl::OkStatus()};
  if (work.place) work.place->note_code(code_of(*work.built));
  work.artifact = measure::make_artifact_bytes(work.built->artifact().SerializeAsString());
  work.reference = *std::move(checked_by);
  return std::nullopt;
}

// To the runners, unless its code is known.
void Pipeline::pass_on(Work work) {
  if (work.is_withdrawn()) return to_run_.drop();
  if (work.priority == Priority::kInFull) return to_run_.push(std::move(work));
  Result known;
  switch (codes_.claim(work.task, work.built->code_digest(), work, &known)) {
    case decltype(codes_)::Claim::kMeasure:
      return to_run_.push(std::move(work));
    case decltype(codes_)::Claim::kWait:
      return to_run_.drop();
    case decltype(codes_)::Claim::kKnown:
      to_run_.drop();
      return finished_.push({std::move(work), absl::OkStatus(), std::move(known), true});
  }
}

// A time with constants from elsewhere does not compare with the others: it is none.
absl::StatusOr<farm::TrialResult> Pipeline::measure(const Work& work) {
  const CpuTurn::Hold turn = CpuTurn::take(options_.cpu);
  const farm::Trial trial = trial_of(work);
  absl::StatusOr<farm::TrialResult> result = runner_.run({work.artifact, work.reference, &trial, work.bench});
  const uint64_t asked_bytes = trial.options().reuse_distance_bytes();
  if (!result.ok() || result->reuse_distance_bytes() == asked_bytes) return result;
  runner_.acknowledge(*result);
  return absl::FailedPreconditionError(absl::StrCat("the device used the wrong reuse distance: requested ",
                                                    asked_bytes, " bytes, used ",
                                                    result->reuse_distance_bytes(), ": upgrade its agent"));
}

void Pipeline::run_loop() {
  while (std::optional<Work> work = to_run_.pop()) {
    if (work->is_withdrawn()) {
      to_run_.done(*work);
      give_up_code(*work);
      continue;
    }
    if (work->place) work->place->begin_measuring();
    absl::StatusOr<farm::TrialResult> result = measure(*work);
    to_run_.done(*work);
    if (result.ok()) {
      finish(*work, std::make_shared<const farm::TrialResult>(*std::move(result)));
    } else {
      finish(*work, result.status());
    }
  }
}

void Pipeline::finish(const Work& work, const absl::StatusOr<Result>& result) {
  finished_.push({work, result.status(), result.ok() ? *result : nullptr});
  if (!result.ok()) return give_up_code(work);
  for (Work& duplicate : codes_.settle(work.task, work.built->code_digest(), *result))
    finished_.push({std::move(duplicate), absl::OkStatus(), *result, true});
}

// Another of the same code is measured instead.
void Pipeline::give_up_code(const Work& work) {
  for (Work& duplicate : codes_.give_up(work.task, work.built->code_digest())) {
    to_run_.expect();
    pass_on(std::move(duplicate));
  }
}

}  // namespace tf::session
