#include "rpc/server.h"

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

TEST_F(ServerTest, SaysThatTheHostIsUnknown) {
  const auto server = Server::start({"no-such-host.invalid", 0}, services_);
  EXPECT_TRUE(absl::IsInvalidArgument(server.status())) << server.status();
}

}  // namespace
}  // namespace tf::rpc
