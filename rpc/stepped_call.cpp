#include "rpc/stepped_call.h"

#include "absl/strings/str_cat.h"
#include "rpc/channel.h"
#include "rpc/grpc_status.h"

namespace tf::rpc {

SteppedCall::~SteppedCall() {
  queue_.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue_.Next(&tag, &ok)) {
  }
}

bool SteppedCall::step(absl::Duration most) {
  void* tag = nullptr;
  bool ok = false;
  if (queue_.AsyncNext(&tag, &ok, deadline_in(most)) != grpc::CompletionQueue::TIMEOUT) return ok;
  exceeded_ = most;
  context_.TryCancel();
  queue_.Next(&tag, &ok);
  return false;
}

absl::Status SteppedCall::ended(const grpc::Status& finished) const {
  if (exceeded_ == absl::ZeroDuration()) return from_grpc(finished);
  return absl::DeadlineExceededError(
      absl::StrCat("transfer stalled: no progress for ", absl::FormatDuration(exceeded_)));
}

}  // namespace tf::rpc
