#pragma once
// Owns: reading the newest version of a set and believing it: who signed it, that it is whole, and that it is
// what it says. Does not know: databases that it goes into.

#include <vector>

#include "absl/status/statusor.h"
#include "base/digest.h"
#include "database/jsonl.h"
#include "rpc/identity/public_key.h"
#include "tuner/record_sets/manifest.h"
#include "tuner/record_sets/place.h"

namespace tf::record_sets {

struct Described {
  Manifest manifest;
  Digest digest;  // of the manifest's text
  Digest signer;  // fingerprint of the key that signed it
};

// The manifest of the newest version, signed by one of the keys. NOT_FOUND: there is no set. UNAUTHENTICATED:
// no signature, or by none of these. INVALID_ARGUMENT: it is not what a manifest says. Errors of Place::read.
absl::StatusOr<Described> describe_set(const Place& place, const std::vector<rpc::PublicKey>& trusted);

// Its records. DATA_LOSS: cut short, or not those that were signed. INVALID_ARGUMENT: a record that cannot be
// (database/record.h), or is not of what the manifest says. FAILED_PRECONDITION: schedules of another meaning.
absl::StatusOr<database::JsonRecords> read_records(const Place& place, const Manifest& manifest);

}  // namespace tf::record_sets
