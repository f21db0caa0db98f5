#pragma once
// Owns: one gRPC call, of any shape, made by a coroutine: no thread waits for it. Does not know: what is
// called, HTTP.

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"

namespace tf::web {

namespace asio = boost::asio;

// Begun by begin(), ended by finish() or, if that was not reached, by cancel(). All on one executor, a strand,
// by one coroutine; only cancel() may also come from others on it, at any time: write() and read() then tell
// that the call has ended.
class UpstreamCall final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                           public std::enable_shared_from_this<UpstreamCall> {
 public:
  // The call's end is put off until it is finished or cancelled. Zero: no deadline. `prepare` may add to the
  // context.
  static std::shared_ptr<UpstreamCall> begin(const asio::any_io_executor& executor,
                                             const std::shared_ptr<grpc::Channel>& channel,
                                             const std::string& method, absl::Duration deadline,
                                             const std::function<void(grpc::ClientContext&)>& prepare);

  // Whether the message was taken; false: the call has ended, as finish() says.
  asio::awaitable<bool> write(std::string_view message, bool is_last);
  enum class Read { kMessage, kEnd, kNothingYet };
  // The next message, if it comes in time; take it before the next read.
  asio::awaitable<Read> read(absl::Duration at_most = absl::Hours(24));
  std::string take_message();
  asio::awaitable<grpc::Status> finish();
  void cancel();

  explicit UpstreamCall(const asio::any_io_executor& executor);

 private:
  enum class Operation { kIdle, kRunning, kDone, kFailed };

  void start_read();
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;
  void post(std::function<void()> then);
  void release();
  asio::awaitable<void> wait(std::function<bool()> is_over,
                             std::optional<std::chrono::steady_clock::time_point> until);

  const asio::any_io_executor executor_;
  asio::executor_work_guard<asio::any_io_executor> work_;  // the executor's context stays until the end
  asio::steady_timer wake_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::GenericStub> stub_;
  std::string method_;
  grpc::ByteBuffer sent_, received_;
  Operation reading_ = Operation::kIdle, writing_ = Operation::kIdle;
  bool released_ = false;  // from then on gRPC may be done with the call at any time: nothing more is started
  std::optional<grpc::Status> status_;
  std::shared_ptr<UpstreamCall> self_;  // until it is done
};

}  // namespace tf::web
