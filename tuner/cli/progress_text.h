#pragma once
// Owns: how progress reads: one line for people, one JSON object for programs, a table at the end. Pure. Does
// not know: terminals.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tuner/session/network/build_choices.h"
#include "tuner/session/network/network_trial.h"
#include "tuner/session/session.h"

namespace tf::tuner_cli {

// "412/1000 trials  12.3/s  2m31s left  kernels add up to 21.402 ms (-7%, unverified)  est. gain 0.8%/min
// [3/25] conv2d+relu 64x56x56 0.412 ms (561 GFLOP/s)" on one line, of which a terminal shows the beginning:
// trials; ", 13 failed" if any did; trials a second; time left if that can be told; the sum of the least
// times that the network's kernels ever took, once all have been measured, and how that compares with the
// untuned schedules (of many times the least was lucky, so less comes of it); the share of the network's time
// that the next minute is expected to save; the best of the task served last. "re-measuring finalists"
// stands in place of the rate. What is over has no sum, time left, gain or task.
// `trial_limit` 0: no limit is shown.
std::string progress_line(const session::Progress& progress, int64_t trial_limit);

// One line of JSON: every field of Progress by protobuf's mapping, and "job"; job_id 0 is left out. Of what is
// over, also the network's trial as "network", without times and ratio if nothing was timed, and what a build
// takes as "build".
std::string progress_json(const session::Progress& progress, int64_t job_id,
                          const std::optional<session::NetworkTrial>& trial = std::nullopt,
                          const std::vector<session::KernelChoice>& build = {});

// For a job whose records are elsewhere, for lines of `width` characters (base/cli/text_table.h): a row a
// task with the least time that it ever took, and what these add up to, unverified; then notes_text. Tasks of
// weight 0, which the network does not use, stand apart.
std::string task_table(const session::Progress& progress, size_t width);
// What there is to say below a table: which tasks were given up, how many trials failed and how, why it ended
// early, whether finalists were not re-measured.
std::string notes_text(const session::Progress& progress);
// Whether that has anything to tell: a trial or a time, of this job or of those before, or why there is none.
bool has_results(const session::Progress& progress);

// How far two bounds lie from what they are bounds of, as multiples of it: "-0.5% +1.2%", or, where one is
// off by a factor of two or more, "0.67x to 43.8x".
std::string bounds_text(double low, double high);

}  // namespace tf::tuner_cli
