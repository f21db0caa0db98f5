#include "rpc/access/local_caller.h"

#include <grpcpp/grpcpp.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <iterator>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/digest.h"

namespace tf::rpc {
namespace {

constexpr const char* kSecretKey = "tunefarm-local-secret";
constexpr const char* kIdentityKey = "tunefarm-local-caller";

const std::string& secret_of_process() {
  static const std::string& secret = *[] {
    Digest random;
    const bool made = RAND_bytes(random.bytes.data(), static_cast<int>(random.bytes.size())) == 1;
    TF_CHECK(made) << "no random numbers";
    return new std::string(random.hex());
  }();
  return secret;
}

// Empty: not there, or more than once.
std::string_view value_of(const grpc::ServerContextBase& context, const char* key) {
  const auto [first, last] = context.client_metadata().equal_range(key);
  const bool is_one = first != last && std::next(first) == last;
  return is_one ? std::string_view(first->second.data(), first->second.size()) : std::string_view();
}

}  // namespace

void call_as(grpc::ClientContext& context, const Identity& identity) {
  context.AddMetadata(kSecretKey, secret_of_process());
  context.AddMetadata(kIdentityKey, identity.uri());
}

std::optional<Identity> local_caller(const grpc::ServerContextBase& context) {
  const std::string_view secret = value_of(context, kSecretKey);
  const std::string& own = secret_of_process();
  if (secret.size() != own.size() || CRYPTO_memcmp(secret.data(), own.data(), own.size()) != 0)
    return std::nullopt;
  const absl::StatusOr<Identity> identity = parse_identity_uri(value_of(context, kIdentityKey));
  return identity.ok() ? std::optional(*identity) : std::nullopt;
}

}  // namespace tf::rpc
