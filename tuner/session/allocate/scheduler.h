#pragma once
// Owns: which task of a network gets the next trial, and what more trials are expected to gain. Does not
// know: threads, clocks, models, how a trial is made.
//
// Logarithms of factors of time are what is added up here: 0.1 stands for 10%. Once the first trials are
// made, the best time of a task is taken to fall by the same factor whenever its trials double, as records of
// random draws do. What the next doubling brings is what the last one brought and what the models predict,
// the evidence of t trials against kPredictionTrials; it ends at what is within reach. The form is Ansor's
// (Zheng et al., OSDI 2020, section 6): gain of the past, optimism about the future, bounded by what similar
// tasks reached.

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace tf::session {

// Every task first gets so many trials; only then is anything known of it. After one each, those that take most of the
// network's time get theirs first: a short budget ends before all have them.
inline constexpr int64_t kFirstTrials = 8;

// What is known of one task.
struct ExpectedImprovement {
  double weight = 1;            // occurrences in the network; 0: it runs only between other layouts
  double seconds = 0;           // best known time of one run, or an estimate
  double work_seconds = 0;      // the same at a modest rate of arithmetic and traffic
  double trial_seconds = 1;     // of one of its trials; only ratios between tasks count
  int group = 0;                // tasks of one group are alike: what one reaches, others may
  int64_t trials = 0;           // so far, those under way included
  double gained = 0;            // by the later half of them
  double predicted = 0;         // of the models, for the best of what waits
  double predicted_before = 0;  // in sum, so far
  double realized = 0;          // of that, what was measured
  double reach = std::numeric_limits<double>::infinity();  // by the roofline model, how much can be gained
  bool exhausted = false;
};

// One trial in so many goes to tasks of weight 0: of layouts that were nearly chosen, and may be by their times.
inline constexpr int64_t kOneForOtherLayouts = 8;

// The task whose next trial is expected to save the network most time a second of tuning; ties go to the
// lower index. Those of weight 0 compete only with each other, for their share of the trials. -1 when all are
// exhausted.
int next_task(std::span<const ExpectedImprovement> tasks);

// What a budget of trials is expected to bring if each is given to the task that next_task would name.
class Forecast {
 public:
  explicit Forecast(std::span<const ExpectedImprovement> tasks);

  // Whether every task of the network has had its first trials: before that, nothing is expected of it.
  bool is_known() const { return known_; }
  // The share of the network's time that so many more trials save; the next call goes on from there.
  double spend(double trials);

 private:
  struct Course {
    double weight, seconds, trials, doubling, reach, trial_seconds;
    double more = 0;  // trials given in the forecast
    double gain() const;
    double slope() const;
  };
  std::vector<Course> courses_;
  double spent_gain_ = 0;  // of what was spent before
  double network_seconds_ = 0;
  bool known_ = true;
};

// How many minutes, at most `limit`, until a minute of so many trials is expected to save less than `share`.
// Nothing if that is not known yet.
std::optional<int> minutes_until(std::span<const ExpectedImprovement> tasks, double trials_a_minute,
                                 double share, int limit = 600);

}  // namespace tf::session
