#include "rpc/identity/key_pair.h"

#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace tf::rpc {

bool is_p256(const EVP_PKEY* key) {
  char group[32] = "";
  size_t size = 0;
  return EVP_PKEY_is_a(key, "EC") == 1 && EVP_PKEY_get_group_name(key, group, sizeof group, &size) == 1 &&
         std::string_view(group) == "prime256v1";
}

std::string openssl_reason() {
  char text[256] = "no reason given";
  const unsigned long code = ERR_peek_last_error();
  if (code != 0) ERR_error_string_n(code, text, sizeof text);
  ERR_clear_error();
  return text;
}

absl::StatusOr<KeyPair> KeyPair::generate() {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  if (!key) return absl::InternalError(absl::StrCat("cannot make a key: ", openssl_reason()));
  return KeyPair(std::shared_ptr<EVP_PKEY>(key, EVP_PKEY_free));
}

absl::StatusOr<KeyPair> KeyPair::from_pem(const std::string& pem) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> in(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free);
  // The empty pass phrase: without one OpenSSL would ask at the terminal.
  char no_phrase[] = "";
  const std::shared_ptr<EVP_PKEY> key(PEM_read_bio_PrivateKey(in.get(), nullptr, nullptr, no_phrase),
                                      EVP_PKEY_free);
  if (!key) {
    return absl::InvalidArgumentError(absl::StrCat("not a private key in PEM: ", openssl_reason()));
  }
  if (!is_p256(key.get())) return absl::InvalidArgumentError("not an ECDSA P-256 key");
  return KeyPair(key);
}

std::string KeyPair::pem() const {
  const std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()), BIO_free);
  TF_CHECK(PEM_write_bio_PKCS8PrivateKey(out.get(), key_.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1)
      << openssl_reason();
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return std::string(text, static_cast<size_t>(size));
}

std::string KeyPair::sign(std::string_view message) const {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  const auto* bytes = reinterpret_cast<const unsigned char*>(message.data());
  size_t size = 0;
  TF_CHECK(EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key_.get()) == 1 &&
           EVP_DigestSign(context.get(), nullptr, &size, bytes, message.size()) == 1)
      << openssl_reason();
  std::string signature(size, '\0');
  TF_CHECK(EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size, bytes,
                          message.size()) == 1)
      << openssl_reason();
  signature.resize(size);
  return signature;
}

}  // namespace tf::rpc
