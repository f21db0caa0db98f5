#include "rpc/connection/ports.h"

#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/connection/server.h"

namespace tf::rpc {
namespace {

using testing::HasSubstr;

TEST(Ports, AreRefusedWhereOneIsTaken) {
  tunefarm::farm::v1::Operators::CallbackService service;
  const auto server = Server::start({"127.0.0.1", 0}, {&service});
  ASSERT_TRUE(server.ok()) << server.status();
  const Endpoint any = {"127.0.0.1", 0};
  const Endpoint taken = (*server)->endpoint();
  EXPECT_TRUE(check_ports({any, any}, "127.0.0.1:0").ok());
  EXPECT_TRUE(check_ports({}, "").ok()) << "an agent listens nowhere";
  const absl::Status listen = check_ports({any, taken}, "");
  EXPECT_TRUE(absl::IsAlreadyExists(listen)) << listen;
  EXPECT_EQ(std::string(listen.message()).find("--listen: cannot listen on " + taken.text()), 0u) << listen;
  const absl::Status metrics = check_ports({}, taken.text());
  EXPECT_TRUE(absl::IsAlreadyExists(metrics)) << metrics;
  EXPECT_EQ(std::string(metrics.message()).find("--metrics: cannot listen on " + taken.text()), 0u)
      << metrics;
}

TEST(Ports, AreRefusedWhereOneIsAskedForTwice) {
  tunefarm::farm::v1::Operators::CallbackService service;
  auto server = Server::start({"127.0.0.1", 0}, {&service});
  ASSERT_TRUE(server.ok()) << server.status();
  const Endpoint free = (*server)->endpoint();
  server->reset();
  const absl::Status twice = check_ports({free, free}, "");
  EXPECT_TRUE(absl::IsInvalidArgument(twice)) << twice;
  EXPECT_THAT(std::string(twice.message()), HasSubstr(free.text() + " is given twice"));
  const absl::Status both = check_ports({free}, free.text());
  EXPECT_TRUE(absl::IsInvalidArgument(both)) << both;
  EXPECT_THAT(std::string(both.message()), HasSubstr("is the same as --listen"));
}

}  // namespace
}  // namespace tf::rpc
