#include "rpc/access/local_caller.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/files/temporary_folder.h"
#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/access/audit_log.h"
#include "rpc/access/call_guard.h"
#include "tests/support/fake_clock.h"

namespace tf::rpc {
namespace {

namespace pb = tunefarm::farm::v1;

// Notes who calls, and what else they say of themselves.
class NotingService final : public pb::Operators::Service {
 public:
  grpc::Status SetAdmission(grpc::ServerContext* context, const pb::SetAdmissionRequest*,
                            pb::SetAdmissionReply*) override {
    const std::scoped_lock lock(mutex_);
    caller_ = caller(*context);
    metadata_.clear();
    for (const auto& [key, value] : context->client_metadata())
      metadata_.emplace_back(std::string(key.data(), key.size()), std::string(value.data(), value.size()));
    ++calls_;
    return grpc::Status::OK;
  }

  std::optional<Identity> last_caller() {
    const std::scoped_lock lock(mutex_);
    return caller_;
  }
  std::vector<std::pair<std::string, std::string>> last_metadata() {
    const std::scoped_lock lock(mutex_);
    return metadata_;
  }
  int calls() {
    const std::scoped_lock lock(mutex_);
    return calls_;
  }

 private:
  std::mutex mutex_;
  std::optional<Identity> caller_;
  std::vector<std::pair<std::string, std::string>> metadata_;
  int calls_ = 0;
};

class LocalCallerTest : public testing::Test {
 protected:
  void start(bool guarded) {
    grpc::ServerBuilder builder;
    if (guarded) {
      std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> watched;
      watched.push_back(guard_.interceptors());
      builder.experimental().SetInterceptorCreators(std::move(watched));
    }
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
  }

  grpc::Status call(const std::shared_ptr<grpc::Channel>& channel, const std::optional<Identity>& as,
                    const std::vector<std::pair<std::string, std::string>>& more = {}) {
    grpc::ClientContext context;
    if (as) call_as(context, *as);
    for (const auto& [key, value] : more) context.AddMetadata(key, value);
    pb::SetAdmissionReply reply;
    return pb::Operators::NewStub(channel)->SetAdmission(&context, {}, &reply);
  }

  std::shared_ptr<grpc::Channel> network() {
    return grpc::CreateChannel("127.0.0.1:" + std::to_string(port_), grpc::InsecureChannelCredentials());
  }

  FakeWallClock clock_;
  CallGuard guard_{clock_};
  NotingService service_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

const Identity kAda = {Role::kAdmin, "ada"};

TEST_F(LocalCallerTest, IsWhoTheCallSays) {
  for (const bool guarded : {false, true}) {
    start(guarded);
    ASSERT_TRUE(call(server_->InProcessChannel({}), kAda).ok());
    EXPECT_EQ(service_.last_caller(), kAda) << guarded;
  }
}

TEST_F(LocalCallerTest, WhoeverDoesNotKnowTheSecretIsNotBelieved) {
  start(false);
  ASSERT_TRUE(call(server_->InProcessChannel({}), kAda).ok());
  auto metadata = service_.last_metadata();
  std::vector<std::pair<std::string, std::string>> forged;
  for (auto& [key, value] : metadata) {
    if (!key.starts_with("tunefarm-local")) continue;
    forged.emplace_back(key, key.ends_with("secret") ? std::string(64, '0') : value);
  }
  ASSERT_EQ(forged.size(), 2u);
  for (const auto& channel : {network(), server_->InProcessChannel({})}) {
    ASSERT_TRUE(call(channel, std::nullopt, forged).ok());
    EXPECT_EQ(service_.last_caller(), std::nullopt);
    forged.erase(forged.begin());
    ASSERT_TRUE(call(channel, std::nullopt, forged).ok());
    EXPECT_EQ(service_.last_caller(), std::nullopt) << "one of the two";
  }
}

TEST_F(LocalCallerTest, GuardEndsCallsOfNobodyAndOfWhoMayNot) {
  start(true);
  EXPECT_EQ(call(server_->InProcessChannel({}), std::nullopt).error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_EQ(call(server_->InProcessChannel({}), Identity{Role::kViewer, "vic"}).error_code(),
            grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(call(server_->InProcessChannel({}), kAda).ok());
}

TEST_F(LocalCallerTest, GuardAdmitsByTheAccessTableAndNotesRefusals) {
  EXPECT_TRUE(guard_.admit("/tunefarm.tune.v1.Tuner/ListJobs", {Role::kViewer, "vic"}).ok());
  EXPECT_TRUE(
      absl::IsPermissionDenied(guard_.admit("/tunefarm.tune.v1.Tuner/Submit", {Role::kViewer, "vic"})));
  EXPECT_TRUE(absl::IsPermissionDenied(guard_.admit("/tunefarm.tune.v1.Tuner/Unheard", kAda)));
}

}  // namespace
}  // namespace tf::rpc
