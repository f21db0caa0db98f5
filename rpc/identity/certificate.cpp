#include "rpc/identity/certificate.h"

#include <arpa/inet.h>
#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/remedy.h"
#include "rpc/access/refusal.h"
#include "rpc/identity/public_key.h"

namespace tf::rpc {
namespace {

absl::Time to_time(const ASN1_TIME* time) {
  tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return absl::InfinitePast();
  return absl::FromTM(parts, absl::UTCTimeZone());
}

std::string serial_of(X509* certificate) {
  BIGNUM* number = ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate), nullptr);
  char* hex = BN_bn2hex(number);
  std::string text = absl::AsciiStrToLower(hex);
  OPENSSL_free(hex);
  BN_free(number);
  return text;
}

std::string_view view_of(const ASN1_STRING* text) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<size_t>(ASN1_STRING_length(text))};
}

void for_each_name(X509* certificate, absl::FunctionRef<void(const GENERAL_NAME&)> see) {
  auto* names =
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) see(*sk_GENERAL_NAME_value(names, i));
  GENERAL_NAMES_free(names);
}

std::optional<Identity> identity_of(X509* certificate) {
  std::optional<Identity> found;
  for_each_name(certificate, [&](const GENERAL_NAME& name) {
    if (found || name.type != GEN_URI) return;
    const absl::StatusOr<Identity> parsed = parse_identity_uri(view_of(name.d.uniformResourceIdentifier));
    if (parsed.ok()) found = *parsed;
  });
  return found;
}

// Empty: an address of no known kind.
std::string address_text(std::string_view bytes) {
  char text[INET6_ADDRSTRLEN] = "";
  const int family = bytes.size() == 4 ? AF_INET : AF_INET6;
  if (bytes.size() != 4 && bytes.size() != 16) return "";
  return inet_ntop(family, bytes.data(), text, sizeof text) ? text : "";
}

std::string day_and_time(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", time, absl::UTCTimeZone());
}

}  // namespace

Certificate::Certificate(std::shared_ptr<x509_st> certificate)
    : certificate_(std::move(certificate)),
      identity_(identity_of(certificate_.get())),
      serial_(serial_of(certificate_.get())),
      not_before_(to_time(X509_get0_notBefore(certificate_.get()))),
      not_after_(to_time(X509_get0_notAfter(certificate_.get()))) {}

Certificate Certificate::adopt(x509_st* certificate) {
  return Certificate(std::shared_ptr<x509_st>(certificate, X509_free));
}

absl::StatusOr<Certificate> Certificate::from_pem(std::string_view pem) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> in(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free);
  X509* certificate = PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr);
  if (!certificate) {
    return absl::InvalidArgumentError(absl::StrCat("not a certificate in PEM: ", openssl_reason()));
  }
  return adopt(certificate);
}

absl::StatusOr<Certificate> Certificate::from_der(std::string_view der) {
  const auto* at = reinterpret_cast<const unsigned char*>(der.data());
  X509* certificate = d2i_X509(nullptr, &at, static_cast<long>(der.size()));
  if (!certificate) {
    return absl::InvalidArgumentError(absl::StrCat("not a certificate in DER: ", openssl_reason()));
  }
  return adopt(certificate);
}

std::vector<std::string> Certificate::hosts() const {
  std::vector<std::string> hosts;
  for_each_name(certificate_.get(), [&](const GENERAL_NAME& name) {
    if (name.type == GEN_DNS) hosts.emplace_back(view_of(name.d.dNSName));
    if (name.type == GEN_IPADD) hosts.push_back(address_text(view_of(name.d.iPAddress)));
  });
  return hosts;
}

std::string Certificate::pem() const {
  const std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()), BIO_free);
  TF_CHECK(PEM_write_bio_X509(out.get(), certificate_.get()) == 1) << openssl_reason();
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return std::string(text, static_cast<size_t>(size));
}

std::string Certificate::der() const {
  unsigned char* bytes = nullptr;
  const int size = i2d_X509(certificate_.get(), &bytes);
  TF_CHECK(size > 0) << openssl_reason();
  std::string text(reinterpret_cast<char*>(bytes), static_cast<size_t>(size));
  OPENSSL_free(bytes);
  return text;
}

absl::Status Certificate::check_issued_by(const Certificate& ca, absl::Time now) const {
  const std::string whose =
      identity_ ? absl::StrCat("the certificate of ", identity_->text()) : "the certificate";
  if (now < not_before_) {
    return with_remedy(absl::StatusCode::kUnauthenticated,
                       absl::StrCat(whose, " is valid only from ", day_and_time(not_before_), ", and it is ",
                                    day_and_time(now), " here"),
                       "set the clock");
  }
  if (now >= not_after_) {
    return with_remedy(absl::StatusCode::kUnauthenticated,
                       absl::StrCat(whose, " expired at ", day_and_time(not_after_)), kJoinAgain);
  }
  const std::unique_ptr<X509_STORE, decltype(&X509_STORE_free)> store(X509_STORE_new(), X509_STORE_free);
  X509_STORE_add_cert(store.get(), ca.get());
  const std::unique_ptr<X509_STORE_CTX, decltype(&X509_STORE_CTX_free)> context(X509_STORE_CTX_new(),
                                                                                X509_STORE_CTX_free);
  X509_STORE_CTX_init(context.get(), store.get(), certificate_.get(), nullptr);
  X509_STORE_CTX_set_time(context.get(), 0, absl::ToTimeT(now));
  if (X509_verify_cert(context.get()) == 1) return absl::OkStatus();
  const char* const why = X509_verify_cert_error_string(X509_STORE_CTX_get_error(context.get()));
  return with_remedy(absl::StatusCode::kUnauthenticated,
                     absl::StrCat(whose, " was not issued by this farm's CA (", why, ")"),
                     "join this farm with one of its tokens");
}

absl::Status Certificate::check_signature(std::string_view message, std::string_view signature) const {
  if (is_signature(X509_get0_pubkey(certificate_.get()), message, signature)) return absl::OkStatus();
  return absl::UnauthenticatedError("the signature does not match this certificate's key");
}

bool Certificate::matches(const KeyPair& key) const {
  return X509_check_private_key(certificate_.get(), key.get()) == 1;
}

std::string make_certificate_request(const KeyPair& key, const std::string& name) {
  const std::unique_ptr<X509_REQ, decltype(&X509_REQ_free)> request(X509_REQ_new(), X509_REQ_free);
  X509_NAME* subject = X509_REQ_get_subject_name(request.get());
  TF_CHECK(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                                      reinterpret_cast<const unsigned char*>(name.data()),
                                      static_cast<int>(name.size() > 64 ? 64 : name.size()), -1, 0) == 1 &&
           X509_REQ_set_pubkey(request.get(), key.get()) == 1 &&
           X509_REQ_sign(request.get(), key.get(), EVP_sha256()) > 0)
      << openssl_reason();
  unsigned char* bytes = nullptr;
  const int size = i2d_X509_REQ(request.get(), &bytes);
  TF_CHECK(size > 0) << openssl_reason();
  std::string der(reinterpret_cast<char*>(bytes), static_cast<size_t>(size));
  OPENSSL_free(bytes);
  return der;
}

}  // namespace tf::rpc
