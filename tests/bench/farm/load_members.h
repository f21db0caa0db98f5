#pragma once
// Owns: the certificates of a load's members, made before its tracker starts.

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "rpc/identity/credentials.h"

namespace tf::farm_load {

struct LoadMembers {
  std::shared_ptr<rpc::Credentials> agents, tuners;
};

// Makes a CA in FOLDER/ca, for `tracker serve --tls`, and an agent and a tuner that it lets in.
absl::StatusOr<LoadMembers> make_members(const std::string& folder);

}  // namespace tf::farm_load
