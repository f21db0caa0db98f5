// How long a session goes on: what is left of its budgets, what more of it is expected to bring.
#include <algorithm>
#include <chrono>
#include <limits>

#include "tuner/session/allocate/expected_improvement.h"
#include "tuner/session/loop/tuning_loop.h"

namespace tf::session {
namespace {

constexpr int kMaxDuplicatesInARow = 128;  // of a task: from there on its space has nothing new
// Reports in a row that expect little: what is expected moves as models learn and new candidates wait.
constexpr int kSettled = 12;

}  // namespace

int64_t TuningLoop::trials_left() const {
  constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
  return options_.budget.trials > 0 ? options_.budget.trials - progress_.trials() : kNoLimit;
}

std::vector<ExpectedImprovement> TuningLoop::improvements() const {
  std::vector<OpenTask> open;
  for (size_t i = 0; i < tasks_.size(); ++i) {
    const bool exhausted = tasks_[i]->exhausted() || duplicates_in_a_row_[i] >= kMaxDuplicatesInARow ||
                           !progress_.tasks(static_cast<int>(i)).given_up().empty();
    open.push_back({tasks_[i].get(), under_way_[i], exhausted});
  }
  return improvements_of(open);
}

// From the last trial handed out to the end: what is under way, then the final re-measurements. At most a
// fifth of the budget, so that there is something to decide; a twentieth while tasks wait for their first trials, which find
// more than final re-measurements tell apart.
double TuningLoop::closing_seconds() const {
  const double rate = progress_.trials_per_second();
  if (rate <= 0) return 0;
  double seconds = static_cast<double>(in_flight_.size()) / rate;
  const std::vector<ExpectedImprovement> tasks = improvements();
  if (ends_with_finals()) seconds += finals_seconds(tasks_, contested(tasks_, tasks, tried_), rate);
  const double most = Forecast(tasks).is_known() ? 1.0 / 5 : 1.0 / 20;
  return std::min(seconds, options_.budget.minutes * 60 * most);
}

// From when on nothing can begin, for so many under way at once, that is over before the budget is.
Clock::time_point TuningLoop::last_begin(int depth) const {
  const double rate = progress_.trials_per_second();
  const double seconds = rate > 0 ? std::min(depth / rate, options_.budget.minutes * 60 / 10) : 0;
  return meter_.deadline(seconds + reserve_s_);
}

// Whether any part of the budget is spent.
bool TuningLoop::is_enough() const {
  return meter_.time_is_up(closing_seconds() + reserve_s_) || trials_left() <= 0 ||
         reports_of_little_gain_ >= kSettled;
}

// What the next minute is expected to save, and by that how long it goes on.
void TuningLoop::expect() {
  const double trials = 60 * progress_.trials_per_second();
  const std::vector<ExpectedImprovement> tasks = improvements();
  Forecast forecast(tasks);
  progress_.clear_expected_gain();
  if (!forecast.is_known() || trials <= 0) return;
  progress_.set_expected_gain(forecast.spend(trials));
  if (options_.budget.until_gain <= 0 || progress_.phase() == PHASE_FINALS) return;
  const bool is_little = progress_.expected_gain() < options_.budget.until_gain;
  reports_of_little_gain_ = is_little ? reports_of_little_gain_ + 1 : 0;
  if (const std::optional<int> minutes = minutes_until(tasks, trials, options_.budget.until_gain))
    progress_.set_remaining_s(progress_.has_remaining_s() ? std::min(60.0 * *minutes, progress_.remaining_s())
                                                          : 60.0 * *minutes);
}

void TuningLoop::update_progress() {
  meter_.note_slots(runner_.slots());
  meter_.describe(progress_);
  expect();
  for (size_t i = 0; i < tasks_.size(); ++i) {
    TaskProgress& shown = *progress_.mutable_tasks(static_cast<int>(i));
    shown.set_best_ns(tasks_[i]->best_seconds() * 1e9);
    shown.set_untuned_ns(tasks_[i]->untuned_seconds() * 1e9);
    shown.set_exhausted(tasks_[i]->exhausted());
  }
  if (options_.budget.reserve_s) reserve_s_ = options_.budget.reserve_s(progress_);
}

}  // namespace tf::session
