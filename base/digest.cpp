#include "base/digest.h"

#include <openssl/sha.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

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
  auto value = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
  Digest digest;
  bool valid = text.size() == 64;
  for (size_t i = 0; valid && i < 32; ++i) {
    int high = value(text[2 * i]), low = value(text[2 * i + 1]);
    valid = high >= 0 && low >= 0;
    digest.bytes[i] = static_cast<uint8_t>(high << 4 | low);
  }
  if (!valid) return absl::InvalidArgumentError(absl::StrCat("a SHA-256 digest is 64 hexadecimal digits, not ", text.size(), " characters"));
  return digest;
}

Digest sha256(std::string_view bytes) {
  Digest digest;
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.bytes.data());
  return digest;
}

}  // namespace tf
