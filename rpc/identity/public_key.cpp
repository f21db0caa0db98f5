#include "rpc/identity/public_key.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "base/check.h"

namespace tf::rpc {

PublicKey PublicKey::of(const KeyPair& pair) {
  EVP_PKEY_up_ref(pair.get());
  return PublicKey(std::shared_ptr<EVP_PKEY>(pair.get(), EVP_PKEY_free));
}

absl::StatusOr<PublicKey> PublicKey::from_pem(const std::string& pem) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> in(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free);
  const std::shared_ptr<EVP_PKEY> key(PEM_read_bio_PUBKEY(in.get(), nullptr, nullptr, nullptr),
                                      EVP_PKEY_free);
  openssl_reason();  // only clears it
  if (!key) return absl::InvalidArgumentError("not a public key in PEM");
  if (!is_p256(key.get())) return absl::InvalidArgumentError("not an ECDSA P-256 key");
  return PublicKey(key);
}

std::string PublicKey::pem() const {
  const std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()), BIO_free);
  TF_CHECK(PEM_write_bio_PUBKEY(out.get(), key_.get()) == 1) << openssl_reason();
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return std::string(text, static_cast<size_t>(size));
}

Digest PublicKey::fingerprint() const {
  unsigned char* der = nullptr;
  const int size = i2d_PUBKEY(key_.get(), &der);
  TF_CHECK(size > 0) << openssl_reason();
  const Digest digest = sha256({reinterpret_cast<const char*>(der), static_cast<size_t>(size)});
  OPENSSL_free(der);
  return digest;
}

bool PublicKey::has_signed(std::string_view message, std::string_view signature) const {
  return is_signature(key_.get(), message, signature);
}

bool is_signature(EVP_PKEY* key, std::string_view message, std::string_view signature) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  const auto* const signature_bytes = reinterpret_cast<const unsigned char*>(signature.data());
  const auto* const bytes = reinterpret_cast<const unsigned char*>(message.data());
  const bool good =
      EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key) == 1 &&
      EVP_DigestVerify(context.get(), signature_bytes, signature.size(), bytes, message.size()) == 1;
  openssl_reason();  // only clears it: it names no reason that people could use
  return good;
}

}  // namespace tf::rpc
