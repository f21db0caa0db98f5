#include "tests/fuzz/caller.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "base/check.h"
#include "rpc/connection/channel.h"
#include "tests/fuzz/call_input.h"

namespace tf::fuzz {
namespace {

constexpr std::chrono::milliseconds kLongestCall{50};

grpc::ByteBuffer buffer_of(const std::string& message) {
  const grpc::Slice slice(message);
  return grpc::ByteBuffer(&slice, 1);
}

std::string bytes_of(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  (void)buffer.Dump(&slices);
  std::string bytes;
  for (const grpc::Slice& slice : slices)
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return bytes;
}

// "/package.Service/Method"; nothing for a method that nobody knows.
const google::protobuf::Descriptor* reply_type(std::string method) {
  if (!method.starts_with('/')) return nullptr;
  std::ranges::replace(method, '/', '.');
  const auto* known = google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(method.substr(1));
  return known ? known->output_type() : nullptr;
}

bool is_a(const google::protobuf::Descriptor& type, const grpc::ByteBuffer& reply) {
  const auto* empty = google::protobuf::MessageFactory::generated_factory()->GetPrototype(&type);
  return std::unique_ptr<google::protobuf::Message>(empty->New())->ParseFromString(bytes_of(reply));
}

}  // namespace

struct Caller::Parts {
  std::shared_ptr<grpc::Channel> channel;
  grpc::GenericStub stub;
  grpc::CompletionQueue queue;

  // Waits for the one operation under way.
  bool succeeded() {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  }

  grpc::Status call(const CallInput& input, std::chrono::milliseconds limit) {
    const google::protobuf::Descriptor* const replies = reply_type(input.method);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + limit);
    const auto stream = stub.PrepareCall(&context, input.method, &queue);
    stream->StartCall(nullptr);
    bool is_open = succeeded();
    for (size_t i = 0; is_open && i < input.messages.size(); ++i) {
      stream->Write(buffer_of(input.messages[i]), nullptr);
      is_open = succeeded();
    }
    if (is_open) {
      stream->WritesDone(nullptr);
      is_open = succeeded();
    }
    while (is_open) {
      grpc::ByteBuffer reply;
      stream->Read(&reply, nullptr);
      is_open = succeeded();
      if (is_open && replies)
        TF_CHECK(is_a(*replies, reply)) << input.method << " sent what is no " << replies->full_name();
    }
    grpc::Status status;
    stream->Finish(&status, nullptr);
    succeeded();
    return status;
  }
};

Caller::Caller(const rpc::Endpoint& daemon)
    : parts_([&] {
        auto channel = rpc::make_channel(daemon);
        rpc::wait_until_connected(*channel, absl::Seconds(10));
        return std::unique_ptr<Parts>(
            new Parts{.channel = channel, .stub = grpc::GenericStub(channel), .queue = {}});
      }()) {}

Caller::~Caller() {
  parts_->queue.Shutdown();
}

void Caller::call(std::string_view input) {
  if (const auto parsed = parse_call(input)) parts_->call(*parsed, kLongestCall);
}

bool Caller::answers(std::string_view method) {
  return parts_->call({.method = std::string(method), .messages = {""}}, std::chrono::seconds(20)).ok();
}

}  // namespace tf::fuzz
