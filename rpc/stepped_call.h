#pragma once
// Owns: a client's call that is made step by step, each within a time of its own: one that makes progress may
// take as long as it needs, and one that makes none ends within seconds, also where the peer's connection
// lives and answers pings. Does not know: what is called.

#include <grpcpp/grpcpp.h>

#include <cstdint>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "rpc/transfer.h"

namespace tf::rpc {

// How long the answer to so many bytes may take, which gRPC may hold all when the last of them is written.
inline absl::Duration longest_answer(uint64_t bytes) {
  return kLongestStep + longest_transfer(bytes);
}

// For one thread; only the context's TryCancel may come from others. The call's own object (a
// ClientAsyncWriter, say) is made with queue() and tag(), and each of its operations with tag(); every one is
// waited for before the next and before this ends.
class SteppedCall {
 public:
  ~SteppedCall();

  grpc::ClientContext& context() { return context_; }
  grpc::CompletionQueue* queue() { return &queue_; }
  void* tag() { return this; }

  // Waits for the operation that was begun last. False: it failed, and Finish tells why; or it took longer
  // than `most`, and the call was cancelled.
  bool step(absl::Duration most = kLongestStep);
  // What came of the call, which its Finish has told as `finished`: DEADLINE_EXCEEDED if a step took too
  // long.
  absl::Status ended(const grpc::Status& finished) const;

 private:
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  absl::Duration exceeded_;  // by a step; zero: by none
};

}  // namespace tf::rpc
