#include "tests/support/operating/probe.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <vector>

#include "rpc/connection/channel.h"
#include "rpc/connection/grpc_status.h"

namespace tf::test {

absl::StatusOr<std::string> call(const std::shared_ptr<grpc::Channel>& channel, std::string_view method,
                                 const std::string& request) {
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  rpc::set_deadline(context, absl::Seconds(10));
  grpc::CompletionQueue queue;
  const grpc::Slice bytes(request);
  const grpc::ByteBuffer message(&bytes, 1);
  const auto reader = stub.PrepareUnaryCall(&context, std::string(method), message, &queue);
  reader->StartCall();
  grpc::ByteBuffer reply;
  grpc::Status status;
  reader->Finish(&reply, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  if (!status.ok()) return rpc::from_grpc(status);
  std::vector<grpc::Slice> slices;
  reply.Dump(&slices);
  std::string text;
  for (const grpc::Slice& slice : slices)
    text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return text;
}

absl::StatusOr<std::string> health(const rpc::Endpoint& endpoint) {
  return call(rpc::make_channel(endpoint), "/grpc.health.v1.Health/Check");
}

absl::StatusOr<std::string> services(const rpc::Endpoint& endpoint) {
  // ServerReflectionRequest: list_services = 7
  return call(rpc::make_channel(endpoint), "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
              "\x3a\x01*");
}

}  // namespace tf::test
