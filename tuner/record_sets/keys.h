#pragma once
// Owns: the files of a publisher's keys. Does not know: what they sign.

#include <string>

#include "absl/status/statusor.h"
#include "rpc/identity/key_pair.h"
#include "rpc/identity/public_key.h"

namespace tf::record_sets {

// Makes FILE, a private key that only its owner may read, and FILE.pub, which everybody may have. ALREADY_EXISTS if one
// of them is there; errors of files.
absl::StatusOr<rpc::KeyPair> make_keys(const std::string& file);

// INVALID_ARGUMENT with the file's name if it is no such key; PERMISSION_DENIED if others may read the private one;
// errors of files.
absl::StatusOr<rpc::KeyPair> read_private_key(const std::string& file);
absl::StatusOr<rpc::PublicKey> read_public_key(const std::string& file);

}  // namespace tf::record_sets
