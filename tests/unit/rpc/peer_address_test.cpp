#include "rpc/connection/peer_address.h"

#include <gtest/gtest.h>

namespace tf::rpc {
namespace {

TEST(PeerAddress, IsWrittenAsPeopleWriteIt) {
  EXPECT_EQ(peer_address("ipv4:10.0.0.5:41234"), "10.0.0.5:41234");
  EXPECT_EQ(peer_address("ipv6:%5B::1%5D:41234"), "[::1]:41234");
  EXPECT_EQ(peer_address("ipv6:[fe80::1%25eth0]:41234"), "[fe80::1%eth0]:41234");
  EXPECT_EQ(peer_address("unix:/run/x.sock"), "unix:/run/x.sock");
  EXPECT_EQ(peer_address(""), "");
}

TEST(PeerAddress, OfAnIpv4CallerOnAnIpv6SocketIsIpv4) {
  EXPECT_EQ(peer_address("ipv6:%5B::ffff:10.0.0.5%5D:41234"), "10.0.0.5:41234");
}

TEST(PeerAddress, HasAHostWithoutPortAndBrackets) {
  EXPECT_EQ(host_of_address("10.0.0.5:41234"), "10.0.0.5");
  EXPECT_EQ(host_of_address("[::1]:41234"), "::1");
}

}  // namespace
}  // namespace tf::rpc
