#pragma once
// Owns: a client's end of one stream in both directions, read by one thread and written by several. Does not
// know: its messages.

#include <grpcpp/grpcpp.h>

#include <memory>
#include <mutex>
#include <utility>

namespace tf::rpc {

template <typename Request, typename Reply>
struct ClientStream {
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReaderWriter<Request, Reply>> stream;
  std::mutex writing;
  bool closed = false;  // guarded by `writing`: gRPC allows no write any more

  void write(const Request& message) {
    const std::scoped_lock lock(writing);
    if (!closed) stream->Write(message);  // a failure shows in the reading thread
  }

  void half_close() {
    const std::scoped_lock lock(writing);
    if (!std::exchange(closed, true)) stream->WritesDone();
  }

  // After the last Read, or after TryCancel.
  grpc::Status finish() {
    const std::scoped_lock lock(writing);
    closed = true;
    return stream->Finish();
  }
};

}  // namespace tf::rpc
