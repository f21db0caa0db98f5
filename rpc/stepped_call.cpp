#include "rpc/stepped_call.h"

#include "absl/strings/str_cat.h"
#include "rpc/grpc_status.h"

namespace tf::rpc {
namespace {

// The wall clock may jump meanwhile.
gpr_timespec from_now(absl::Duration time) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                      gpr_time_from_millis(absl::ToInt64Milliseconds(time), GPR_TIMESPAN));
}

}  // namespace

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
  if (queue_.AsyncNext(&tag, &ok, from_now(most)) != grpc::CompletionQueue::TIMEOUT) return ok;
  exceeded_ = most;
  context_.TryCancel();
  queue_.Next(&tag, &ok);
  return false;
}

absl::Status SteppedCall::ended(const grpc::Status& finished) const {
  if (exceeded_ == absl::ZeroDuration()) return from_grpc(finished);
  return absl::DeadlineExceededError(
      absl::StrCat("nothing has moved for ", absl::FormatDuration(exceeded_), ", and it was given up"));
}

}  // namespace tf::rpc
