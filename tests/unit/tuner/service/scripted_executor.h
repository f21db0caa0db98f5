#pragma once
// Owns: a JobExecutor whose jobs do what the test says. A job runs until it is stopped or told to end.

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tuner/service/jobs/job_executor.h"

namespace tf::service {

class ScriptedExecutor final : public JobExecutor {
 public:
  absl::Status check(const JobSpec& spec) override {
    {
      std::lock_guard lock(mutex_);
      ++checks_;
      changed_.notify_all();
    }
    if (spec.target() == "nonsense") return absl::InvalidArgumentError("there is no target \"nonsense\"");
    if (spec.device_key() == "nowhere") return absl::NotFoundError("no device has the key \"nowhere\"");
    return absl::OkStatus();
  }

  absl::Status check_model(const database::Job&, const JobSpec& spec) override {
    if (spec.model_name() == "torn.onnx") return absl::InvalidArgumentError("torn.onnx: truncated");
    return absl::OkStatus();
  }

  // Each key and selector has one slot of its own, until the test says otherwise.
  absl::StatusOr<SlotSupply> look(const JobSpec& spec, const std::string&) override {
    std::lock_guard lock(mutex_);
    const auto supply = supplies_.find(spec.device_key());
    return supply != supplies_.end() ? supply->second
                                     : SlotSupply{.usable = {spec.device_key() + spec.selector() + "/0"}};
  }

  // From now on that is what a look at the key's slots tells.
  void set_supply(const std::string& key, absl::StatusOr<SlotSupply> supply) {
    std::lock_guard lock(mutex_);
    supplies_.insert_or_assign(key, std::move(supply));
  }

  // What the job is to have, as its run was told last.
  measure::FleetTarget target(int64_t job) {
    std::lock_guard lock(mutex_);
    return targets_[job];
  }

  // The job's run, now or when it comes, says that it measures on these.
  void hold(int64_t job, std::vector<std::string> slots) {
    std::lock_guard lock(mutex_);
    holds_[job] = std::move(slots);
    changed_.notify_all();
  }

  absl::StatusOr<session::Progress> run(const database::Job& job, const JobSpec&, Allotment& allotment,
                                        const std::atomic<bool>& stop, const RunReports& reports) override {
    session::Progress progress;
    progress.set_phase(session::PHASE_MEASURING);
    progress.add_tasks()->set_label("conv2d");
    std::unique_lock lock(mutex_);
    started_.push_back(job.id);
    changed_.notify_all();
    for (;;) {
      if (!ends_[job.id].empty()) {
        absl::Status end = ends_[job.id].front();
        ends_[job.id].erase(ends_[job.id].begin());
        if (!end.ok()) return end;
        progress.set_phase(session::PHASE_OVER);
        return progress;
      }
      if (stop && !slow_) {
        progress.set_phase(session::PHASE_OVER);
        return progress;
      }
      progress.set_trials(progress.trials() + 1);
      targets_[job.id] = allotment.get();
      const auto waits = waits_.extract(job.id);
      const auto holds = holds_.extract(job.id);
      lock.unlock();
      if (holds) reports.slots(holds.mapped());
      if (waits) reports.waits(waits.mapped());
      reports.progress(progress);
      lock.lock();
      changed_.wait_for(lock, std::chrono::milliseconds(5));
    }
  }

  // The job's run, now or when it comes, ends so.
  void end(int64_t job, absl::Status status) {
    std::lock_guard lock(mutex_);
    ends_[job].push_back(std::move(status));
    changed_.notify_all();
  }

  // The job's run, now or when it comes, says that it waits for this; empty: for nothing any more.
  void wait_for(int64_t job, const std::string& what) {
    std::lock_guard lock(mutex_);
    waits_[job] = what;
    changed_.notify_all();
  }

  // How many jobs were checked, once there are that many.
  int wait_for_checks(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(10), [&] { return checks_ >= count; });
    return checks_;
  }

  // While it is slow, a job that is stopped has still something to measure.
  void set_slow(bool slow) {
    std::lock_guard lock(mutex_);
    slow_ = slow;
    changed_.notify_all();
  }

  // Job ids in order of their runs, once there are that many.
  std::vector<int64_t> wait_for_starts(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(10), [&] { return started_.size() >= count; });
    return started_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int64_t, std::vector<absl::Status>> ends_;
  std::map<int64_t, std::string> waits_;               // not said yet
  std::map<int64_t, std::vector<std::string>> holds_;  // likewise
  std::map<int64_t, measure::FleetTarget> targets_;
  std::map<std::string, absl::StatusOr<SlotSupply>> supplies_;
  std::vector<int64_t> started_;
  bool slow_ = false;
  int checks_ = 0;
};

inline JobSpec spec_for(const std::string& device) {
  JobSpec spec = default_spec();
  spec.set_model_name("net.onnx");
  spec.set_device_key(device);
  spec.set_trials(100);
  return spec;
}

inline database::Job job_for(const std::string& device, const std::string& submitter = "") {
  return {.model_name = "net.onnx",
          .model_digest = "d",
          .model_path = "p",
          .target = "host",
          .device = device,
          .submitter = submitter};
}

}  // namespace tf::service
