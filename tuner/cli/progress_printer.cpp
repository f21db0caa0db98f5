#include "tuner/cli/progress_printer.h"

#include <unistd.h>

#include <cstdio>
#include <utility>

#include "base/cli/text_table.h"
#include "tuner/cli/build_table.h"
#include "tuner/cli/progress_text.h"

namespace tf::tuner_cli {
namespace {

absl::Duration interval(ProgressStyle style) {
  switch (style) {
    case ProgressStyle::kTerminal:
      return absl::Milliseconds(200);
    case ProgressStyle::kPipe:
      return absl::Seconds(5);
    case ProgressStyle::kJson:
      return absl::Seconds(1);
  }
  return absl::Seconds(1);
}

// A longer line would wrap, and the next update would leave its first half standing.
size_t terminal_columns() {
  const size_t width = terminal_width(stderr);
  return width > 20 ? width : 100;
}

}  // namespace

ProgressStyle progress_style(bool json) {
  if (json) return ProgressStyle::kJson;
  return ::isatty(STDERR_FILENO) ? ProgressStyle::kTerminal : ProgressStyle::kPipe;
}

ProgressPrinter::~ProgressPrinter() {
  clear_line();
  if (!over_) return;
  print(*over_);
  if (line_open_) std::fprintf(stderr, "\n");
}

void ProgressPrinter::show(const session::Progress& progress) {
  if (progress.phase() == session::PHASE_OVER) {
    over_ = progress;
    return;
  }
  over_.reset();  // a job that was resumed
  const rpc::Instant now = rpc::real_clock().now();
  // What it is at now is news, and a final re-measurement may be short.
  const bool is_new = std::exchange(phase_, progress.phase()) != progress.phase();
  if (!is_new && now - last_ < interval(style_)) return;
  last_ = now;
  print(progress);
}

void ProgressPrinter::say(const std::string& line) {
  clear_line();
  std::fprintf(stderr, "%s\n", line.c_str());
}

void ProgressPrinter::say_meanwhile(const std::string& line) {
  style_ == ProgressStyle::kTerminal ? set_line(line) : say(line);
}

void ProgressPrinter::finish(const session::Progress& last, const std::optional<session::NetworkTrial>& trial,
                             const std::vector<session::KernelChoice>& build) {
  session::Progress progress = last;
  progress.clear_remaining_s();  // it is over, whatever its budget was
  progress.set_phase(session::PHASE_OVER);
  over_.reset();
  clear_line();
  if (style_ == ProgressStyle::kJson) {
    std::printf("%s\n", progress_json(progress, job_id_, trial, build).c_str());
    std::fflush(stdout);
  } else if (has_results(progress)) {
    std::fprintf(stderr, "%s\n", progress_line(progress, trial_limit_).c_str());
    const size_t width = terminal_width();
    const std::string table =
        build.empty() ? task_table(progress, width) : build_table(build, width) + notes_text(progress);
    std::printf("%s", table.c_str());
    if (trial) std::printf("\n%s", trial_text(*trial).c_str());
    std::fflush(stdout);
  }
}

void ProgressPrinter::print(const session::Progress& progress) {
  if (style_ == ProgressStyle::kJson) {
    std::printf("%s\n", progress_json(progress, job_id_).c_str());
    std::fflush(stdout);
    return;
  }
  const std::string line = progress_line(progress, trial_limit_);
  if (style_ == ProgressStyle::kPipe) {
    std::fprintf(stderr, "%s\n", line.c_str());
    return;
  }
  set_line(line);
}

void ProgressPrinter::set_line(const std::string& line) {
  std::fprintf(stderr, "\r\x1b[K%s", shortened(line, terminal_columns() - 1).c_str());
  std::fflush(stderr);
  line_open_ = true;
}

void ProgressPrinter::clear_line() {
  if (!line_open_) return;
  std::fprintf(stderr, "\r\x1b[K");
  std::fflush(stderr);
  line_open_ = false;
}

}  // namespace tf::tuner_cli
