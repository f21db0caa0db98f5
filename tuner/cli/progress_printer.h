#pragma once
// Owns: where progress goes and how often: on a terminal one line that is updated, into a pipe a line every
// few seconds, both on stderr; as JSON a line every second on stdout. Does not know: how it reads.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rpc/clock.h"
#include "tuner/session/network/build_choices.h"
#include "tuner/session/network/network_trial.h"
#include "tuner/session/session.h"

namespace tf::tuner_cli {

enum class ProgressStyle { kTerminal, kPipe, kJson };
// What fits this process: JSON if asked for, else by whether stderr is a terminal.
ProgressStyle progress_style(bool json);

// Not thread-safe.
class ProgressPrinter {
 public:
  ProgressPrinter(ProgressStyle style, int64_t trial_limit, int64_t job_id)
      : style_(style), trial_limit_(trial_limit), job_id_(job_id) {}
  ~ProgressPrinter();

  // What is over is shown once, by finish(), or without that at the end.
  void show(const session::Progress& progress);
  // One line for people, on stderr, above the line that is updated.
  void say(const std::string& line);
  // One that holds until something else is shown or said: on a terminal in the place of the line that is
  // updated.
  void say_meanwhile(const std::string& line);
  // The last state, and what came of it: with `build` the table of what a build takes, else the table of
  // tasks, and how the whole network stands if that was tried. As JSON one object. For people nothing where
  // nothing was measured: what to do about that the caller knows.
  void finish(const session::Progress& last, const std::optional<session::NetworkTrial>& trial = std::nullopt,
              const std::vector<session::KernelChoice>& build = {});

 private:
  void print(const session::Progress& progress);
  void set_line(const std::string& line);
  void clear_line();

  const ProgressStyle style_;
  const int64_t trial_limit_;
  const int64_t job_id_;
  rpc::Instant last_ = -absl::InfiniteDuration();
  session::Phase phase_ = session::PHASE_MEASURING;
  std::optional<session::Progress> over_;
  bool line_open_ = false;
};

}  // namespace tf::tuner_cli
