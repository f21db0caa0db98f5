#pragma once
// Owns: one member's end of mutual TLS: what it shows to others, whom it accepts, and the signatures that it
// gives. Does not know: what a caller may do (call_guard.h), where the files come from.

#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "rpc/clock.h"
#include "rpc/connection/endpoint.h"
#include "rpc/identity/identity_folder.h"
#include "rpc/identity/join_token.h"
#include "rpc/identity/published_file.h"
#include "rpc/periodic_task.h"

namespace grpc {
class ChannelCredentials;
class ServerCredentials;
namespace experimental {
class CertificateProviderInterface;
}
}  // namespace grpc

namespace tf::rpc {

// TLS 1.3 with certificates at both ends, in a program that has begun with set_grpc_environment. A certificate
// that is replaced by another one of the same member is taken up by new connections within kReloadEvery,
// without a restart. Files that were damaged or deleted, or are another member's, change nothing but the log.
// Thread-safe; shared by all channels and the server of a process.
class Credentials {
 public:
  static constexpr absl::Duration kReloadEvery = absl::Seconds(2);

  // load_member's errors, and PublishedFile's. The clock outlives the credentials.
  static absl::StatusOr<std::shared_ptr<Credentials>> load(const std::string& folder,
                                                           const WallClock& clock = real_wall_clock());
  // Of --tls: nothing if it was not given.
  static absl::StatusOr<std::shared_ptr<Credentials>> load_if_given(const std::string& folder);

  const std::string& folder() const { return folder_; }
  const Identity& identity() const { return identity_; }
  const Certificate& ca() const { return ca_; }
  const KeyPair& key() const { return key_; }
  // HOST:PORT of the tracker that issued the certificate; empty: not known.
  const std::string& tracker() const { return tracker_; }
  Certificate certificate() const;

  // Writes the certificate to the folder, for connections from now on.
  absl::Status renew(const Certificate& certificate);

  // Accepts only a server whose certificate names who is expected. Names of hosts are not compared: a farm's
  // certificates name members, which answer wherever they run.
  std::shared_ptr<grpc::ChannelCredentials> channel(const ExpectedServer& server) const;
  // Asks for the caller's certificate, refuses one that is not of this CA, and lets in callers without any:
  // what those may call is the guard's matter.
  std::shared_ptr<grpc::ServerCredentials> server() const;

 private:
  // What gRPC reads: always what was checked here.
  struct Published {
    PublishedFile key, certificate, ca;
  };
  Credentials(std::string folder, std::string bytes, Member member, const Published& published,
              const WallClock& clock);

  void look();  // at the folder's files
  absl::Status take_up_files();
  absl::Status show(const Certificate& certificate);

  const std::string folder_;
  const Identity identity_;
  const Certificate ca_;
  const KeyPair key_;
  const std::string tracker_;
  const Published published_;
  const WallClock& clock_;
  std::shared_ptr<grpc::experimental::CertificateProviderInterface> provider_;
  mutable std::mutex mutex_;
  Certificate certificate_;
  // Of the thread that looks: the bytes of the files that are in use, and why others could not be taken up.
  std::string taken_up_, problem_;
  PeriodicTask looking_;
};

// For a joiner, who has only a token: accepts a tracker whose chain ends in the CA with the token's
// fingerprint, and shows no certificate. The token's secret is sent after that.
std::shared_ptr<grpc::ChannelCredentials> joining_channel(const Digest& ca_fingerprint);

// For a daemon, before it dials anybody: FAILED_PRECONDITION unless its certificate has the role, with `why`,
// as in "`tuner serve` leases devices as a tuner", and what to do. In plain text (null) there are no roles.
absl::Status require_role(const std::shared_ptr<Credentials>& credentials, Role role, std::string_view why);

// INVALID_ARGUMENT for plain text beyond loopback. `option` names the flag that gave the endpoint, as in
// "--listen".
absl::Status require_protection(const Endpoint& endpoint, std::string_view option,
                                const std::shared_ptr<Credentials>& credentials);

}  // namespace tf::rpc
