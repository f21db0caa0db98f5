#include "rpc/identity/membership.h"

#include <grpcpp/grpcpp.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "proto/identity/v1/identity.grpc.pb.h"
#include "rpc/connection/channel.h"
#include "rpc/connection/grpc_status.h"
#include "rpc/periodic_task.h"

namespace tf::rpc {
namespace {

namespace membership = tunefarm::identity::v1;

constexpr absl::Duration kCallTimeout = absl::Seconds(10);
constexpr absl::Duration kRetryEvery = absl::Seconds(10);

absl::Status from_tracker(const grpc::Status& status, const Endpoint& tracker) {
  return from_grpc(status, "tracker", tracker, true);
}

absl::StatusOr<Certificate> renewed(const Credentials& credentials, membership::Members::Stub& stub,
                                    const Endpoint& tracker) {
  grpc::ClientContext context;
  set_deadline(context, kCallTimeout);
  membership::RenewRequest request;
  request.set_request(make_certificate_request(credentials.key(), credentials.identity().name));
  membership::Credential reply;
  TF_RETURN_IF_ERROR(from_tracker(stub.Renew(&context, request, &reply), tracker));
  return Certificate::from_der(reply.certificate());
}

// `received`: what was renewed before, but could not be kept; it is not asked for again, since a member may
// have only so many certificates.
absl::Status renew(Credentials& credentials, membership::Members::Stub& stub, const Endpoint& tracker,
                   std::optional<Certificate>& received) {
  if (!received) {
    TF_ASSIGN_OR_RETURN(received, renewed(credentials, stub, tracker));
  }
  const absl::Status kept = credentials.renew(*received);
  if (kept.ok() || absl::IsInternal(kept)) received.reset();  // it is here, or not ours
  return kept;
}

absl::StatusOr<Identity> join_with(const KeyPair& key, const JoinToken& token, const JoinOptions& options) {
  const auto stub = membership::Members::NewStub(make_channel(options.tracker, joining_channel(token.ca)));
  grpc::ClientContext context;
  set_deadline(context, kCallTimeout);
  membership::JoinRequest request;
  request.set_secret(token.secret);
  request.set_name(options.name);
  request.set_request(make_certificate_request(key, options.name));
  request.mutable_roles()->Add(options.roles.begin(), options.roles.end());
  membership::Credential reply;
  TF_RETURN_IF_ERROR(from_tracker(stub->Join(&context, request, &reply), options.tracker));
  TF_ASSIGN_OR_RETURN(const Certificate certificate, Certificate::from_der(reply.certificate()));
  TF_ASSIGN_OR_RETURN(const Certificate ca, Certificate::from_der(reply.ca()));
  if (ca.fingerprint() != token.ca || !certificate.identity() || !certificate.matches(key)) {
    return absl::InternalError("the tracker returned a certificate that was not requested");
  }
  TF_RETURN_IF_ERROR(save_member(options.folder, certificate, ca, options.tracker.text()));
  return *certificate.identity();
}

}  // namespace

absl::StatusOr<Identity> join_farm(const JoinOptions& options) {
  TF_ASSIGN_OR_RETURN(const JoinToken token, JoinToken::parse(options.token));
  TF_ASSIGN_OR_RETURN(const KeyPair key, make_member_key(options.folder));
  absl::StatusOr<Identity> joined = join_with(key, token, options);
  if (!joined.ok()) discard_member_key(options.folder);
  return joined;
}

std::string default_member_name() {
  char host[129] = "";
  gethostname(host, sizeof host - 1);
  std::string name;
  for (const char c : std::string_view(host)) {
    name += absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' ? c : '-';
  }
  return check_identity_name(name).ok() ? name : "member";
}

std::string joined_text(const Identity& identity, const std::string& folder) {
  return absl::StrCat("joined as ", identity.text(), "; give --tls ", folder,
                      " to commands that use this farm\n");
}

struct MembershipKeeper::State {
  std::shared_ptr<Credentials> credentials;
  Endpoint tracker;
  KeeperOptions options;
  const WallClock& clock;
  std::unique_ptr<membership::Members::Stub> stub =
      membership::Members::NewStub(make_channel(tracker, credentials->channel(Role::kTracker)));
  absl::Time try_at = absl::InfinitePast();  // to renew
  std::optional<Certificate> received;       // the next one, until it is kept
  uint64_t generation = 0;                   // of the revocations that it knows
  PeriodicTask looking{[this] {
    const absl::Status status = look();
    if (absl::IsUnauthenticated(status) && options.ended) std::exchange(options.ended, nullptr)(status);
    return options.look_every;
  }};

  absl::Status look() {
    const absl::Time now = clock.now();
    TF_RETURN_IF_ERROR(credentials->certificate().check_issued_by(credentials->ca(), now));
    if (now >= credentials->certificate().renew_at() && now >= try_at) {
      const absl::Status status = renew(*credentials, *stub, tracker, received);
      try_at = now + (status.ok() ? absl::ZeroDuration() : kRetryEvery);
      if (status.ok()) {
        spdlog::info(
            absl::StrCat("the certificate of ", credentials->identity().text(), " was renewed until ",
                         absl::FormatTime(credentials->certificate().not_after(), absl::UTCTimeZone())));
      } else {
        spdlog::warn(absl::StrCat("cannot renew the certificate: ", status.message()));
      }
    }
    return options.revoked ? ask_for_revoked() : absl::OkStatus();
  }

  // While the tracker is away, what was revoked before stays so.
  absl::Status ask_for_revoked() {
    grpc::ClientContext context;
    set_deadline(context, kCallTimeout);
    membership::ListRevokedRequest request;
    request.set_generation(generation);
    membership::ListRevokedReply reply;
    TF_RETURN_IF_ERROR(from_grpc(stub->ListRevoked(&context, request, &reply)));
    if (reply.generation() == generation) return absl::OkStatus();
    generation = reply.generation();
    options.revoked({reply.serials().begin(), reply.serials().end()});
    return absl::OkStatus();
  }
};

MembershipKeeper::MembershipKeeper(std::shared_ptr<Credentials> credentials, Endpoint tracker,
                                   KeeperOptions options, const WallClock& clock)
    : state_(new State{.credentials = std::move(credentials),
                       .tracker = std::move(tracker),
                       .options = std::move(options),
                       .clock = clock}) {}

MembershipKeeper::~MembershipKeeper() = default;

absl::StatusOr<std::shared_ptr<Credentials>> credentials_of_command(const std::string& folder,
                                                                    const std::string& tracker) {
  TF_ASSIGN_OR_RETURN(std::shared_ptr<Credentials> credentials, Credentials::load_if_given(folder));
  if (!credentials || real_wall_clock().now() < credentials->certificate().renew_at()) return credentials;
  const absl::StatusOr<Endpoint> endpoint =
      parse_endpoint(tracker.empty() ? credentials->tracker() : tracker);
  if (endpoint.ok()) {
    const auto stub =
        membership::Members::NewStub(make_channel(*endpoint, credentials->channel(Role::kTracker)));
    std::optional<Certificate> received;
    renew(*credentials, *stub, *endpoint, received).IgnoreError();
  }
  return credentials;
}

}  // namespace tf::rpc
