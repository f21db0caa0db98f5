#include "device_agent/worker/sandbox/namespaces.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <iterator>

#include "base/machine/child_process.h"

namespace tf::worker::sandbox {
namespace {

constexpr unsigned kNobody = 65534;

constexpr struct {
  Capability capability;
  int flag;
} kNamespaces[] = {
    {Capability::kPidNamespace, CLONE_NEWPID}, {Capability::kNetNamespace, CLONE_NEWNET},
    {Capability::kIpcNamespace, CLONE_NEWIPC}, {Capability::kMountNamespace, CLONE_NEWNS},
    {Capability::kUtsNamespace, CLONE_NEWUTS},
};

int error_of(int64_t result) {
  return result < 0 ? errno : 0;
}

// The owner of nothing. Refused in a container that knows no such user: then it stays that container's root.
void become_nobody() {
  if (setgroups(0, nullptr) != 0 || setresgid(kNobody, kNobody, kNobody) != 0) return;
  if (setresuid(kNobody, kNobody, kNobody) != 0) return;
  prctl(PR_SET_DUMPABLE, 1);  // else /proc/self, which is needed below, belongs to root
}

int write_file(const char* path, const char* text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  const int error = error_of(write(fd, text, std::strlen(text)));
  close(fd);
  return error;
}

// Where it is the user that it was, and nobody else exists.
int enter_user_namespace() {
  char user[48], group[48];
  std::snprintf(user, sizeof user, "%u %u 1", geteuid(), geteuid());
  std::snprintf(group, sizeof group, "%u %u 1", getegid(), getegid());
  if (unshare(CLONE_NEWUSER) != 0) return errno;
  if (const int error = write_file("/proc/self/uid_map", user); error != 0) return error;
  write_file("/proc/self/setgroups", "deny");  // kernels that do not have the file do not ask for it
  return write_file("/proc/self/gid_map", group);
}

// Nor lets anybody of its own kind trace it: its children must make themselves readable again.
void give_up_capabilities() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  syscall(SYS_capset, &header, none);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  prctl(PR_SET_DUMPABLE, 0);
}

// The caller stays outside as the one whom the worker knows. Of its first process an errno, else 0.
int become_first_process() {
  const pid_t pid = fork();
  if (pid < 0) return errno;
  if (pid == 0) return 0;
  // The same user as its child will be, or its death would have no right to end that one.
  if (geteuid() == 0) become_nobody();
  give_up_capabilities();
  // Whoever is at the socket's other end is to see the first process end.
  for (int fd = 0; fd < 64; ++fd) close(fd);
  const int status = wait_for_end(pid);
  _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

// Of the processes' folder, this namespace's own where the system lets us, with nothing but processes in it.
int mount_proc(const char* at, bool own_processes) {
  constexpr unsigned long kPlain = MS_NOSUID | MS_NODEV | MS_NOEXEC;
  if (own_processes && mount("proc", at, "proc", kPlain, "subset=pid") == 0) return 0;
  if (own_processes && mount("proc", at, "proc", kPlain, nullptr) == 0) return 0;  // before Linux 5.8
  return error_of(mount("/proc", at, nullptr, MS_BIND | MS_REC, nullptr));
}

// Makes what is mounted in the working folder the root. Where the root is the kernel's first file system,
// which cannot be left, it is covered.
int make_root() {
  if (syscall(SYS_pivot_root, ".", ".") == 0) {
    if (umount2(".", MNT_DETACH) != 0) return errno;
  } else if (mount(".", "/", nullptr, MS_MOVE, nullptr) != 0 || chroot(".") != 0) {
    return errno;
  }
  return error_of(chdir("/"));
}

// A root folder with /proc and nothing else: glibc opens a candidate by /proc/self/fd.
int leave_file_system(bool own_processes) {
  constexpr unsigned long kPlain = MS_NOSUID | MS_NODEV | MS_NOEXEC;
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return errno;
  int error = ENOENT;
  for (const char* folder : {"/tmp", "/run", "/mnt", "/var"}) {
    if (chdir(folder) != 0) continue;
    error = error_of(mount("none", folder, "tmpfs", kPlain, "size=64k,nr_inodes=16,mode=755"));
    if (error == 0) error = error_of(chdir(folder));  // the mounted one
    if (error == 0) break;
  }
  if (error != 0) return error;
  if (mkdir("proc", 0555) != 0) return errno;
  if (error = mount_proc("proc", own_processes); error != 0) return error;
  if (error = make_root(); error != 0) return error;
  return error_of(mount(nullptr, "/", nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | kPlain, nullptr));
}

// A folder of /tmp that drivers' libraries lie in.
struct LibraryFolder {
  char path[4096];
  int fd;
};

int open_library_folders(LibraryFolder* folders, int most) {
  int count = 0;
  const char* at = std::getenv("LD_LIBRARY_PATH");
  while (at != nullptr && *at != 0 && count < most) {
    const size_t length = std::strcspn(at, ":");
    LibraryFolder& folder = folders[count];
    if (length < sizeof folder.path && std::strncmp(at, "/tmp/", 5) == 0 && length > 5) {
      std::snprintf(folder.path, sizeof folder.path, "%.*s", static_cast<int>(length), at);
      folder.fd = open(folder.path, O_PATH | O_DIRECTORY | O_CLOEXEC);
      if (folder.fd >= 0) ++count;
    }
    at += length + (at[length] == ':' ? 1 : 0);
  }
  return count;
}

// Where it was, for reading, below a /tmp that is empty. Whether it could be: a library that is not found is the driver's to tell.
void show_again(LibraryFolder& folder) {
  for (char* slash = folder.path + 5; (slash = std::strchr(slash, '/')) != nullptr; ++slash) {
    *slash = 0;
    mkdir(folder.path, 0755);
    *slash = '/';
  }
  mkdir(folder.path, 0755);
  char from[32];
  std::snprintf(from, sizeof from, "/proc/self/fd/%d", folder.fd);
  constexpr unsigned long kReadOnly = MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV;
  if (mount(from, folder.path, nullptr, MS_BIND, nullptr) == 0 &&
      mount(nullptr, folder.path, nullptr, kReadOnly, nullptr) != 0)
    umount2(folder.path, MNT_DETACH);  // below /tmp all may write
  close(folder.fd);
}

// Drivers compile to files and load them again, so that it may hold programs.
int make_private_tmp() {
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return errno;
  static LibraryFolder folders[8];
  const int count = open_library_folders(folders, static_cast<int>(std::size(folders)));
  if (mount("none", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "size=512m,mode=1777") != 0) return errno;
  for (int i = 0; i < count; ++i) show_again(folders[i]);
  return 0;
}

}  // namespace

void enter_namespaces(CapabilitySet without, Hello* hello, FileSystem left) {
  const bool was_root = geteuid() == 0;
  if (!without.contains(Capability::kUserNamespace)) {
    if (was_root) become_nobody();
    (*hello)[Capability::kUserNamespace] = enter_user_namespace();
  }
  for (const auto& [capability, flag] : kNamespaces) {
    if (!without.contains(capability)) (*hello)[capability] = error_of(unshare(flag));
  }
  const auto entered = [&](Capability capability) {
    return !without.contains(capability) && (*hello)[capability] == 0;
  };
  if (entered(Capability::kPidNamespace)) (*hello)[Capability::kPidNamespace] = become_first_process();
  if (entered(Capability::kMountNamespace))
    (*hello)[Capability::kMountNamespace] = left == FileSystem::kNone
                                                ? leave_file_system(entered(Capability::kPidNamespace))
                                                : make_private_tmp();
  if (was_root && without.contains(Capability::kUserNamespace)) become_nobody();
  give_up_capabilities();
  // Last: the system forgets it where a process becomes another user.
  if (entered(Capability::kPidNamespace)) prctl(PR_SET_PDEATHSIG, SIGKILL);
}

}  // namespace tf::worker::sandbox
