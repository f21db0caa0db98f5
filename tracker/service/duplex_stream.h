#pragma once
// Owns: one bidirectional gRPC stream of the tracker as a Link: reads one message at a time, pulls what is to
// be written whenever the peer can take more, so that a slow peer costs no memory. Uses gRPC's callback API:
// no thread a stream. Does not know: what the messages mean.

#include <grpcpp/grpcpp.h>

#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "rpc/connection/grpc_status.h"
#include "rpc/transfer/transfer_budget.h"
#include "tracker/farm.h"

namespace tf::tracker {

// Lives from begin() to gRPC's OnDone, and longer while the farm holds it.
template <typename In, typename Out>
class DuplexStream : public grpc::ServerBidiReactor<In, Out>,
                     public Link,
                     public std::enable_shared_from_this<DuplexStream<In, Out>> {
 public:
  // Returned to gRPC right after. A peer that says nothing for kHelloGracePeriod is ended by the budget, which
  // must outlive the stream.
  grpc::ServerBidiReactor<In, Out>* begin(rpc::TransferBudget& budget) {
    self_ = this->shared_from_this();
    const std::scoped_lock lock(mutex_);  // it is not ended before it has begun
    hello_.emplace(budget.begin([this] { close(rpc::nothing_received(rpc::kHelloGracePeriod)); },
                                rpc::kHelloGracePeriod));
    hello_->wait();
    this->StartRead(&in_);
    return this;
  }

  void wake() final {
    const std::scoped_lock lock(mutex_);
    write_next();
    if (paused_) read_next();
  }

  void close(const absl::Status& status) final {
    const std::scoped_lock lock(mutex_);
    finish(status);
  }

 protected:
  // Messages come one at a time, without the stream's lock. An error ends the stream with it.
  virtual absl::Status received(const In& message) = 0;
  // Fills the next message to write; false: there is none now. Called under the stream's lock.
  virtual bool next(Out& message) = 0;
  // False: read no more until wake(). Called under the stream's lock.
  virtual bool has_room() { return true; }
  // The stream is over; no other call follows.
  virtual void ended() = 0;

 private:
  void OnReadDone(bool ok) override {
    const absl::Status in_time = hello_->finish();
    if (!ok || !in_time.ok()) {
      // The peer is done, or gone.
      close(absl::OkStatus());
      return;
    }
    const absl::Status status = received(in_);
    const std::scoped_lock lock(mutex_);
    if (!status.ok()) finish(status);
    write_next();
    read_next();
  }

  void OnWriteDone(bool ok) override {
    const std::scoped_lock lock(mutex_);
    writing_ = false;
    if (ok) write_next();
  }

  void OnCancel() override { close(absl::CancelledError("the peer is gone")); }

  void OnDone() override {
    ended();
    self_.reset();  // may delete this
  }

  void read_next() {
    if (finished_) return;
    paused_ = !has_room();
    if (!paused_) this->StartRead(&in_);
  }

  void write_next() {
    if (finished_ || writing_) return;
    out_.Clear();
    if (!next(out_)) return;
    writing_ = true;
    this->StartWrite(&out_);
  }

  void finish(const absl::Status& status) {
    if (std::exchange(finished_, true)) return;
    this->Finish(rpc::to_grpc(status));
  }

  std::shared_ptr<DuplexStream> self_;
  std::mutex mutex_;
  std::optional<rpc::TransferBudget::Transfer> hello_;  // for the first message
  In in_;
  Out out_;
  bool writing_ = false;
  bool paused_ = false;
  bool finished_ = false;
};

}  // namespace tf::tracker
