// What strangers bring to the farm's CA and to each other: certificates, requests for them, keys, tokens,
// names.
#include "absl/time/clock.h"
#include "rpc/identity/certificate.h"
#include "rpc/identity/join_token.h"
#include "rpc/identity/key_pair.h"
#include "tests/fuzz/input.h"
#include "tracker/ca/authority.h"

namespace {

using tf::rpc::Certificate;

const tf::rpc::Identity kAgent{.role = tf::rpc::Role::kAgent, .name = "box"};

const tf::tracker::Authority& authority() {
  static const std::unique_ptr<tf::tracker::Authority> kAuthority = [] {
    const std::string folder = tf::fuzz::folder().file("ca");
    TF_CHECK(tf::tracker::Authority::make(folder, absl::Now()).ok());
    return *tf::tracker::Authority::open(folder);
  }();
  return *kAuthority;
}

void look_at(const Certificate& certificate) {
  TF_CHECK(!certificate.check_issued_by(authority().certificate(), absl::Now()).ok())
      << "nobody has this CA's key";
  TF_CHECK(!certificate.check_signature("message", "signature").ok());
  TF_CHECK(Certificate::from_der(certificate.der()).ok());
}

void ask_for_one(std::string_view request) {
  const absl::Time now = absl::Now();
  const auto issued = authority().issue(std::string(request), kAgent, now, absl::Hours(1));
  if (!issued.ok()) return;
  TF_CHECK(issued->check_issued_by(authority().certificate(), now).ok());
  TF_CHECK(issued->identity() == kAgent) << "nothing but the key is taken from a request";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tf;
  const std::string_view bytes = fuzz::text(data, size);
  if (const auto certificate = Certificate::from_pem(bytes); certificate.ok()) look_at(*certificate);
  if (const auto certificate = Certificate::from_der(bytes); certificate.ok()) look_at(*certificate);
  ask_for_one(bytes);
  if (const auto key = rpc::KeyPair::from_pem(std::string(bytes)); key.ok())
    TF_CHECK(rpc::KeyPair::from_pem(key->pem()).ok());
  if (const auto token = rpc::JoinToken::parse(bytes); token.ok()) TF_CHECK(token->text() == bytes);
  if (const auto identity = rpc::parse_identity_uri(bytes); identity.ok()) TF_CHECK(identity->uri() == bytes);
  return 0;
}
