#include "rpc/identity/credentials.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <spdlog/spdlog.h>

#include <functional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/files/file.h"
#include "base/grpc_environment.h"
#include "base/remedy.h"
#include "base/status.h"

namespace tf::rpc {
namespace {

namespace tls = grpc::experimental;

void check_environment() {
  TF_CHECK(grpc_environment_is_set())
      << "main must begin with set_grpc_environment(); otherwise TLS 1.2 is used";
}

std::string_view view(grpc::string_ref text) {
  return {text.data(), text.size()};
}

absl::Status check_server(const tls::TlsCustomVerificationCheckRequest& request,
                          const ExpectedServer& expected) {
  for (const grpc::string_ref& uri : request.uri_names()) {
    const absl::StatusOr<Identity> identity = parse_identity_uri(view(uri));
    if (identity.ok()) return expected.check(*identity);
  }
  return absl::UnauthenticatedError("the server's certificate does not name a farm member");
}

// Runs a check of the server's certificate after the handshake, before anything is sent.
class Verifier : public tls::ExternalCertificateVerifier {
 public:
  bool Verify(tls::TlsCustomVerificationCheckRequest* request, std::function<void(grpc::Status)>,
              grpc::Status* answer) final {
    const absl::Status status = check(*request);
    if (!status.ok())
      *answer = grpc::Status(grpc::StatusCode::UNAUTHENTICATED, std::string(status.message()));
    return true;
  }
  void Cancel(tls::TlsCustomVerificationCheckRequest*) final {}

 protected:
  virtual absl::Status check(const tls::TlsCustomVerificationCheckRequest& request) = 0;
};

class ServerVerifier final : public Verifier {
 public:
  explicit ServerVerifier(ExpectedServer expected) : expected_(std::move(expected)) {}

 private:
  absl::Status check(const tls::TlsCustomVerificationCheckRequest& request) override {
    return check_server(request, expected_);
  }
  const ExpectedServer expected_;
};

class PinVerifier final : public Verifier {
 public:
  explicit PinVerifier(const Digest& ca) : ca_(ca) {}

 private:
  absl::Status check(const tls::TlsCustomVerificationCheckRequest& request) override {
    TF_ASSIGN_OR_RETURN(const Certificate leaf, Certificate::from_pem(view(request.peer_cert())));
    constexpr std::string_view kBegin = "-----BEGIN CERTIFICATE-----";
    const std::string_view chain = view(request.peer_cert_full_chain());
    for (size_t at = chain.find(kBegin); at != std::string_view::npos; at = chain.find(kBegin, at + 1)) {
      const absl::StatusOr<Certificate> ca = Certificate::from_pem(chain.substr(at));
      if (!ca.ok() || ca->fingerprint() != ca_) continue;
      TF_RETURN_IF_ERROR(leaf.check_issued_by(*ca, real_wall_clock().now()));
      return check_server(request, Role::kTracker);
    }
    return absl::UnauthenticatedError("the server does not belong to the farm of this token");
  }
  const Digest ca_;
};

// Half of kReloadEvery: gRPC looks as often at what is published.
constexpr absl::Duration kLookEvery = absl::Seconds(1);

std::string chain_of(const Certificate& certificate, const Certificate& ca) {
  return certificate.pem() + ca.pem();
}

// Of the files that belong together; of one that cannot be read, why.
std::string bytes_of(const std::string& folder) {
  const IdentityFiles files = identity_files(folder);
  std::string all;
  for (const std::string& file : {files.key, files.certificate, files.ca}) {
    const absl::StatusOr<std::string> bytes = read_regular_file(file, kMostIdentityBytes);
    absl::StrAppend(&all, bytes.ok() ? *bytes : bytes.status().ToString(), "\n");
  }
  return all;
}

}  // namespace

Credentials::Credentials(std::string folder, std::string bytes, Member member, const Published& published,
                         const WallClock& clock)
    : folder_(std::move(folder)),
      identity_(std::move(member.identity)),
      ca_(std::move(member.ca)),
      key_(std::move(member.key)),
      tracker_(std::move(member.tracker)),
      published_(published),
      clock_(clock),
      provider_(std::make_shared<tls::FileWatcherCertificateProvider>(
          published_.key.path(), published_.certificate.path(), published_.ca.path(),
          static_cast<unsigned>(absl::ToInt64Seconds(kLookEvery)))),
      certificate_(std::move(member.certificate)),
      taken_up_(std::move(bytes)),
      looking_(
          [this] {
            look();
            return kLookEvery;
          },
          kLookEvery) {}

absl::StatusOr<std::shared_ptr<Credentials>> Credentials::load(const std::string& folder,
                                                               const WallClock& clock) {
  check_environment();
  std::string bytes = bytes_of(folder);  // before they are loaded: what changes meanwhile is taken up
  TF_ASSIGN_OR_RETURN(Member member, load_member(folder, clock.now()));
  TF_ASSIGN_OR_RETURN(PublishedFile key, PublishedFile::make(member.key.pem()));
  TF_ASSIGN_OR_RETURN(PublishedFile certificate,
                      PublishedFile::make(chain_of(member.certificate, member.ca)));
  TF_ASSIGN_OR_RETURN(PublishedFile ca, PublishedFile::make(member.ca.pem()));
  return std::shared_ptr<Credentials>(
      new Credentials(folder, std::move(bytes), std::move(member), {key, certificate, ca}, clock));
}

absl::StatusOr<std::shared_ptr<Credentials>> Credentials::load_if_given(const std::string& folder) {
  if (folder.empty()) return nullptr;
  return load(folder);
}

Certificate Credentials::certificate() const {
  const std::scoped_lock lock(mutex_);
  return certificate_;
}

absl::Status Credentials::renew(const Certificate& certificate) {
  if (!certificate.matches(key_) || certificate.identity() != identity_) {
    return absl::InternalError("the tracker renewed a different certificate");
  }
  TF_RETURN_IF_ERROR(save_member(folder_, certificate, ca_, tracker_));
  return show(certificate);
}

absl::Status Credentials::show(const Certificate& certificate) {
  const std::scoped_lock lock(mutex_);
  TF_RETURN_IF_ERROR(published_.certificate.replace(chain_of(certificate, ca_)));
  certificate_ = certificate;
  return absl::OkStatus();
}

void Credentials::look() {
  std::string bytes = bytes_of(folder_);
  if (bytes == taken_up_ && problem_.empty()) return;
  const absl::Status taken = take_up_files();  // again and again: it may be the clock, or too many open files
  if (taken.ok()) taken_up_ = std::move(bytes);
  if (taken.message() == problem_) return;
  problem_ = std::string(taken.message());
  if (problem_.empty())
    spdlog::info(absl::StrCat("the files in --tls ", folder_, " can be used again"));
  else
    spdlog::error(absl::StrCat("going on with the former certificate, since the files in --tls ", folder_,
                               " have changed and cannot be used: ", problem_));
}

absl::Status Credentials::take_up_files() {
  TF_ASSIGN_OR_RETURN(const Member member, load_member(folder_, clock_.now()));
  if (!member.certificate.matches(key_) || member.identity != identity_ ||
      member.ca.fingerprint() != ca_.fingerprint()) {
    return with_remedy(absl::StatusCode::kFailedPrecondition,
                       absl::StrCat("they have another key, CA or name than ", identity_.text(), "'s"),
                       "restart the program to use them");
  }
  return show(member.certificate);
}

std::shared_ptr<grpc::ChannelCredentials> Credentials::channel(const ExpectedServer& server) const {
  tls::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(provider_);
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_check_call_host(false);
  options.set_certificate_verifier(tls::ExternalCertificateVerifier::Create<ServerVerifier>(server));
  return tls::TlsCredentials(options);
}

std::shared_ptr<grpc::ServerCredentials> Credentials::server() const {
  tls::TlsServerCredentialsOptions options(provider_);
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_cert_request_type(GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY);
  return tls::TlsServerCredentials(options);
}

std::shared_ptr<grpc::ChannelCredentials> joining_channel(const Digest& ca_fingerprint) {
  check_environment();
  tls::TlsChannelCredentialsOptions options;
  options.set_verify_server_certs(false);  // by name and known CAs, that is: the pin is stricter
  options.set_check_call_host(false);
  options.set_certificate_verifier(tls::ExternalCertificateVerifier::Create<PinVerifier>(ca_fingerprint));
  return tls::TlsCredentials(options);
}

absl::Status require_role(const std::shared_ptr<Credentials>& credentials, Role role, std::string_view why) {
  if (!credentials || credentials->identity().role == role) return absl::OkStatus();
  return with_remedy(absl::StatusCode::kFailedPrecondition,
                     absl::StrCat("--tls ", credentials->folder(), " belongs to ",
                                  credentials->identity().text(), ", but ", std::string(why)),
                     how_to_join(role));
}

absl::Status require_protection(const Endpoint& endpoint, std::string_view option,
                                const std::shared_ptr<Credentials>& credentials) {
  return credentials ? absl::OkStatus() : require_loopback(endpoint, option);
}

}  // namespace tf::rpc
