#pragma once
// Owns: the certificates of a load's members, made before its tracker starts.

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "rpc/identity/credentials.h"

namespace tf::farm_load {

struct LoadMembers {
  std::vector<std::shared_ptr<rpc::Credentials>> boards;
  std::shared_ptr<rpc::Credentials> tuners;
};

// Makes a CA in FOLDER/ca, for `tracker serve --tls`, and a tuner and boards that it lets in.
absl::StatusOr<LoadMembers> make_members(const std::string& folder, int boards);

}  // namespace tf::farm_load
