#include "device_agent/agent/state_dir.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <random>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/files/file.h"
#include "base/status.h"
#include "base/testing/failpoint.h"

namespace tf::agent {

absl::StatusOr<std::unique_ptr<StateDir>> StateDir::open(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  const std::string lock_path = path + "/lock";
  const int fd = error ? -1 : ::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) {
    const std::string reason = error ? error.message() : std::strerror(errno);
    return absl::PermissionDeniedError(
        absl::StrCat("cannot use the state folder ", path, ": ", reason, "; give another --state-dir"));
  }
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    close(fd);
    return absl::FailedPreconditionError(
        absl::StrCat("another agent uses the state folder ", path, ": stop it or give another --state-dir"));
  }
  auto dir = std::unique_ptr<StateDir>(new StateDir(path, fd));
  TF_RETURN_IF_ERROR(dir->load());
  return dir;
}

StateDir::~StateDir() {
  close(lock_fd_);
}

// One line a slot: "SLOT EPOCH LEASE". Whole, or nothing is believed of it: who forgets a slot's newest epoch
// serves leases that are over.
absl::Status StateDir::load() {
  const absl::StatusOr<std::string> text = read_file(path_ + "/epochs");
  if (absl::IsNotFound(text.status())) return absl::OkStatus();
  TF_RETURN_IF_ERROR(text.status());
  killpoint("agent.state.loading");
  std::vector<std::string> lines = absl::StrSplit(*text, '\n');
  bool whole = lines.size() > 1 && lines.back().empty();  // its last line has its end
  lines.pop_back();
  for (const std::string& line : lines) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    uint32_t slot = 0;
    LeaseRef lease;
    whole = whole && words.size() == 3 && absl::SimpleAtoi(words[0], &slot) &&
            absl::SimpleAtoi(words[1], &lease.epoch) && !words[2].empty();
    if (!whole) break;
    lease.id = words[2];
    newest_[slot] = std::move(lease);
  }
  if (whole) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(path_,
                                          "/epochs is damaged: restore it, or remove it together with the ",
                                          "tracker's leases on this device (`tracker release`)"));
}

absl::StatusOr<std::string> StateDir::agent_id(const std::string& given) {
  if (!given.empty()) return given;
  const std::string path = path_ + "/id";
  absl::StatusOr<std::string> stored = read_file(path);
  if (stored.ok()) return std::string(absl::StripAsciiWhitespace(*stored));
  if (!absl::IsNotFound(stored.status())) return stored.status();
  char host[256] = "device";
  gethostname(host, sizeof host - 1);
  std::random_device random;
  const std::string id = absl::StrFormat("%s-%08x", host, random());
  TF_RETURN_IF_ERROR(write_file(path, id + "\n"));
  return id;
}

LeaseRef StateDir::newest_lease(uint32_t slot) const {
  const auto found = newest_.find(slot);
  return found == newest_.end() ? LeaseRef{} : found->second;
}

absl::Status StateDir::save_newest_lease(uint32_t slot, const LeaseRef& lease) {
  std::map<uint32_t, LeaseRef> updated = newest_;
  updated[slot] = lease;
  std::string text;
  for (const auto& [number, newest] : updated)
    absl::StrAppend(&text, number, " ", newest.epoch, " ", newest.id, "\n");
  TF_RETURN_IF_ERROR(failpoint("agent.lease.saving"));
  TF_RETURN_IF_ERROR(write_file(path_ + "/epochs", text));
  killpoint("agent.lease.saved");
  newest_ = std::move(updated);
  return absl::OkStatus();
}

}  // namespace tf::agent
