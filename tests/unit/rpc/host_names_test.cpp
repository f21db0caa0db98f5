#include "rpc/identity/host_names.h"

#include <gmock/gmock.h>

namespace tf::rpc {
namespace {

TEST(HostNames, HaveOneForm) {
  EXPECT_EQ(canonical_host("Board7.Lab.Example.ORG").value(), "board7.lab.example.org");
  EXPECT_EQ(canonical_host("10.0.0.5").value(), "10.0.0.5");
  EXPECT_EQ(canonical_host("FE80:0:0::1").value(), "fe80::1");
  EXPECT_EQ(canonical_host("::ffff:10.0.0.5").value(), "10.0.0.5");
}

TEST(HostNames, RefuseWhatAClientMightTakeForSeveralHosts) {
  for (const char* text : {"", "*.lab", "a b", "board.", "a..b", "-a", "a-", "10.0.0", "1.2.3.4.5",
                           "a,IP:10.0.0.1", "name:7190", "ä", "300.1.1.1"})
    EXPECT_FALSE(canonical_host(text).ok()) << text;
  EXPECT_FALSE(canonical_host(std::string(64, 'a')).ok());
}

TEST(HostNames, TellWhatManyMachinesHave) {
  for (const char* host : {"localhost", "x.localhost", "127.0.0.1", "127.9.9.9", "0.0.0.0", "::", "::1",
                           "fe80::1", "169.254.1.1", "224.0.0.1", "255.255.255.255"})
    EXPECT_TRUE(is_many_machines(std::string(host))) << host;
  for (const char* host : {"10.0.0.5", "192.168.1.2", "2001:db8::1", "fd00::1", "board7"})
    EXPECT_FALSE(is_many_machines(std::string(host))) << host;
}

TEST(HostNames, OfThisMachineAreCanonicalAndItsOwn) {
  for (const std::string& host : machine_hosts()) {
    EXPECT_EQ(canonical_host(host).value_or(""), host);
    EXPECT_FALSE(is_many_machines(host)) << host;
  }
}

}  // namespace
}  // namespace tf::rpc
