#pragma once
// Owns: the threads between search and results: builders make artifacts, runners measure them, both as many
// at a time as their interfaces allow. Does not know: search, the database, which candidates are worth it.

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "tuner/measure/builder.h"
#include "tuner/measure/runner.h"
#include "tuner/session/queue.h"

namespace tf::session {

// A candidate's way through the pipeline. Requests and replies are held by pointer: their types stay out of
// headers.
struct Work {
  int task = 0;
  uint64_t ticket = 0;  // the submitter's own number
  std::shared_ptr<const tunefarm::kernel::v1::BuildRequest> request;
  int64_t stop_if_slower_than_ns = 0;
  int tries = 0;
};

struct Finished {
  Work work;
  absl::Status status;                                            // not ok: no measurement came of it
  std::shared_ptr<const tunefarm::kernel::v1::BuildReply> built;  // null if building failed to run
  std::shared_ptr<const tunefarm::farm::v1::TrialResult>
      result;  // null if it did not compile, or was not measured
};

struct PipelineOptions {
  int threads = 1;  // of each measured kernel
  uint64_t input_seed = 1;
  // One a task: builds the reference artifact that answers are checked against.
  std::vector<std::shared_ptr<const tunefarm::kernel::v1::BuildRequest>> references;
};

class Pipeline {
 public:
  Pipeline(measure::Builder& builder, measure::Runner& runner, PipelineOptions options);
  ~Pipeline();  // drops what has not started, waits for what has

  void submit(Work work) { to_build_.push(std::move(work)); }
  std::optional<Finished> next(std::chrono::milliseconds timeout) { return finished_.pop_for(timeout); }

  // How many submitted candidates keep every thread busy, with a short queue between building and measuring.
  int depth() const;
  // Time in which at least one candidate was being measured.
  double busy_seconds() const;

 private:
  struct Built {
    Work work;
    std::shared_ptr<const tunefarm::kernel::v1::BuildReply> reply;
    measure::ArtifactBytes artifact;
    measure::ArtifactBytes reference;
  };
  struct Reference {
    std::once_flag once;
    absl::StatusOr<measure::ArtifactBytes> artifact = absl::UnavailableError("not built yet");
  };

  void build_loop();
  void run_loop();
  absl::StatusOr<measure::ArtifactBytes> reference(int task);
  void begin_measuring();
  void end_measuring();

  measure::Builder& builder_;
  measure::Runner& runner_;
  PipelineOptions options_;
  std::vector<std::unique_ptr<Reference>> references_;
  Queue<Work> to_build_;
  Queue<Built> to_run_;
  Queue<Finished> finished_;

  mutable std::mutex busy_mutex_;
  int measuring_ = 0;
  std::chrono::steady_clock::time_point measuring_since_;
  std::chrono::steady_clock::duration busy_{};

  std::vector<std::thread> threads_;
};

}  // namespace tf::session
