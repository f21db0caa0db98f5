#include "database/sqlite/commit_queue.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <utility>

#include "absl/time/time.h"
#include "base/status.h"
#include "base/testing/failpoint.h"
#include "database/sqlite/sqlite_connection.h"
#include "database/sqlite/transaction.h"

namespace tf::database {

namespace {

int64_t pages_of(int64_t bytes, Connection& connection) {
  const int64_t page = connection.query_int("PRAGMA page_size").value_or(4096);
  return std::max<int64_t>(1, bytes / std::max<int64_t>(1, page));
}

}  // namespace

CommitQueue::CommitQueue(std::unique_ptr<Connection> connection, Options options)
    : connection_(std::move(connection)),
      options_(std::move(options)),
      most_log_pages_(pages_of(options_.log_bytes, *connection_)) {
  connection_->keep_log();
  thread_ = std::thread([this] { loop(); });
}

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
  const auto is_woken = [this] { return stopping_ || !queue_.empty(); };
  std::unique_lock lock(mutex_);
  for (;;) {
    if (!next_checkpoint_) {
      changed_.wait(lock, is_woken);
    } else if (!changed_.wait_until(lock, *next_checkpoint_, is_woken)) {
      lock.unlock();
      checkpoint();
      lock.lock();
      continue;
    }
    if (queue_.empty()) return;
    changed_.wait_for(lock, absl::ToChronoNanoseconds(options_.window),
                      [this] { return stopping_ || urgent_; });
    std::vector<Operation> group = std::exchange(queue_, {});
    urgent_ = false;
    lock.unlock();
    run_group(std::move(group));
    keep_log_short();
    lock.lock();
  }
}

void CommitQueue::run_group(std::vector<Operation> group) {
  absl::Status committed = commit(group);
  while (absl::IsUnavailable(committed) && options_.keep_trying(committed)) committed = commit(group);
  for (Operation& operation : group) {
    operation.done(committed.ok() ? std::move(operation.status) : committed);
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

// Not within a commit, which somebody waits for; and not by another connection beside this one: before 3.51.3
// SQLite can then damage the log.
void CommitQueue::keep_log_short() {
  const int64_t pages = connection_->log_pages();
  if (pages == 0) return;
  if (!next_checkpoint_)
    next_checkpoint_ = Clock::now() + absl::ToChronoNanoseconds(options_.checkpoint_interval);
  if (pages < log_pages_) next_checkpoint_pages_ = most_log_pages_;  // it has begun anew
  log_pages_ = pages;
  if (pages >= next_checkpoint_pages_ || Clock::now() >= *next_checkpoint_) checkpoint();
}

void CommitQueue::checkpoint() {
  connection_->checkpoint().IgnoreError();  // what fails here stays in the log
  next_checkpoint_.reset();
  // The next commit begins the log anew, unless somebody still reads from it: then it goes on.
  next_checkpoint_pages_ = log_pages_ + std::max<int64_t>(1, most_log_pages_ / 4);
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
