#pragma once
// Owns: a client's end of one bidirectional stream without a thread of its own: reads whatever comes, writes
// what is queued, deletes itself at its end. Does not know: what the messages mean.

#include <grpcpp/grpcpp.h>

#include <deque>
#include <mutex>
#include <utility>

namespace tf::farm_load {

template <typename Out, typename In>
class Stream : public grpc::ClientBidiReactor<Out, In> {
 public:
  grpc::ClientContext& context() { return context_; }

  // After the call was bound to the stub; `first` is written first.
  void begin(Out first) {
    out_.push_back(std::move(first));
    writing_ = true;
    this->StartWrite(&out_.front());
    this->StartRead(&in_);
    this->AddHold();  // writes may begin outside of reactions
    this->StartCall();
  }

  void write(Out message) {
    const std::scoped_lock lock(mutex_);
    if (over_) return;
    out_.push_back(std::move(message));
    write_next();
  }

  // No more writes; the stream ends once the other side agrees.
  void half_close() {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
    write_next();
  }

 protected:
  virtual void received(const In& message) = 0;
  // The last call; the stream is deleted after it.
  virtual void ended(const grpc::Status& status) = 0;

 private:
  void OnReadDone(bool ok) final {
    if (ok) {
      received(in_);
      this->StartRead(&in_);
      return;
    }
    finish();
  }

  void OnWriteDone(bool ok) final {
    const std::scoped_lock lock(mutex_);
    writing_ = false;
    out_.pop_front();
    if (ok) write_next();
  }

  void OnWritesDoneDone(bool) final {}

  void OnDone(const grpc::Status& status) final {
    ended(status);
    delete this;
  }

  void write_next() {
    if (writing_ || over_) return;
    if (!out_.empty()) {
      writing_ = true;
      this->StartWrite(&out_.front());
    } else if (closing_ && !std::exchange(closed_, true)) {
      this->StartWritesDone();
    }
  }

  void finish() {
    const std::scoped_lock lock(mutex_);
    if (!std::exchange(over_, true)) this->RemoveHold();
  }

  grpc::ClientContext context_;
  std::mutex mutex_;
  std::deque<Out> out_;
  In in_;
  bool writing_ = false;
  bool closing_ = false;
  bool closed_ = false;
  bool over_ = false;
};

}  // namespace tf::farm_load
