#include "base/digest.h"

#include <openssl/evp.h>
#include <openssl/sha.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace tf {

std::string Digest::hex() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(64);
  for (uint8_t byte : bytes) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

absl::StatusOr<Digest> Digest::from_hex(std::string_view text) {
  auto value = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  Digest digest;
  bool valid = text.size() == 64;
  for (size_t i = 0; valid && i < 32; ++i) {
    int high = value(text[2 * i]), low = value(text[2 * i + 1]);
    valid = high >= 0 && low >= 0;
    digest.bytes[i] = static_cast<uint8_t>(high << 4 | low);
  }
  if (!valid)
    return absl::InvalidArgumentError(
        absl::StrCat("a SHA-256 digest is 64 hexadecimal digits, not ", text.size(), " characters"));
  return digest;
}

Digest sha256(std::string_view bytes) {
  Digest digest;
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.bytes.data());
  return digest;
}

struct Sha256::State {
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  const std::unique_ptr<EVP_MD_CTX, Free> context{EVP_MD_CTX_new()};
};

// OpenSSL fails in these only where it has no memory.
Sha256::Sha256() : state_(std::make_unique<State>()) {
  TF_CHECK(EVP_DigestInit_ex(state_->context.get(), EVP_sha256(), nullptr) == 1);
}

Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;
Sha256::~Sha256() = default;

void Sha256::add(std::string_view part) {
  TF_CHECK(EVP_DigestUpdate(state_->context.get(), part.data(), part.size()) == 1);
}

Digest Sha256::finish() {
  Digest digest;
  TF_CHECK(EVP_DigestFinal_ex(state_->context.get(), digest.bytes.data(), nullptr) == 1);
  return digest;
}

}  // namespace tf
