#pragma once
// Owns: the writer thread. It alone uses the writing connection; what is asked of it is committed in groups,
// because one sync of the disk costs far more than one row, and acknowledged after the commit. Does not know:
// what the operations write.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace tf::database {

class Connection;

class CommitQueue {
 public:
  using Apply = std::function<absl::Status(Connection&)>;
  using Done = std::function<void(absl::Status)>;

  struct Options {
    absl::Duration window;  // a group is closed at the latest this long after its first operation arrived
    // The log is written back to the file when it has this size, and this long after a commit.
    int64_t log_bytes = 0;
    absl::Duration checkpoint_interval;
    // Called on the writer thread when another program has held the file locked for the connection's timeout;
    // true tries the group again.
    std::function<bool(const absl::Status& locked)> keep_trying;
  };
  CommitQueue(std::unique_ptr<Connection> connection, Options options);
  // Commits what is queued, then checkpoints and closes the connection.
  ~CommitQueue();

  // Runs `apply` in the next group. `done` gets its status after the commit, on the writer thread: a failed
  // operation leaves nothing behind and does not touch the others of its group; a failed commit fails the
  // whole group.
  void submit(Apply apply, Done done);
  // The same, waiting for the answer; closes the group at once.
  absl::Status run(Apply apply);

 private:
  struct Operation {
    Apply apply;
    Done done;
    absl::Status status;
  };
  void push(Operation operation, bool urgent);
  void loop();
  void run_group(std::vector<Operation> group);
  absl::Status commit(std::vector<Operation>& group);
  absl::Status apply_one(Operation& operation);
  void keep_log_short();
  void checkpoint();

  using Clock = std::chrono::steady_clock;
  std::unique_ptr<Connection> connection_;
  const Options options_;
  const int64_t most_log_pages_;
  // The writer thread's: the log's pages after the last group, and when it is written back.
  int64_t log_pages_ = 0;
  int64_t next_checkpoint_pages_ = most_log_pages_;
  std::optional<Clock::time_point> next_checkpoint_;  // nothing: all of it was written back
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Operation> queue_;
  bool urgent_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace tf::database
