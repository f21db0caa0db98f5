#include "tuner/record_sets/keys.h"

#include <sys/stat.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/files/file.h"
#include "base/status.h"
#include "rpc/identity/identity_folder.h"

namespace tf::record_sets {
namespace {

constexpr int64_t kMostKeyBytes = 16 << 10;

}  // namespace

absl::StatusOr<rpc::KeyPair> make_keys(const std::string& file) {
  const std::string public_file = file + ".pub";
  TF_ASSIGN_OR_RETURN(rpc::KeyPair key, rpc::KeyPair::generate());
  struct stat there {};
  if (::lstat(public_file.c_str(), &there) == 0)
    return absl::AlreadyExistsError(absl::StrCat(public_file, " already exists and is not overwritten"));
  TF_RETURN_IF_ERROR(rpc::write_secret(file, key.pem()));
  TF_RETURN_IF_ERROR(write_file(public_file, rpc::PublicKey::of(key).pem()));
  return key;
}

absl::StatusOr<rpc::KeyPair> read_private_key(const std::string& file) {
  TF_ASSIGN_OR_RETURN(const std::string pem, read_file(file, kMostKeyBytes));
  absl::StatusOr<rpc::KeyPair> key = rpc::KeyPair::from_pem(pem);
  if (!key.ok())
    return absl::InvalidArgumentError(
        absl::StrCat(file, " holds no private ECDSA P-256 key: make one with `tuner push --make-key FILE`"));
  struct stat there {};
  if (::stat(file.c_str(), &there) == 0 && (there.st_mode & 077) != 0)
    return absl::PermissionDeniedError(
        absl::StrCat("other users may read the key ", file,
                     ": run chmod 600 on it; if somebody may have read it, make another"));
  return key;
}

absl::StatusOr<rpc::PublicKey> read_public_key(const std::string& file) {
  TF_ASSIGN_OR_RETURN(const std::string pem, read_file(file, kMostKeyBytes));
  absl::StatusOr<rpc::PublicKey> key = rpc::PublicKey::from_pem(pem);
  if (key.ok()) return key;
  const bool is_private = absl::StrContains(pem, "PRIVATE KEY");
  return absl::InvalidArgumentError(absl::StrCat(
      file, is_private ? " holds a private key, which its owner keeps: give" : " holds no public key: give",
      " the publisher's .pub file"));
}

}  // namespace tf::record_sets
