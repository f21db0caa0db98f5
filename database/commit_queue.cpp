#include "database/commit_queue.h"

#include <chrono>
#include <future>
#include <utility>

#include "absl/time/time.h"
#include "base/failpoint.h"
#include "base/status.h"
#include "database/sqlite_connection.h"
#include "database/transaction.h"

namespace tf::database {

CommitQueue::CommitQueue(std::unique_ptr<Connection> connection, absl::Duration window)
    : connection_(std::move(connection)), window_(window), thread_([this] { loop(); }) {}

CommitQueue::~CommitQueue() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void CommitQueue::submit(Apply apply, Done done) {
  push({std::move(apply), std::move(done)}, false);
}

absl::Status CommitQueue::run(Apply apply) {
  std::promise<absl::Status> answer;
  push({std::move(apply), [&answer](absl::Status status) { answer.set_value(std::move(status)); }}, true);
  return answer.get_future().get();
}

void CommitQueue::push(Operation operation, bool urgent) {
  {
    std::lock_guard lock(mutex_);
    queue_.push_back(std::move(operation));
    urgent_ = urgent_ || urgent;
  }
  changed_.notify_all();
}

void CommitQueue::loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    changed_.wait_for(lock, absl::ToChronoNanoseconds(window_), [this] { return stopping_ || urgent_; });
    std::vector<Operation> group = std::exchange(queue_, {});
    urgent_ = false;
    lock.unlock();
    const absl::Status committed = commit(group);
    for (Operation& operation : group) {
      operation.done(committed.ok() ? std::move(operation.status) : committed);
    }
    group.clear();
    lock.lock();
  }
}

absl::Status CommitQueue::commit(std::vector<Operation>& group) {
  TF_ASSIGN_OR_RETURN(Transaction transaction, Transaction::begin(*connection_));
  for (Operation& operation : group) TF_RETURN_IF_ERROR(apply_one(operation));
  TF_RETURN_IF_ERROR(failpoint("database.group.applied"));
  TF_RETURN_IF_ERROR(transaction.commit());
  killpoint("database.group.committed");
  return absl::OkStatus();
}

// A failed result is one that ends the group: the transaction itself is gone.
absl::Status CommitQueue::apply_one(Operation& operation) {
  TF_RETURN_IF_ERROR(connection_->execute("SAVEPOINT operation"));
  operation.status = operation.apply(*connection_);
  if (!connection_->in_transaction()) return operation.status;
  if (!operation.status.ok()) TF_RETURN_IF_ERROR(connection_->execute("ROLLBACK TO operation"));
  return connection_->execute("RELEASE operation");
}

}  // namespace tf::database
