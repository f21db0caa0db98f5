#pragma once
// Owns: the control group that limits the memory and the number of processes of one helper, if the system
// allows us to create one. Supports versions 1 and 2 of the interface, also one controller in each. Does not
// know: what runs in it.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"

namespace tf::worker {

enum class Controller { kPids, kMemory };

// The location of a process's control group for one controller.
struct Hierarchy {
  int version = 0;     // 1 or 2
  std::string folder;  // of the group that the process is in
  std::string top;     // the topmost folder that it sees
};

// Parses the contents of /proc/self/cgroup and /proc/self/mountinfo. NOT_FOUND if the controller has no
// hierarchy of version 1 and there is none of version 2.
absl::StatusOr<Hierarchy> find_hierarchy(Controller controller, std::string_view membership,
                                         std::string_view mounts);

// A unique name for a group. It is unique even among containers that use the same process numbers and see the
// same groups.
std::string group_name(uint64_t pid_namespace, pid_t maker, uint32_t random);
// The process that created the group of this name, if it belongs to this pid namespace; otherwise 0.
pid_t group_maker(std::string_view name, uint64_t pid_namespace);

// A group for each controller, below the group of this process. If that is impossible and this process is
// root, the group is at the top level. The destructor kills all processes in the group and removes it. Not
// thread-safe, except kill_all().
class Cgroup {
 public:
  Cgroup() = default;  // bounds nothing
  Cgroup(Cgroup&& other) noexcept { *this = std::move(other); }
  Cgroup& operator=(Cgroup&& other) noexcept;
  ~Cgroup();

  // Makes `controller` limit the group. Call it before add(). NOT_FOUND if the system does not have the
  // controller, PERMISSION_DENIED if this process may not use it, FAILED_PRECONDITION if other processes
  // share the group of this process.
  absl::Status bound(Controller controller);

  // Moves a process into the group. Processes that it forks later belong to the group, too.
  absl::Status add(pid_t pid);

  // Best effort if the new limit is lower than the current use.
  void limit_memory(uint64_t bytes);
  void limit_processes(uint64_t count);  // threads count, too

  // Kills all processes in the group. Thread-safe.
  void kill_all() const;

 private:
  absl::StatusOr<std::string> group_in(const Hierarchy& hierarchy, Controller controller);
  absl::Status choose_parent(const Hierarchy& hierarchy, Controller controller);

  std::string unified_parent_;  // of our folder in version 2, where one group has both controllers
  std::string name_;            // of our folder, in each hierarchy
  std::string pids_folder_, memory_folder_;  // the same one in version 2; empty: not bounded
  int memory_version_ = 0;
  uint64_t memory_bytes_ = 0, processes_ = 0;  // the limits; 0: none yet
};

}  // namespace tf::worker
