#pragma once
// Owns: the writer thread. It alone uses the writing connection; what is asked of it is committed in groups,
// because one sync of the disk costs far more than one row, and acknowledged after the commit. Does not know:
// what the operations write.

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
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

  // A group is closed at the latest `window` after its first operation arrived. What stands in the log goes
  // to its places in the file once that has `log_bytes`.
  CommitQueue(std::unique_ptr<Connection> connection, absl::Duration window, int64_t log_bytes);
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
  absl::Status commit(std::vector<Operation>& group);
  absl::Status apply_one(Operation& operation);
  void keep_log_short();

  std::unique_ptr<Connection> connection_;
  const int64_t most_log_pages_;
  int64_t log_pages_ = 0;  // after the last group; the writer thread's, as the next one
  int64_t next_checkpoint_pages_ = most_log_pages_;
  const absl::Duration window_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Operation> queue_;
  bool urgent_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace tf::database
