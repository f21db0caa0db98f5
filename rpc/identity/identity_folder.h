#pragma once
// Owns: what --tls DIR names: a member's key, its certificate, the farm's CA and the tracker that renews the
// certificate, as files. Does not know: connections.
//
//   DIR/key.pem   0600, made here, never sent anywhere; the same for the identity's whole life
//   DIR/cert.pem  the certificate, then the CA's; replaced in one step when it is renewed
//   DIR/ca.pem    what everybody else's certificate must be signed by
//   DIR/tracker   HOST:PORT
//
// The CA's own folder (tracker/ca/authority.h) has DIR/ca-key.pem and is no member's: it would be mistaken
// for one since it has a ca.pem, too.

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rpc/identity/certificate.h"
#include "rpc/identity/key_pair.h"

namespace tf::rpc {

// No file of a member's folder is larger.
inline constexpr int64_t kMostIdentityBytes = 1 << 20;

struct IdentityFiles {
  std::string key, certificate, ca, tracker;  // paths
};
IdentityFiles identity_files(const std::string& folder);
std::string ca_key_file(const std::string& folder);

// What a folder is by the files in it, be they good or not.
enum class FolderOf { kNobody, kMember, kCa };
FolderOf folder_of(const std::string& folder);

struct Member {
  KeyPair key;
  Certificate certificate;
  Certificate ca;
  std::string tracker;  // HOST:PORT; empty: not known
  Identity identity;
};

// FAILED_PRECONDITION: no member's folder, or not all of its files, and how to come by one.
// PERMISSION_DENIED: others may read the key. UNAUTHENTICATED: the certificate has ended, or is not of this
// CA. DATA_LOSS: files that do not belong together.
absl::StatusOr<Member> load_member(const std::string& folder, absl::Time now);

// Makes a folder that only this user may enter (0700), and those above it. One that is there stays as it is
// and will do if it is such a one: PERMISSION_DENIED otherwise.
absl::Status make_private_folder(const std::string& folder);

// Makes the private folder and a new key in it. ALREADY_EXISTS: there is a member in it already, or a CA.
absl::StatusOr<KeyPair> make_member_key(const std::string& folder);

// After an attempt that got no certificate: its key goes, and the folder if nothing else is in it.
void discard_member_key(const std::string& folder);

// The rest of the files; the certificate last, so that a folder is whole once it has one.
absl::Status save_member(const std::string& folder, const Certificate& certificate, const Certificate& ca,
                         const std::string& tracker);

// A file that only this user may read, made in one step. ALREADY_EXISTS if there is one.
absl::Status write_secret(const std::string& path, std::string_view bytes);

}  // namespace tf::rpc
