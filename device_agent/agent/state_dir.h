#pragma once
// Owns: the agent's folder: its id, the newest lease that each slot has served, and the lock that keeps a
// second agent out. Does not know: what a lease allows.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device_agent/agent/slots/slot_state.h"

namespace tf::agent {

// Not thread-safe.
class StateDir {
 public:
  // Makes the folder if need be. FAILED_PRECONDITION: another agent uses it. DATA_LOSS: its files are
  // damaged.
  static absl::StatusOr<std::unique_ptr<StateDir>> open(const std::string& path);
  ~StateDir();
  StateDir(const StateDir&) = delete;
  StateDir& operator=(const StateDir&) = delete;

  // The id given, or the one made at random on the first use.
  absl::StatusOr<std::string> agent_id(const std::string& given);
  LeaseRef newest_lease(uint32_t slot) const;
  // Durable when it returns.
  absl::Status save_newest_lease(uint32_t slot, const LeaseRef& lease);
  std::string artifact_folder() const { return path_ + "/artifacts"; }

 private:
  StateDir(std::string path, int lock_fd) : path_(std::move(path)), lock_fd_(lock_fd) {}
  absl::Status load();

  const std::string path_;
  const int lock_fd_;
  std::map<uint32_t, LeaseRef> newest_;
};

}  // namespace tf::agent
