#include "rpc/connection/server.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "proto/farm/v1/farm.grpc.pb.h"

namespace tf::rpc {
namespace {

class ServerTest : public testing::Test {
 protected:
  tunefarm::farm::v1::Operators::CallbackService service_;  // any: gRPC serves nothing without one
  const std::vector<grpc::Service*> services_ = {&service_};
};

TEST_F(ServerTest, TakesAFreePortAndTellsIt) {
  const auto server = Server::start({"127.0.0.1", 0}, services_);
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_NE((*server)->endpoint().port, 0);
}

TEST_F(ServerTest, SaysThatThePortIsInUse) {
  const auto first = Server::start({"127.0.0.1", 0}, services_);
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = Server::start((*first)->endpoint(), services_);
  EXPECT_TRUE(absl::IsAlreadyExists(second.status()));
  EXPECT_NE(second.status().message().find("in use"), absl::string_view::npos) << second.status();
}

TEST_F(ServerTest, PortIsFreeAgainAfterTheStop) {
  auto first = Server::start({"127.0.0.1", 0}, services_);
  ASSERT_TRUE(first.ok()) << first.status();
  const Endpoint endpoint = (*first)->endpoint();
  first->reset();
  EXPECT_TRUE(Server::start(endpoint, services_).ok());
}

namespace pb = tunefarm::farm::v1;

// Each call takes a thread until its caller goes.
class PatientService final : public pb::Tuners::Service {
 public:
  using Stream = grpc::ServerReaderWriter<pb::MeasureReply, pb::MeasureRequest>;
  grpc::Status Measure(grpc::ServerContext*, Stream* stream) override {
    stream->Write({});
    pb::MeasureRequest message;
    while (stream->Read(&message)) {
    }
    return grpc::Status::OK;
  }
};

struct PatientCall {
  explicit PatientCall(pb::Tuners::Stub& stub) {
    set_deadline(context, absl::Seconds(60));
    stream = stub.Measure(&context);
    pb::MeasureReply reply;
    is_served = stream->Read(&reply);
  }
  grpc::StatusCode end() {
    context.TryCancel();
    pb::MeasureReply reply;
    while (stream->Read(&reply)) {
    }
    return stream->Finish().error_code();
  }

  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReaderWriter<pb::MeasureRequest, pb::MeasureReply>> stream;
  bool is_served = false;
};

TEST_F(ServerTest, TakesNoMoreThreadsThanItMay) {
  constexpr int kThreads = 4, kCalls = 12;
  PatientService service;
  const auto server = *Server::start({"127.0.0.1", 0}, {&service}, {}, {.most_threads = kThreads});
  const auto stub = pb::Tuners::NewStub(make_channel(server->endpoint()));
  std::vector<std::unique_ptr<PatientCall>> served;
  int refused = 0;
  for (int i = 0; i < kCalls; ++i) {
    auto call = std::make_unique<PatientCall>(*stub);
    if (call->is_served) {
      served.push_back(std::move(call));
    } else {
      EXPECT_EQ(call->stream->Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
      ++refused;
    }
  }
  EXPECT_GE(served.size(), 1u);
  EXPECT_GE(refused, kCalls - kThreads);
  for (const auto& call : served) EXPECT_EQ(call->end(), grpc::StatusCode::CANCELLED);
  bool is_served = false;  // once a thread has heard that its caller has gone
  for (int i = 0; i < 1000 && !is_served; ++i) {
    PatientCall next(*stub);
    is_served = next.is_served;
    next.end();
    if (!is_served) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(is_served);
}

TEST_F(ServerTest, ServesReflectionOnlyIfAskedFor) {
  const auto method = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";
  const auto call = [&](const Server& server) {
    grpc::GenericStub stub(make_channel(server.endpoint()));
    grpc::ClientContext context;
    set_deadline(context, absl::Seconds(60));
    grpc::CompletionQueue queue;
    const auto stream = stub.PrepareCall(&context, method, &queue);
    stream->StartCall(&context);
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    stream->WritesDone(&context);
    queue.Next(&tag, &ok);
    grpc::Status ended;
    stream->Finish(&ended, &context);
    queue.Next(&tag, &ok);
    return ended.error_code();
  };
  const auto silent = *Server::start({"127.0.0.1", 0}, services_);
  EXPECT_EQ(call(*silent), grpc::StatusCode::CANCELLED);
  serve_reflection();
  const auto telling = *Server::start({"127.0.0.1", 0}, services_);
  EXPECT_EQ(call(*telling), grpc::StatusCode::OK);
}

TEST_F(ServerTest, SaysThatTheHostIsUnknown) {
  const auto server = Server::start({"no-such-host.invalid", 0}, services_);
  EXPECT_TRUE(absl::IsInvalidArgument(server.status())) << server.status();
}

}  // namespace
}  // namespace tf::rpc
