#include "tracker/ca/authority.h"

#include <arpa/inet.h>
#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/files/file.h"
#include "base/status.h"
#include "rpc/identity/host_names.h"
#include "rpc/identity/identity_folder.h"

namespace tf::tracker {
namespace {

using X509Ptr = std::unique_ptr<X509, decltype(&X509_free)>;

constexpr absl::Duration kCaLife = absl::Hours(24 * 3650);
constexpr absl::Duration kClockSkew = absl::Minutes(1);

std::string certificate_path(const std::string& folder) {
  return rpc::identity_files(folder).ca;
}

bool has_certificate(const std::string& folder) {
  std::error_code ignored;
  return std::filesystem::exists(certificate_path(folder), ignored);
}

// Of a folder without a CA's key.
absl::Status no_ca(const std::string& folder) {
  if (rpc::folder_of(folder) == rpc::FolderOf::kMember) {
    return absl::FailedPreconditionError(
        absl::StrCat(folder, " is a member's folder: give the CA's folder, which `tracker ca init` made"));
  }
  if (has_certificate(folder)) {
    return absl::FailedPreconditionError(absl::StrCat(folder, " holds a CA without its key: restore ",
                                                      rpc::ca_key_file(folder), " from a copy"));
  }
  return absl::NotFoundError(
      absl::StrCat(folder, " holds no CA: make one with `tracker ca init --dir ", folder, "`"));
}

// A member trusts by its ca.pem whom it talks to: that of another CA in its place shuts it out of its farm.
absl::Status check_empty(const std::string& folder) {
  switch (rpc::folder_of(folder)) {
    case rpc::FolderOf::kCa:
      return absl::AlreadyExistsError(absl::StrCat(
          folder, " already holds a CA, which is not overwritten: use it with `tracker serve --tls ", folder,
          "`, or give another --dir"));
    case rpc::FolderOf::kMember:
      return absl::AlreadyExistsError(
          absl::StrCat(folder, " is a member's folder, which is not overwritten: give another --dir"));
    case rpc::FolderOf::kNobody:
      break;
  }
  if (!has_certificate(folder)) return absl::OkStatus();
  return absl::AlreadyExistsError(
      absl::StrCat(certificate_path(folder), " already exists and is not overwritten: give another --dir"));
}

void add_extension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  TF_CHECK(extension && X509_add_ext(certificate, extension, -1) == 1)
      << value << ": " << rpc::openssl_reason();
  X509_EXTENSION_free(extension);
}

void set_subject(X509* certificate, const std::string& name) {
  X509_NAME* subject = X509_get_subject_name(certificate);
  const auto* text = reinterpret_cast<const unsigned char*>(name.data());
  // A common name is at most 64 characters long; the identity stands in the alternative name.
  const int size = static_cast<int>(std::min<size_t>(name.size(), 64));
  TF_CHECK(X509_NAME_add_entry_by_txt(subject, "O", MBSTRING_ASC,
                                      reinterpret_cast<const unsigned char*>("tunefarm"), -1, -1, 0) == 1 &&
           X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, text, size, -1, 0) == 1)
      << rpc::openssl_reason();
}

// Everything but names and extensions.
X509Ptr blank(EVP_PKEY* key, absl::Time from, absl::Time until) {
  X509Ptr certificate(X509_new(), X509_free);
  std::array<unsigned char, 16> serial{};
  TF_CHECK(RAND_bytes(serial.data(), static_cast<int>(serial.size())) == 1) << rpc::openssl_reason();
  serial[0] = static_cast<unsigned char>((serial[0] & 0x7f) | 0x40);  // positive, and always as long
  BIGNUM* number = BN_bin2bn(serial.data(), static_cast<int>(serial.size()), nullptr);
  TF_CHECK(X509_set_version(certificate.get(), 2) == 1 &&
           BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate.get())) != nullptr &&
           ASN1_TIME_set(X509_getm_notBefore(certificate.get()), absl::ToTimeT(from)) != nullptr &&
           ASN1_TIME_set(X509_getm_notAfter(certificate.get()), absl::ToTimeT(until)) != nullptr &&
           X509_set_pubkey(certificate.get(), key) == 1)
      << rpc::openssl_reason();
  BN_free(number);
  return certificate;
}

rpc::Certificate signed_by(const rpc::KeyPair& key, X509Ptr certificate) {
  TF_CHECK(X509_sign(certificate.get(), key.get(), EVP_sha256()) > 0) << rpc::openssl_reason();
  return rpc::Certificate::adopt(certificate.release());
}

// `hosts` are canonical: nothing in them means more in OpenSSL's little language of names.
std::string alternative_names(const rpc::Identity& identity, const std::vector<std::string>& hosts) {
  std::string names = absl::StrCat("URI:", identity.uri());
  for (const std::string& host : hosts) {
    in6_addr address{};
    const bool is_address =
        inet_pton(AF_INET, host.c_str(), &address) == 1 || inet_pton(AF_INET6, host.c_str(), &address) == 1;
    absl::StrAppend(&names, is_address ? ",IP:" : ",DNS:", host);
  }
  return names;
}

// The key of a request that its holder has signed.
absl::StatusOr<std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>> requested_key(const std::string& der) {
  const auto* at = reinterpret_cast<const unsigned char*>(der.data());
  const std::unique_ptr<X509_REQ, decltype(&X509_REQ_free)> request(
      d2i_X509_REQ(nullptr, &at, static_cast<long>(der.size())), X509_REQ_free);
  if (!request) {
    return absl::InvalidArgumentError(
        absl::StrCat("not a certificate request (PKCS #10 in DER): ", rpc::openssl_reason()));
  }
  std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(X509_REQ_get_pubkey(request.get()), EVP_PKEY_free);
  if (!key || !rpc::is_p256(key.get()))
    return absl::InvalidArgumentError("a member's key must be an ECDSA P-256 key");
  if (X509_REQ_verify(request.get(), key.get()) != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the certificate request is not signed with its own key: ", rpc::openssl_reason()));
  }
  return key;
}

}  // namespace

absl::Status Authority::make(const std::string& folder, absl::Time now) {
  TF_RETURN_IF_ERROR(rpc::make_private_folder(folder));
  TF_RETURN_IF_ERROR(check_empty(folder));
  TF_ASSIGN_OR_RETURN(const rpc::KeyPair key, rpc::KeyPair::generate());
  // The key first, and never over another: a CA without its key is one that was lost.
  TF_RETURN_IF_ERROR(rpc::write_secret(rpc::ca_key_file(folder), key.pem()));
  X509Ptr certificate = blank(key.get(), now - kClockSkew, now + kCaLife);
  set_subject(certificate.get(), "farm CA");
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(certificate.get()));
  add_extension(certificate.get(), certificate.get(), NID_basic_constraints, "critical,CA:TRUE,pathlen:0");
  add_extension(certificate.get(), certificate.get(), NID_key_usage, "critical,keyCertSign,cRLSign");
  add_extension(certificate.get(), certificate.get(), NID_subject_key_identifier, "hash");
  return write_file(certificate_path(folder), signed_by(key, std::move(certificate)).pem());
}

absl::StatusOr<std::unique_ptr<Authority>> Authority::open(const std::string& folder) {
  const absl::StatusOr<std::string> key_text = read_file(rpc::ca_key_file(folder));
  if (absl::IsNotFound(key_text.status())) return no_ca(folder);
  TF_RETURN_IF_ERROR(key_text.status());
  TF_ASSIGN_OR_RETURN(const std::string certificate_text, read_file(certificate_path(folder)));
  absl::StatusOr<rpc::KeyPair> key = rpc::KeyPair::from_pem(*key_text);
  absl::StatusOr<rpc::Certificate> certificate = rpc::Certificate::from_pem(certificate_text);
  if (!key.ok() || !certificate.ok() || !certificate->matches(*key)) {
    return absl::DataLossError(absl::StrCat("ca.pem and ca-key.pem in ", folder,
                                            " are damaged or do not belong together: restore them"));
  }
  return std::unique_ptr<Authority>(new Authority(*std::move(key), *std::move(certificate)));
}

absl::StatusOr<rpc::Certificate> Authority::issue(const std::string& request, const rpc::Identity& identity,
                                                  absl::Time now, absl::Duration life,
                                                  const std::vector<std::string>& hosts) const {
  TF_RETURN_IF_ERROR(rpc::check_identity_name(identity.name));
  for (const std::string& host : hosts) {
    TF_ASSIGN_OR_RETURN(const std::string canonical, rpc::canonical_host(host));
    TF_CHECK(canonical == host) << host;
  }
  TF_ASSIGN_OR_RETURN(const auto key, requested_key(request));
  X509Ptr certificate = blank(key.get(), now - std::min(kClockSkew, life / 10), now + life);
  set_subject(certificate.get(), identity.text());
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(certificate_.get()));
  const bool serves = rpc::may_serve(identity.role);
  add_extension(certificate.get(), certificate_.get(), NID_basic_constraints, "critical,CA:FALSE");
  add_extension(certificate.get(), certificate_.get(), NID_key_usage, "critical,digitalSignature");
  add_extension(certificate.get(), certificate_.get(), NID_ext_key_usage,
                serves ? "clientAuth,serverAuth" : "clientAuth");
  add_extension(certificate.get(), certificate_.get(), NID_subject_key_identifier, "hash");
  add_extension(certificate.get(), certificate_.get(), NID_authority_key_identifier, "keyid");
  add_extension(certificate.get(), certificate_.get(), NID_subject_alt_name,
                alternative_names(identity, hosts));
  return signed_by(key_, std::move(certificate));
}

absl::StatusOr<bool> Authority::is_of_key(const std::string& request, const rpc::Certificate& certificate) {
  TF_ASSIGN_OR_RETURN(const auto key, requested_key(request));
  return EVP_PKEY_eq(key.get(), X509_get0_pubkey(certificate.get())) == 1;
}

}  // namespace tf::tracker
