#include "tuner/record_sets/http_get.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "absl/strings/str_cat.h"
#include "base/files/temporary_folder.h"
#include "tests/unit/tuner/record_sets/samples.h"
#include "tests/unit/tuner/record_sets/web_server.h"

namespace tf::record_sets {
namespace {

using testing::HasSubstr;

// What http_get makes of an answer.
absl::StatusOr<std::string> got(const std::string& answer, int64_t most_bytes = 100) {
  const WebServer server([&](const std::string&) { return answer; });
  return http_get("http://" + server.address() + "/set/latest", most_bytes);
}

TEST(HttpGet, GivesTheBodyOfA200) {
  EXPECT_EQ(*got(ok("7\n")), "7\n");
  EXPECT_EQ(*got(ok("")), "");
  EXPECT_EQ(*got("HTTP/1.0 200 OK\r\n\r\nuntil the end"), "until the end");
}

TEST(HttpGet, AsksForThePathOfTheUrl) {
  const WebServer server([](const std::string& path) { return ok(path); });
  EXPECT_EQ(*http_get("http://" + server.address() + "/a/b%20c/v1.json", 100), "/a/b%20c/v1.json");
}

TEST(HttpGet, WhatIsNotThereIsNotFound) {
  const std::string gone = "\r\nContent-Length: 4\r\n\r\ngone";
  EXPECT_EQ(got("HTTP/1.1 404 Not Found" + gone).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(got("HTTP/1.1 410 Gone" + gone).status().code(), absl::StatusCode::kNotFound);
}

TEST(HttpGet, AnotherStatusIsNamed) {
  for (const char* status : {"500 Broken", "403 Forbidden", "204 No Content"}) {
    const absl::Status refused =
        got(absl::StrCat("HTTP/1.1 ", status, "\r\nContent-Length: 0\r\n\r\n")).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(message(refused),
                HasSubstr(absl::StrCat("the server answers ", std::string(status).substr(0, 3))));
  }
}

TEST(HttpGet, MoreThanTheLimitIsRefused) {
  EXPECT_TRUE(got(ok(std::string(100, 'x'))).ok());
  for (const std::string& answer :
       {ok(std::string(101, 'x')), "HTTP/1.0 200 OK\r\n\r\n" + std::string(5000, 'x'),
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n80\r\n" + std::string(128, 'x') +
            "\r\n0\r\n\r\n"}) {
    const absl::Status refused = got(answer).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(message(refused), HasSubstr("it is larger than the limit of 100 bytes"));
  }
}

TEST(HttpGet, AnAnswerThatEndsTooEarlyIsAnError) {
  for (const char* answer : {"", "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nless", "no HTTP at all"})
    EXPECT_EQ(got(answer).status().code(), absl::StatusCode::kUnavailable) << answer;
}

TEST(HttpGet, ARedirectLeadsToHttpsOnly) {
  for (const char* to : {"http://127.0.0.1:1/elsewhere", "/elsewhere", "file:///etc/passwd"}) {
    const absl::Status refused =
        got(absl::StrCat("HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: ", to, "\r\n\r\n")).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable) << to;
    EXPECT_THAT(message(refused), HasSubstr("rotocol")) << to;
  }
}

TEST(HttpGet, NobodyThereIsSaid) {
  const absl::Status refused = http_get("http://127.0.0.1:1/latest", 100).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(message(refused), HasSubstr("cannot get http://127.0.0.1:1/latest: "));
}

TEST(HttpGet, PlainHttpStaysOnThisMachine) {
  for (const char* url : {"http://localhost:8000/set", "http://127.0.0.2/set", "http://[::1]:80/set",
                          "https://example.org/set"})
    EXPECT_TRUE(check_url(url).ok()) << url;
  for (const char* url : {"http://example.org/set", "http://10.0.0.1/set", "http://localhost.example.org/",
                          "http://127.example.org/"})
    EXPECT_THAT(message(check_url(url)), HasSubstr("plain http is for this machine only")) << url;
}

TEST(HttpGet, OtherUrlsAreRefused) {
  for (const char* url : {"ftp://host/set", "file:///etc/passwd", "https://", "https://ann:secret@host/set",
                          "https://host/set?a=b", "https://host/set#top"}) {
    const absl::Status refused = check_url(url);
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << url;
    EXPECT_EQ(http_get(url, 10).status(), refused);
  }
}

// A certificate for 127.0.0.1 that vouches for itself, and its key.
class TlsServer {
 public:
  explicit TlsServer(const std::string& certificate_file) : context_(boost::asio::ssl::context::tls_server) {
    EVP_PKEY* key = EVP_EC_gen("P-256");
    X509* certificate = X509_new();
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>("test"), -1, -1, 0);
    X509_set_issuer_name(certificate, X509_get_subject_name(certificate));
    for (const auto& [nid, value] :
         {std::pair{NID_subject_alt_name, "IP:127.0.0.1"}, {NID_basic_constraints, "critical,CA:TRUE"}}) {
      X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value);
      X509_add_ext(certificate, extension, -1);
      X509_EXTENSION_free(extension);
    }
    X509_sign(certificate, key, EVP_sha256());
    SSL_CTX_use_certificate(context_.native_handle(), certificate);
    SSL_CTX_use_PrivateKey(context_.native_handle(), key);
    BIO* out = BIO_new_file(certificate_file.c_str(), "w");
    PEM_write_bio_X509(out, certificate);
    BIO_free(out);
    X509_free(certificate);
    EVP_PKEY_free(key);
  }
  boost::asio::ssl::context* context() { return &context_; }

 private:
  boost::asio::ssl::context context_;
};

TEST(HttpGet, HttpsNeedsACertificateThatSomebodyTrustedVouchesFor) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  TlsServer tls(folder.file("ca.pem"));
  const WebServer server([](const std::string& path) { return ok("secured " + path); }, tls.context());
  const std::string url = "https://" + server.address() + "/x";
  EXPECT_EQ(*http_get(url, 100, {.ca_file = folder.file("ca.pem")}), "secured /x");
  const absl::Status refused = http_get(url, 100).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(message(refused), HasSubstr("certificate"));
}

}  // namespace
}  // namespace tf::record_sets
