#include "tuner/cli/follow.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/cli/exit_code.h"
#include "rpc/daemon/stop_signals.h"
#include "tuner/cli/job_text.h"
#include "tuner/cli/progress_printer.h"

namespace tf::tuner_cli {
namespace {

using service::state_of;

// A tuner that restarts is back well before that.
constexpr absl::Duration kGracePeriod = absl::Minutes(1);

// Leaves at the first signal: nothing of a watch needs to be finished, the job is the tuner's.
class LeaveOnSignal {
 public:
  // `state`: of the job as it was last seen.
  LeaveOnSignal(int64_t id, const std::string& again, const std::atomic<database::JobState>& state)
      : thread_([this, id, again, &state] {
          if (signals_.wait() == 0) return;
          std::fprintf(stderr, "\n%s; to watch it again: %s\n", left_job_text(id, state).c_str(),
                       again.c_str());
          ::_exit(kExitInterrupted);
        }) {}
  ~LeaveOnSignal() {
    signals_.stop_waiting();
    thread_.join();
  }

 private:
  rpc::StopSignals signals_;
  std::thread thread_;
};

// Tells state changes apart from progress.
class JobReport {
 public:
  JobReport(int64_t id, const FollowOptions& options)
      : id_(id), json_(options.json), tuner_(absl::StrCat("the tuner at ", options.server)) {}

  // For who leaves.
  const std::atomic<database::JobState>& job_state() const { return job_state_; }

  void see(const service::JobUpdate& job) {
    job_state_ = state_of(job);
    if (!printer_) {
      printer_.emplace(progress_style(json_), job.spec().trials(), id_);
      if (!job.submitter().empty() && !json_)
        printer_->say(absl::StrCat("job ", id_, " was submitted by ", job.submitter()));
    }
    if (std::exchange(is_away_, false)) printer_->say(absl::StrCat(tuner_, " is reachable again"));
    const std::string state = state_text(job);
    if (state != state_ && !json_) printer_->say(absl::StrCat("job ", id_, " ", state));
    state_ = state;
    const std::string slots = slots_text(job);
    if (slots != slots_ && !slots.empty() && !json_) printer_->say(absl::StrCat("job ", id_, " ", slots));
    slots_ = slots;
    if (job.has_progress() && !database::is_final(job_state_)) printer_->show(job.progress());
  }

  // Nobody answers.
  void miss() {
    is_away_ = true;
    const std::string line = absl::StrCat(tuner_, " does not respond; retrying");
    if (printer_) {
      printer_->say_meanwhile(line);
    } else {
      std::fprintf(stderr, "%s\n", line.c_str());
    }
  }

  // Nothing more is shown, and the next line on stderr is another's.
  void give_up() { printer_.reset(); }

  void finish(const service::JobUpdate& job) {
    if (job.has_progress() && printer_) printer_->finish(job.progress());
    if (job_state_ == database::JobState::kDone && !json_)
      printer_->say("the farm times kernels only; run `compiler bench` on a device to time the network");
    if (json_) std::printf("%s\n", job_json(job).c_str());
  }

 private:
  const int64_t id_;
  const bool json_;
  const std::string tuner_;
  std::optional<ProgressPrinter> printer_;
  std::string state_, slots_;
  std::atomic<database::JobState> job_state_ = database::JobState::kRunning;
  bool is_away_ = false;
};

}  // namespace

int follow_job(service::JobClient& client, int64_t id, const FollowOptions& options) {
  JobReport report(id, options);
  LeaveOnSignal leave(id, options.again, report.job_state());
  const auto see = [&](const service::JobUpdate& job) {
    report.see(job);
    return true;
  };
  absl::StatusOr<service::JobUpdate> last = client.watch(id, kGracePeriod, see, [&] { report.miss(); });
  if (!last.ok()) {
    report.give_up();
    return report_error("tuner watch", last.status());
  }
  report.finish(*last);
  if (state_of(*last) == database::JobState::kDone) return kExitOk;
  const bool no_device = last->status_code() == static_cast<int32_t>(absl::StatusCode::kNotFound);
  return no_device ? kExitNoDevice : kExitFailed;
}

}  // namespace tf::tuner_cli
