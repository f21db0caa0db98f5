#pragma once
// Owns: the threads between search and results: builders make artifacts, runners measure them, both as many
// at a time as their interfaces allow, which for runners changes as devices come and go. Does not know:
// search, the database, which candidates are worth it.

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/driver/builder.h"
#include "tuner/measure/runner.h"
#include "tuner/session/loop/cpu_turn.h"
#include "tuner/session/loop/known_code.h"
#include "tuner/session/loop/measure_queue.h"
#include "tuner/session/loop/place.h"
#include "tuner/session/loop/queue.h"

namespace tf::session {

// How long a measurement may take.
enum class Priority {
  kRace,    // it ends as soon as it is clear that the incumbent is faster
  kInFull,  // all samples: to compare it closely, or with itself
  kRepeat,  // a fixed time, whatever it is: the baseline like Ansor
};

// What a trial asks of a device: so many samples, each of so long at least, or, from the third on, as many as
// take so long. A newcomer's are few; only what may be the best is sampled in full. Ansor's is one run to
// warm up, then as many as fill 100 ms (repeat 1, min_repeat_ms 100).
struct Sampling {
  uint32_t samples = 0;
  int64_t min_sample_ns = 1'000'000, enough_ns = 25'000'000, warmup_ns = 500'000;
};
constexpr Sampling sampling_of(Priority priority) {
  if (priority == Priority::kRepeat) return {.samples = 1, .min_sample_ns = 100'000'000, .warmup_ns = 0};
  return {.samples = priority == Priority::kRace ? 8u : 12u};
}

// What a task's candidates race against; changes while they are on their way.
struct Incumbent {
  double ns = 0;     // 0: none yet
  double noise = 0;  // of one of its samples, relative (base/statistics/race.h)
};

inline constexpr int kMaxTries = 3;  // of what could not be measured

// A candidate's way through the pipeline. Requests and replies are held by pointer: their types stay out of
// headers.
struct Work {
  int task = 0;
  uint64_t ticket = 0;  // the submitter's own number
  // Of those that wait, who goes first; shared with the submitter. Null: by its ticket.
  std::shared_ptr<Place> place;
  std::shared_ptr<const tunefarm::kernel::v1::BuildRequest> request;
  Priority priority = Priority::kRace;
  int tries = 0;       // before this one
  uint64_t bench = 0;  // MeasureRequest::bench
  // Set once it is built, so that trying again to measure it does not build it again.
  std::shared_ptr<const tunefarm::kernel::v1::BuildReply> built;
  measure::ArtifactBytes artifact, reference;

  uint64_t number() const { return place ? place->number() : ticket; }
  bool is_withdrawn() const { return place && place->is_withdrawn(); }
};

struct Finished {
  Work work;
  absl::Status status;  // not ok: no measurement came of it
  // Null if it did not compile, or was not measured.
  std::shared_ptr<const tunefarm::farm::v1::TrialResult> result = nullptr;
  // It compiled to the code of another candidate, whose result this is; null if that was in an earlier run.
  bool is_duplicate = false;
};

// The way to the device failed, not the candidate, and it has not failed as often as we try.
bool may_try_again(const Finished& finished);

struct PipelineOptions {
  int threads = 1;  // of each measured kernel
  struct Task {
    // Builds the reference artifact that answers are checked against.
    std::shared_ptr<const tunefarm::kernel::v1::BuildRequest> reference;
    uint64_t reuse_distance_bytes = 0;  // tuner/session/task.h
  };
  std::vector<Task> tasks;
  // Builders and devices use the same CPUs: they take turns (measure_queue.h).
  bool takes_turns = false;
  CpuTurn* cpu = nullptr;  // of each measurement; null: nobody else computes there
};

class Pipeline {
 public:
  Pipeline(driver::Builder& builder, measure::Runner& runner, PipelineOptions options);
  ~Pipeline();  // drops what has not started, waits for what has

  // Work that is built already goes straight to the runners. Nothing comes of work that is withdrawn before
  // it has begun, or between building and measuring.
  void submit(Work work);
  // From now on, candidates of the task race against that.
  void set_incumbent(int task, const Incumbent& incumbent);
  // Code of the task that an earlier run measured.
  void add_known_code(int task, const std::string& digest) { codes_.settle(task, digest, nullptr); }
  // The next result, waited for at most so long.
  std::optional<Finished> next(std::chrono::milliseconds timeout);
  // Of one whose result nobody records, because it had begun when it was withdrawn or nobody waits for it any
  // more: else the farm would keep it for as long as it holds the lease. The code is known from now on: who
  // comes with the same is told, and only then it is a trial.
  void let_go(const Finished& finished);

  // How many submitted candidates keep every builder and device busy, with a short queue between building and
  // measuring. Changes with the number of devices.
  int depth() const;
  // How many of these, the first ones, are being built or measured, or are collected for the next turn.
  int begun() const;

 private:
  struct ByPlace {
    bool operator()(const Work& a, const Work& b) const { return a.number() < b.number(); }
  };
  struct Reference {
    std::mutex mutex;
    absl::StatusOr<measure::ArtifactBytes> artifact = absl::UnavailableError("not built yet");
  };

  using Result = std::shared_ptr<const tunefarm::farm::v1::TrialResult>;

  void follow_slots();
  void build_loop();
  void run_loop();
  std::optional<Finished> build(Work& work);
  void pass_on(Work work);
  absl::StatusOr<tunefarm::farm::v1::TrialResult> measure(const Work& work);
  void finish(const Work& work, const absl::StatusOr<Result>& result);
  void give_up_code(const Work& work);
  tunefarm::farm::v1::Trial trial_of(const Work& work);
  absl::StatusOr<measure::ArtifactBytes> reference(int task);

  driver::Builder& builder_;
  measure::Runner& runner_;
  PipelineOptions options_;
  std::vector<std::unique_ptr<Reference>> references_;
  Queue<Work, ByPlace> to_build_;
  MeasureQueue<Work, ByPlace> to_run_;
  KnownCode<Work, Result> codes_;
  std::mutex incumbents_mutex_;
  std::vector<Incumbent> incumbents_;
  Queue<Finished> finished_;

  int runs_ = 0;  // threads that measure; more than the devices of now need once some have gone
  std::vector<std::thread> threads_;
};

}  // namespace tf::session
