#include "device_agent/worker/cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/files/file.h"
#include "base/files/owned_fd.h"
#include "base/machine/machine_files.h"
#include "base/status.h"

namespace tf::worker {
namespace {

constexpr char kPrefix[] = "tunefarm-";
// Where this process goes if its own group is to have groups below it (version 2).
constexpr char kOwnLeaf[] = "/tunefarm-main";

std::string_view name_of(Controller controller) {
  return controller == Controller::kPids ? "pids" : "memory";
}

bool lists(absl::string_view text, char separator, std::string_view word) {
  for (absl::string_view part : absl::StrSplit(text, separator)) {
    if (part == absl::string_view(word.data(), word.size())) return true;
  }
  return false;
}

// Its own file of the interface: no temporary neighbour, and the system answers at the write.
absl::Status write_to(const std::string& path, std::string_view text) {
  const OwnedFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.get() < 0) return absl::ErrnoToStatus(errno, path);
  if (::write(file.get(), text.data(), text.size()) < 0) return absl::ErrnoToStatus(errno, path);
  return absl::OkStatus();
}

// The interface's files have no size; they end at the first empty read.
std::string read_all(const std::string& path) {
  const OwnedFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  char chunk[4096];
  ssize_t length;
  while (file.get() >= 0 && (length = ::read(file.get(), chunk, sizeof chunk)) > 0)
    text.append(chunk, static_cast<size_t>(length));
  return text;
}

std::vector<pid_t> processes_in(const std::string& folder) {
  std::vector<pid_t> pids;
  const std::string text = read_all(folder + "/cgroup.procs");
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    pid_t pid = 0;
    if (absl::SimpleAtoi(line, &pid)) pids.push_back(pid);
  }
  return pids;
}

struct Mount {
  std::string root, point;  // the part of the file system that is mounted, and where
};

// The first that fits; an empty point: none. mountinfo: id parent device root point options… - type source
// options.
Mount find_mount(std::string_view mounts, std::string_view type, std::string_view option) {
  for (absl::string_view line : absl::StrSplit(absl::string_view(mounts.data(), mounts.size()), '\n')) {
    const std::pair<absl::string_view, absl::string_view> halves =
        absl::StrSplit(line, absl::MaxSplits(" - ", 1));
    const std::vector<absl::string_view> where = absl::StrSplit(halves.first, ' ');
    const std::vector<absl::string_view> what = absl::StrSplit(halves.second, ' ');
    if (where.size() < 5 || what.size() < 3 || what[0] != absl::string_view(type.data(), type.size()))
      continue;
    if (option.empty() || lists(what[2], ',', option)) return {std::string(where[3]), std::string(where[4])};
  }
  return {};
}

// A container may see only the part of a hierarchy that is its own.
std::string folder_of(const Mount& mount, absl::string_view path) {
  if (mount.root != "/") absl::ConsumePrefix(&path, mount.root);
  return path == "/" || path.empty() ? mount.point : absl::StrCat(mount.point, path);
}

// Of this process; 0 if the system does not say.
uint64_t pid_namespace() {
  std::error_code error;
  const std::string link = std::filesystem::read_symlink("/proc/self/ns/pid", error).string();
  uint64_t number = 0;  // pid:[4026531836]
  const size_t begin = link.find('[');
  if (begin == std::string::npos ||
      !absl::SimpleAtoi(link.substr(begin + 1, link.size() - begin - 2), &number))
    return 0;
  return number;
}

// Groups of a worker that was killed before it could remove them.
void sweep(const std::string& folder) {
  DIR* const entries = ::opendir(folder.c_str());
  if (entries == nullptr) return;
  while (const dirent* entry = ::readdir(entries)) {
    const pid_t maker = group_maker(entry->d_name, pid_namespace());
    if (maker > 0 && ::kill(maker, 0) != 0 && errno == ESRCH) ::rmdir((folder + "/" + entry->d_name).c_str());
  }
  ::closedir(entries);
}

// Has the groups below `folder` bounded by the controller. Where a group has groups below it that are
// bounded, it has no processes itself (version 2): if there is only this one, it moves aside.
absl::Status delegate(const std::string& folder, std::string_view controller) {
  if (lists(first_line(folder + "/cgroup.subtree_control"), ' ', controller)) return absl::OkStatus();
  if (!lists(first_line(folder + "/cgroup.controllers"), ' ', controller)) {
    return absl::NotFoundError(absl::StrCat("the system does not delegate it in ", folder));
  }
  const std::string control = folder + "/cgroup.subtree_control";
  const std::string enable = absl::StrCat("+", absl::string_view(controller.data(), controller.size()));
  absl::Status enabled = write_to(control, enable);
  if (enabled.ok() || ::access(control.c_str(), W_OK) != 0) return enabled;
  if (processes_in(folder) != std::vector<pid_t>{::getpid()}) {
    return absl::FailedPreconditionError(absl::StrCat("other processes are in ", folder, " too"));
  }
  const std::string leaf = folder + kOwnLeaf;
  if (::mkdir(leaf.c_str(), 0755) != 0 && errno != EEXIST) return absl::ErrnoToStatus(errno, leaf);
  TF_RETURN_IF_ERROR(write_to(leaf + "/cgroup.procs", absl::StrCat(::getpid())));
  return write_to(control, enable);
}

}  // namespace

std::string group_name(uint64_t pid_namespace, pid_t maker, uint32_t random) {
  return absl::StrCat(kPrefix, pid_namespace, "-", maker, absl::StrFormat("-%08x", random));
}

pid_t group_maker(std::string_view name, uint64_t pid_namespace) {
  const std::vector<absl::string_view> parts =
      absl::StrSplit(absl::string_view(name.data(), name.size()), '-');
  uint64_t in = 0;
  pid_t maker = 0;
  const bool is_ours = parts.size() == 4 && absl::StrCat(parts[0], "-") == kPrefix &&
                       absl::SimpleAtoi(parts[1], &in) && absl::SimpleAtoi(parts[2], &maker);
  return is_ours && in == pid_namespace ? maker : 0;
}

absl::StatusOr<Hierarchy> find_hierarchy(Controller controller, std::string_view membership,
                                         std::string_view mounts) {
  const std::string_view name = name_of(controller);
  Hierarchy unified;
  for (absl::string_view line :
       absl::StrSplit(absl::string_view(membership.data(), membership.size()), '\n')) {
    const std::vector<absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    if (lists(parts[1], ',', name)) {
      if (const Mount mount = find_mount(mounts, "cgroup", name); !mount.point.empty())
        return Hierarchy{1, folder_of(mount, parts[2]), mount.point};
    }
    if (parts[0] == "0" && parts[1].empty()) {
      const Mount mount = find_mount(mounts, "cgroup2", "");
      if (!mount.point.empty()) unified = {2, folder_of(mount, parts[2]), mount.point};
    }
  }
  if (unified.version == 0) return absl::NotFoundError("no control groups are mounted");
  unified.folder = std::string(absl::StripSuffix(unified.folder, kOwnLeaf));
  return unified;
}

Cgroup& Cgroup::operator=(Cgroup&& other) noexcept {
  std::swap(unified_parent_, other.unified_parent_);
  std::swap(name_, other.name_);
  std::swap(pids_folder_, other.pids_folder_);
  std::swap(memory_folder_, other.memory_folder_);
  std::swap(memory_version_, other.memory_version_);
  std::swap(memory_bytes_, other.memory_bytes_);
  std::swap(processes_, other.processes_);
  return *this;
}

Cgroup::~Cgroup() {
  for (const std::string& folder : {pids_folder_, memory_folder_}) {
    // What was killed takes a moment to go.
    for (int attempt = 0; !folder.empty() && attempt < 200; ++attempt) {
      if (::rmdir(folder.c_str()) == 0 || errno != EBUSY) break;
      kill_all();
      ::usleep(1000);
    }
  }
}

// The top is bounded by nothing and may have processes and groups side by side.
absl::Status Cgroup::choose_parent(const Hierarchy& hierarchy, Controller controller) {
  if (!unified_parent_.empty()) return delegate(unified_parent_, name_of(controller));
  absl::Status delegated = delegate(hierarchy.folder, name_of(controller));
  unified_parent_ = hierarchy.folder;
  if (delegated.ok() || ::access((hierarchy.top + "/cgroup.subtree_control").c_str(), W_OK) != 0)
    return delegated;
  unified_parent_ = hierarchy.top;
  return delegate(hierarchy.top, name_of(controller));
}

absl::StatusOr<std::string> Cgroup::group_in(const Hierarchy& hierarchy, Controller controller) {
  if (hierarchy.version == 2) TF_RETURN_IF_ERROR(choose_parent(hierarchy, controller));
  const std::string& parent = hierarchy.version == 2 ? unified_parent_ : hierarchy.folder;
  sweep(parent);
  if (name_.empty()) name_ = group_name(pid_namespace(), ::getpid(), std::random_device()());
  std::string folder = absl::StrCat(parent, "/", name_);
  // It is there for our other controller already, or it is somebody else's.
  if (folder == pids_folder_ || folder == memory_folder_) return folder;
  if (::mkdir(folder.c_str(), 0755) != 0) return absl::ErrnoToStatus(errno, folder);
  return folder;
}

absl::Status Cgroup::bound(Controller controller) {
  TF_ASSIGN_OR_RETURN(const Hierarchy hierarchy, find_hierarchy(controller, read_all("/proc/self/cgroup"),
                                                                read_all("/proc/self/mountinfo")));
  TF_ASSIGN_OR_RETURN(std::string folder, group_in(hierarchy, controller));
  if (controller == Controller::kPids) {
    pids_folder_ = std::move(folder);
    return absl::OkStatus();
  }
  memory_folder_ = std::move(folder);
  memory_version_ = hierarchy.version;
  // Time that goes into swapping is no kernel's; without swap there is no such file.
  if (memory_version_ == 2) (void)write_to(memory_folder_ + "/memory.swap.max", "0");
  return absl::OkStatus();
}

absl::Status Cgroup::add(pid_t pid) {
  for (const std::string& folder : {pids_folder_, memory_folder_}) {
    if (!folder.empty()) TF_RETURN_IF_ERROR(write_to(folder + "/cgroup.procs", absl::StrCat(pid)));
  }
  return absl::OkStatus();
}

void Cgroup::limit_memory(uint64_t bytes) {
  if (memory_folder_.empty() || bytes == memory_bytes_) return;
  const char* const file = memory_version_ == 2 ? "/memory.max" : "/memory.limit_in_bytes";
  if (write_to(memory_folder_ + file, absl::StrCat(bytes)).ok()) memory_bytes_ = bytes;
}

void Cgroup::limit_processes(uint64_t count) {
  if (pids_folder_.empty() || count == processes_) return;
  if (write_to(pids_folder_ + "/pids.max", absl::StrCat(count)).ok()) processes_ = count;
}

void Cgroup::kill_all() const {
  for (const std::string& folder : {pids_folder_, memory_folder_}) {
    // At once where the system can (version 2, Linux 5.14).
    if (folder.empty() || write_to(folder + "/cgroup.kill", "1").ok()) continue;
    for (const pid_t pid : processes_in(folder)) {
      if (pid > 0) ::kill(pid, SIGKILL);  // 0: of another process namespace
    }
  }
}

}  // namespace tf::worker
