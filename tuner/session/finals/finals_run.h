#pragma once
// Owns: running the final re-measurements of all tasks through the pipeline. Does not know: the database,
// budgets, where the finalists come from.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "database/record.h"
#include "tuner/session/finals/finals.h"
#include "tuner/session/loop/pipeline.h"
#include "tuner/session/loop/record_wire.h"
#include "tuner/session/loop/throttling.h"

namespace tf::session {

// One of a task's best, to be built and measured again.
struct Finalist {
  std::shared_ptr<const tunefarm::kernel::v1::BuildRequest> request;
  database::Measurement subject;  // as record_of takes it
};

// The final re-measurement of a task.
struct TaskFinals {
  size_t task = 0;
  std::vector<Finalist> finalists;
};

// What came of one that took part.
struct Played {
  size_t finalist = 0;
  std::vector<std::shared_ptr<const tunefarm::farm::v1::TrialResult>> results;  // one a round
  std::vector<database::Measurement> trials;  // what they tell; only the last one can be a failure
  std::optional<Finals::Score> score;         // none if it failed
};

struct FinalsLimits {
  // No round begins once one of these is there, and no trial is made again.
  const std::atomic<bool>& stop;
  std::function<bool()> is_late = nullptr;  // whether the budget is spent; null: there is none
  // How many devices measure now: side by side, each task on one of them, for their trials are compared
  // closely. While there is none, nobody waits in vain. Null: one always does.
  std::function<int()> devices = nullptr;
  Throttling& throttling;  // of the session
  // Before a trial is made again whose device throttled, or on whose way something failed; twice that before
  // the third try.
  absl::Duration retry_delay = absl::ZeroDuration();
  // Called after each result, and at least four times a second until it comes, for whoever looks on; takes no
  // time to speak of.
  std::function<void()> meanwhile = nullptr;
};

// Who hears what comes of the final re-measurements.
struct FinalsListener {
  // Told of each trial that does not count, because it is made again.
  std::function<void(const database::Measurement& subject, const Finished& finished)> spoiled = {};
  // Told of each final re-measurement once it is over, by its place among `all_finals`: those that were
  // measured, the winner first, who failed last. Their results are to be acknowledged by then: until a final
  // re-measurement is over it keeps them.
  std::function<absl::Status(size_t task_finals, std::vector<Played> ranking)> decided;
};

// Runs the final re-measurements, the first ones first, as many side by side as may keep their results
// (kMostUnacknowledged of runner.h). A candidate that can no longer be measured is out. A round waits for the
// trials of it that are made again; a final re-measurement whose device is lost begins anew on another one;
// what throttles for as long as we try counts as it is. What is not decided in the end goes by the rounds it
// had. Ends when no result comes for a minute in which there is a device. What else comes out of the pipeline
// it lets go: it was withdrawn when it had begun, or an earlier call, whose tickets are to be others, has
// ended without it. Errors: those of `decided`, at once.
absl::Status run_finals(Pipeline& pipeline, std::span<const TaskFinals> all_finals,
                        const FinalsLimits& limits, const FinalsListener& listener,
                        uint64_t first_ticket = 0);

}  // namespace tf::session
