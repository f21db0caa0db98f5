#include "rpc/connection/endpoint.h"

namespace tf::rpc {
namespace {

TEST(Endpoint, ParsesNamesIpv4AndIpv6) {
  EXPECT_EQ(parse_endpoint("localhost:80")->host, "localhost");
  EXPECT_EQ(parse_endpoint("127.0.0.1:7190")->port, 7190);
  EXPECT_EQ(parse_endpoint("[::1]:7190")->host, "::1");
  EXPECT_EQ(parse_endpoint("[::1]:7190")->text(), "[::1]:7190");
}

TEST(Endpoint, RefusesWhatIsNotHostAndPort) {
  for (const char* text :
       {"", "host", ":80", "host:", "host:x", "host:65536", "host:-1", "::1:80", "[::1:80", "[]:80"}) {
    const auto endpoint = parse_endpoint(text);
    EXPECT_TRUE(absl::IsInvalidArgument(endpoint.status())) << text;
  }
}

TEST(Endpoint, PlainTextIsForLoopbackOnly) {
  for (const char* text : {"127.0.0.1:1", "127.9.9.9:1", "localhost:1", "[::1]:1"}) {
    EXPECT_TRUE(require_loopback(*parse_endpoint(text), "--listen").ok()) << text;
  }
  for (const char* text : {"0.0.0.0:1", "10.0.0.1:1", "[::]:1", "example.org:1", "127.example.org:1"}) {
    const absl::Status status = require_loopback(*parse_endpoint(text), "--listen");
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text;
    EXPECT_NE(status.message().find("--listen"), absl::string_view::npos);
  }
}

}  // namespace
}  // namespace tf::rpc
