#include "rpc/access/call_guard.h"

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/files/file.h"
#include "base/files/temporary_folder.h"
#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/access/audit_log.h"
#include "rpc/access/local_caller.h"
#include "tests/support/fake_clock.h"

namespace tf::rpc {
namespace {

namespace pb = tunefarm::farm::v1;

// Answers with what its own caller's end would take for gRPC's words.
class QuotingService final : public pb::Operators::Service {
 public:
  grpc::Status SetAdmission(grpc::ServerContext*, const pb::SetAdmissionRequest*,
                            pb::SetAdmissionReply*) override {
    return {grpc::StatusCode::UNAVAILABLE, "Socket closed"};
  }
};

TEST(CallGuard, AuditsTheStatusThatIsSentWordForWord) {
  const TemporaryFolder dir = *TemporaryFolder::make();
  const std::string path = dir.file("audit.jsonl");
  FakeWallClock clock;
  const auto log = *AuditLog::open(path, clock);
  CallGuard guard(clock, log.get());
  QuotingService service;
  grpc::ServerBuilder builder;
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> watched;
  watched.push_back(guard.interceptors());
  builder.experimental().SetInterceptorCreators(std::move(watched));
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  ASSERT_TRUE(server);
  const auto stub = pb::Operators::NewStub(server->InProcessChannel({}));
  grpc::ClientContext context;
  call_as(context, {Role::kAdmin, "ada"});
  pb::SetAdmissionRequest request;
  request.set_device_id("box");
  pb::SetAdmissionReply reply;
  EXPECT_EQ(stub->SetAdmission(&context, request, &reply).error_code(), grpc::StatusCode::UNAVAILABLE);
  server->Shutdown();
  ASSERT_TRUE(log->flush().ok());
  EXPECT_THAT(*read_file(path), testing::HasSubstr("\"UNAVAILABLE: Socket closed\""));
}

}  // namespace
}  // namespace tf::rpc
