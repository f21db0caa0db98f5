#pragma once
// Owns: how progress reads: one line for people, one JSON object for programs, a table at the end. Pure. Does
// not know: terminals.

#include <cstdint>
#include <optional>
#include <string>

#include "tuner/session/network_trial.h"
#include "tuner/session/session.h"

namespace tf::tuner_cli {

// "412/1000 trials  12.3/s  2:31 left  network best 21.402 ms (0.928 of untuned)  0.8% to gain a minute
// [3/25] conv2d+relu 64x56x56 0.412 ms (561 GFLOP/s)", on one line, of which a terminal shows the beginning:
// trials, ", 13 failed" of them if any did, trials a second, time left if that can be told, the sum of the
// least times that each of the network's kernels ever took, once all have been measured (what comes of it in
// the network is more: of many times the least was lucky), the share of the network's time that the next
// minute is expected to save, the best of the task served last. In place of the rate: "looking through what
// is known", of earlier runs of the job, or "play-off of the fastest". What is over has no time left and
// nothing to gain. `trial_limit` 0: no limit is shown.
std::string progress_line(const session::Progress& progress, int64_t trial_limit);

// One line of JSON with every field of Progress, and of the network's trial as "network", without times
// and ratio if every kernel is the untuned one; job_id 0 is left out.
std::string progress_json(const session::Progress& progress, int64_t job_id,
                          const std::optional<session::NetworkTrial>& trial = std::nullopt);

// "the network itself, 40 times in turns: untuned 23.051 ms, tuned 21.402 ms (medians); turn by turn, tuned
// takes 0.928 of untuned (0.921 to 0.936)": the median of the turns' ratios, which on a noisy machine is not
// the ratio of the medians; what became of its kernels, and plainly if it is slower. Or that both builds are
// the same.
std::string trial_text(const session::NetworkTrial& trial);

// A row a task: best time, GFLOP/s, trials, occurrences; the total of one pass over the network; then, on
// their own, tasks of weight 0, which the network does not use, what was given up, how many trials failed and
// how, and whether it ended for want of anything new.
std::string task_table(const session::Progress& progress);
// Whether that has anything to tell: a trial or a time, of this job or of those before, or why there is none.
bool has_results(const session::Progress& progress);

// "1.234 ms", "56.7 us", "890 ns", with three or more digits.
std::string duration_text(double ns);
// How far two bounds lie from what they are bounds of, as multiples of it: "-0.5% +1.2%", or, where one is
// off by a factor of two or more, "0.67x to 43.8x".
std::string bounds_text(double low, double high);
// "2:31", "1:02:03".
std::string clock_text(double seconds);

}  // namespace tf::tuner_cli
