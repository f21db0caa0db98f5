#include "tuner/web/gateway/upstream_call.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>
#include <vector>

#include "rpc/connection/channel.h"

namespace tf::web {

UpstreamCall::UpstreamCall(const asio::any_io_executor& executor)
    : executor_(executor), work_(asio::make_work_guard(executor)), wake_(executor) {}

std::shared_ptr<UpstreamCall> UpstreamCall::begin(const asio::any_io_executor& executor,
                                                  const std::shared_ptr<grpc::Channel>& channel,
                                                  const std::string& method, absl::Duration deadline,
                                                  const std::function<void(grpc::ClientContext&)>& prepare) {
  auto call = std::make_shared<UpstreamCall>(executor);
  call->self_ = call;
  call->method_ = method;
  call->stub_ = std::make_unique<grpc::GenericStub>(channel);
  if (deadline > absl::ZeroDuration()) rpc::set_deadline(call->context_, deadline);
  if (prepare) prepare(call->context_);
  call->stub_->PrepareBidiStreamingCall(&call->context_, call->method_, {}, call.get());
  call->AddHold();
  // Within a process, gRPC's transport drops a reply that comes with the status and for which nobody waits.
  call->start_read();
  call->StartCall();
  return call;
}

asio::awaitable<bool> UpstreamCall::write(std::string_view message, bool is_last) {
  const auto self = shared_from_this();
  if (released_) co_return false;
  grpc::Slice slice(message.data(), message.size());
  sent_ = grpc::ByteBuffer(&slice, 1);
  writing_ = Operation::kRunning;
  if (is_last) {
    StartWriteLast(&sent_, grpc::WriteOptions());
  } else {
    StartWrite(&sent_);
  }
  co_await wait([this] { return writing_ != Operation::kRunning || status_; }, std::nullopt);
  co_return writing_ == Operation::kDone;
}

asio::awaitable<UpstreamCall::Read> UpstreamCall::read(absl::Duration at_most) {
  const auto self = shared_from_this();
  if (reading_ == Operation::kIdle && !released_) start_read();
  co_await wait([this] { return reading_ != Operation::kRunning || status_; },
                std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(at_most));
  if (reading_ == Operation::kDone) co_return Read::kMessage;
  co_return reading_ == Operation::kRunning && !status_ ? Read::kNothingYet : Read::kEnd;
}

void UpstreamCall::start_read() {
  reading_ = Operation::kRunning;
  StartRead(&received_);
}

std::string UpstreamCall::take_message() {
  reading_ = Operation::kIdle;
  std::vector<grpc::Slice> slices;
  std::string message;
  if (!received_.Dump(&slices).ok()) return message;
  for (const grpc::Slice& slice : slices)
    message.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  received_.Clear();
  return message;
}

asio::awaitable<grpc::Status> UpstreamCall::finish() {
  const auto self = shared_from_this();
  release();
  co_await wait([this] { return status_.has_value(); }, std::nullopt);
  co_return *status_;
}

void UpstreamCall::cancel() {
  context_.TryCancel();
  release();
}

void UpstreamCall::release() {
  if (!std::exchange(released_, true)) RemoveHold();
}

// gRPC's threads only post: what follows happens on the executor.
void UpstreamCall::OnReadDone(bool ok) {
  post([this, ok] { reading_ = ok ? Operation::kDone : Operation::kFailed; });
}

void UpstreamCall::OnWriteDone(bool ok) {
  post([this, ok] { writing_ = ok ? Operation::kDone : Operation::kFailed; });
}

void UpstreamCall::OnDone(const grpc::Status& status) {
  // It is the last that gRPC knows of this.
  asio::post(executor_, [self = std::exchange(self_, nullptr), status] {
    self->status_ = status;
    self->wake_.cancel();
    self->work_.reset();
  });
}

void UpstreamCall::post(std::function<void()> then) {
  asio::post(executor_, [self = shared_from_this(), then = std::move(then)] {
    then();
    self->wake_.cancel();
  });
}

asio::awaitable<void> UpstreamCall::wait(std::function<bool()> is_over,
                                         std::optional<std::chrono::steady_clock::time_point> until) {
  while (!is_over()) {
    if (until && std::chrono::steady_clock::now() >= *until) co_return;
    wake_.expires_at(until.value_or(std::chrono::steady_clock::time_point::max()));
    co_await wake_.async_wait(asio::as_tuple(asio::use_awaitable));
  }
}

}  // namespace tf::web
