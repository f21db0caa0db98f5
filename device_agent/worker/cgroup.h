#pragma once
// Owns: the control group that bounds the memory and the number of all processes of one helper together,
// where the system lets us make one: version 1 or 2 of the interface, or one controller by each. Does not
// know: what runs in it.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"

namespace tf::worker {

enum class Controller { kPids, kMemory };

// Where a process's groups of one controller lie.
struct Hierarchy {
  int version = 0;     // 1 or 2
  std::string folder;  // of the group that the process is in
  std::string top;     // of all that it sees
};

// From the contents of /proc/self/cgroup and /proc/self/mountinfo. NOT_FOUND if the controller has no
// hierarchy of its own and there is none of version 2.
absl::StatusOr<Hierarchy> find_hierarchy(Controller controller, std::string_view membership,
                                         std::string_view mounts);

// What a group is called: no two are called the same, not even of two containers whose processes have the
// same numbers and that see the same groups.
std::string group_name(uint64_t pid_namespace, pid_t maker, uint32_t random);
// The process that made the group of this name, if it is of this namespace; else 0.
pid_t group_maker(std::string_view name, uint64_t pid_namespace);

// A group for each controller, below the one that this process is in, or at the top where that is impossible
// and the top is ours (root's); gone with the value, after everything in it was killed. Not thread-safe but
// for kill_all().
class Cgroup {
 public:
  Cgroup() = default;  // bounds nothing
  Cgroup(Cgroup&& other) noexcept { *this = std::move(other); }
  Cgroup& operator=(Cgroup&& other) noexcept;
  ~Cgroup();

  // Has `controller` bound the group from now on. Before add(). NOT_FOUND if the system does not have it,
  // PERMISSION_DENIED if it is not ours to use, FAILED_PRECONDITION if it is, but other processes share our
  // group.
  absl::Status bound(Controller controller);

  // Moves a process, with what it will fork, into the group.
  absl::Status add(pid_t pid);

  // Best effort where the new limit is lower and more is in use.
  void limit_memory(uint64_t bytes);
  void limit_processes(uint64_t count);  // threads count, too

  // Kills all that is in it. Thread-safe.
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
