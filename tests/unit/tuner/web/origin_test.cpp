#include "tuner/web/http/origin.h"

#include <gtest/gtest.h>

namespace tf::web {
namespace {

RequestHead head(const std::string& host, const std::string& origin = "", const std::string& site = "") {
  RequestHead result{.local_address = "10.0.0.5"};
  result.fields["host"] = host;
  if (!origin.empty()) result.fields["origin"] = origin;
  if (!site.empty()) result.fields["sec-fetch-site"] = site;
  return result;
}

bool is_meant(const std::string& host) {
  return check_host(head(host), {"127.0.0.1", "tuner.lab"}).ok();
}

TEST(Host, IsTheAddressLocalhostOrANameThatWasGiven) {
  for (const char* host : {"localhost", "LocalHost:7192", "127.0.0.1:7192", "tuner.lab", "Tuner.Lab:443",
                           "10.0.0.5", "10.0.0.5:80"})
    EXPECT_TRUE(is_meant(host)) << host;
  for (const char* host :
       {"", ":80", "evil.com", "evil.com:7192", "localhost.evil.com", "tuner.lab.evil.com", "10.0.0.6",
        "127.0.0.1.evil.com", "localhost, evil.com", "[::1]", "[", "tuner.lab@evil.com", "10.0.0.50"})
    EXPECT_FALSE(is_meant(host)) << host;
}

TEST(Host, IsAnAddressOfVersion6InBrackets) {
  RequestHead request = head("[::1]:7192");
  request.local_address = "::1";
  EXPECT_TRUE(check_host(request, {}).ok());
  request.fields["host"] = "[0:0:0:0:0:0:0:1]";
  EXPECT_TRUE(check_host(request, {}).ok());
}

TEST(Origin, IsTheSame) {
  EXPECT_TRUE(check_same_origin(head("localhost:7192")).ok()) << "no browser";
  EXPECT_TRUE(check_same_origin(head("localhost:7192", "http://localhost:7192", "same-origin")).ok());
  EXPECT_TRUE(check_same_origin(head("localhost:7192", "", "none")).ok()) << "typed by hand";
  EXPECT_FALSE(check_same_origin(head("localhost:7192", "http://localhost:3000")).ok());
  EXPECT_FALSE(check_same_origin(head("localhost:7192", "https://localhost:7192")).ok());
  EXPECT_FALSE(check_same_origin(head("localhost:7192", "null")).ok());
  EXPECT_FALSE(check_same_origin(head("localhost:7192", "http://localhost:7192.evil.com")).ok());
  for (const char* site : {"cross-site", "same-site", "nonsense"})
    EXPECT_FALSE(check_same_origin(head("localhost:7192", "", site)).ok()) << site;
}

}  // namespace
}  // namespace tf::web
