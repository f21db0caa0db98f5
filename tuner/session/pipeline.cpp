#include "tuner/session/pipeline.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"
#include "proto/farm/v1/trial.pb.h"
#include "proto/kernel/v1/kernel.pb.h"

namespace tf::session {
namespace {

namespace farm = tunefarm::farm::v1;
namespace kernel = tunefarm::kernel::v1;

// A measurement is short and a build is long; two waiting candidates a slot keep a device from ever waiting.
constexpr int kQueuedPerSlot = 2;

farm::Trial make_trial(const PipelineOptions& options, int64_t stop_if_slower_than_ns) {
  farm::Trial trial;
  trial.set_input_seed(options.input_seed);
  trial.set_threads(static_cast<uint32_t>(options.threads));
  farm::MeasureOptions& measure = *trial.mutable_options();
  measure.set_samples(5);
  measure.set_min_sample_ns(5'000'000);
  measure.set_warmup_ns(1'000'000);
  measure.set_cache_mode(farm::CACHE_MODE_ROTATE);
  measure.set_stop_if_slower_than_ns(stop_if_slower_than_ns);
  trial.mutable_limits()->set_run_timeout_ns(10'000'000'000);
  trial.mutable_limits()->set_memory_bytes(2ull << 30);
  trial.mutable_limits()->set_output_bytes(4096);
  return trial;
}

}  // namespace

Pipeline::Pipeline(measure::Builder& builder, measure::Runner& runner, PipelineOptions options)
    : builder_(builder), runner_(runner), options_(std::move(options)) {
  for (size_t i = 0; i < options_.references.size(); ++i)
    references_.push_back(std::make_unique<Reference>());
  for (int i = 0; i < builder_.slots(); ++i) threads_.emplace_back([this] { build_loop(); });
  // One more than the slots hides the way to a remote device.
  for (int i = 0; i < runner_.slots() + 1; ++i) threads_.emplace_back([this] { run_loop(); });
}

Pipeline::~Pipeline() {
  to_build_.close();
  to_run_.close();
  for (std::thread& thread : threads_) thread.join();
}

int Pipeline::depth() const {
  return builder_.slots() + (1 + kQueuedPerSlot) * std::max(1, runner_.slots());
}

void Pipeline::submit(Work work) {
  if (work.built != nullptr) {
    to_run_.push(std::move(work));
  } else {
    to_build_.push(std::move(work));
  }
}

// Built by the first candidate that needs it; the others of its task wait. What an overloaded machine spoiled
// is tried again by the next candidate.
absl::StatusOr<measure::ArtifactBytes> Pipeline::reference(int task) {
  Reference& reference = *references_.at(static_cast<size_t>(task));
  std::lock_guard lock(reference.mutex);
  if (reference.artifact.ok() || !measure::may_retry(reference.artifact.status())) return reference.artifact;
  absl::StatusOr<kernel::BuildReply> reply = builder_.build(*options_.references[static_cast<size_t>(task)]);
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
    absl::StatusOr<measure::ArtifactBytes> checked_by = reference(work->task);
    if (!checked_by.ok()) {
      finished_.push({std::move(*work), checked_by.status(), nullptr});
      continue;
    }
    absl::StatusOr<kernel::BuildReply> reply = builder_.build(*work->request);
    if (!reply.ok()) {
      finished_.push({std::move(*work), reply.status(), nullptr});
      continue;
    }
    work->built = std::make_shared<const kernel::BuildReply>(*std::move(reply));
    if (work->built->code() != 0) {
      finished_.push({std::move(*work), absl::OkStatus(), nullptr});
      continue;
    }
    work->artifact = measure::make_artifact_bytes(work->built->artifact().SerializeAsString());
    work->reference = *std::move(checked_by);
    to_run_.push(std::move(*work));
  }
}

void Pipeline::run_loop() {
  while (std::optional<Work> work = to_run_.pop()) {
    const farm::Trial trial = make_trial(options_, work->stop_if_slower_than_ns);
    absl::StatusOr<farm::TrialResult> result = runner_.run({work->artifact, work->reference, &trial});
    Finished finished{std::move(*work), result.status(), nullptr};
    if (result.ok()) finished.result = std::make_shared<const farm::TrialResult>(*std::move(result));
    finished_.push(std::move(finished));
  }
}

}  // namespace tf::session
