#include "device_agent/worker/sandbox/system_calls.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <iterator>
#include <memory>

namespace tf::worker::sandbox {
namespace {

// In both lists. By name: what a system does not have is left out.
constexpr const char* kAlways[] = {
    // memory
    "munmap", "mremap", "madvise", "brk",
    // threads that are there
    "futex", "futex_time64", "sched_yield", "sched_getaffinity", "membarrier", "set_robust_list", "gettid",
    "getpid",
    // time
    "clock_gettime", "clock_gettime64", "clock_getres", "clock_getres_time64", "gettimeofday", "nanosleep",
    "clock_nanosleep", "clock_nanosleep_time64", "restart_syscall",
    // its own signals: abort, and the note when it dies of one (confine.h)
    "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigreturn", "sigaltstack", "tgkill", "pread64",
    // printing; stdio asks what it prints to
    "write", "writev", "fstat", "fstat64", "newfstatat", "fstatat64", "statx", "lseek", "_llseek",
    "getrandom", "exit", "exit_group"};

constexpr const char* kWhileLoading[] = {"read", "close", "mmap", "mmap2", "mprotect", "seccomp"};

// Once it computes, memory that is executable was so before.
constexpr const char* kNoNewCode[] = {"mmap", "mmap2", "mprotect"};

using Filter = std::unique_ptr<void, decltype(&seccomp_release)>;

// Adds up errors as libseccomp gives them: 0, or the first negative errno.
class Rules {
 public:
  explicit Rules(scmp_filter_ctx filter) : filter_(filter) {}
  void allow(const char* name) { add(name, {}, 0); }
  // With none of these bits in its third argument.
  void allow_without(const char* name, uint64_t bits) {
    add(name, {.arg = 2, .op = SCMP_CMP_MASKED_EQ, .datum_a = bits, .datum_b = 0}, 1);
  }
  int error() const { return error_; }

 private:
  void add(const char* name, scmp_arg_cmp condition, unsigned conditions) {
    const int number = seccomp_syscall_resolve_name(name);
    if (number == __NR_SCMP_ERROR || error_ != 0) return;
    error_ = seccomp_rule_add_array(filter_, SCMP_ACT_ALLOW, number, conditions, &condition);
  }

  scmp_filter_ctx filter_;
  int error_ = 0;
};

int add_rules(scmp_filter_ctx filter, SystemCalls allowed) {
  Rules rules(filter);
  for (const char* name : kAlways) rules.allow(name);
  if (allowed == SystemCalls::kLoading) {
    for (const char* name : kWhileLoading) rules.allow(name);
    rules.allow_without("openat", O_WRONLY | O_RDWR | O_CREAT | O_TRUNC);
  } else {
    for (const char* name : kNoNewCode) rules.allow_without(name, PROT_EXEC);
  }
  return -rules.error();
}

// Made once and installed as it is, so that a child does not pay for libseccomp's making it.
struct Program {
  sock_filter steps[1024];
  uint16_t count = 0;
};
Program loading_program, computing_program;

int make_program(SystemCalls allowed, Program* program) {
  const Filter filter(seccomp_init(SCMP_ACT_ERRNO(EPERM)), seccomp_release);
  if (filter == nullptr) return ENOMEM;
  // Calls by another architecture's numbers could mean anything.
  int error = -seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
  if (error == 0) error = add_rules(filter.get(), allowed);
  if (error != 0) return error;
  const int file = memfd_create("tf_system_calls", MFD_CLOEXEC);
  if (file < 0) return errno;
  error = -seccomp_export_bpf(filter.get(), file);
  const ssize_t bytes = pread(file, program->steps, sizeof program->steps, 0);
  close(file);
  if (error != 0) return error;
  if (bytes <= 0 || bytes == sizeof program->steps) return E2BIG;
  program->count = static_cast<uint16_t>(static_cast<size_t>(bytes) / sizeof(sock_filter));
  return 0;
}

// Where the kernel would slow a filtered process down lest it reads what other processes do: a candidate has
// no secrets to find, and its time must be that of any program.
constexpr unsigned kFlags = SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_SPEC_ALLOW;

int install(const Program& program) {
  const sock_fprog whole = {program.count, const_cast<sock_filter*>(program.steps)};
  const long result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, kFlags, &whole);
  return result == 0 ? 0 : result < 0 ? errno : ESRCH;  // above 0: a thread that has other filters
}

// abort() and raise() signal the process itself; no list that is made before the fork can know its number.
int install_no_signals_to_others() {
  const Filter filter(seccomp_init(SCMP_ACT_ALLOW), seccomp_release);
  if (filter == nullptr) return ENOMEM;
  int error = -seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_TSYNC, 1);
  if (error == 0) error = -seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_SSB, 1);  // as kFlags
  const scmp_arg_cmp not_self = {
      .arg = 0, .op = SCMP_CMP_NE, .datum_a = static_cast<uint64_t>(getpid()), .datum_b = 0};
  if (error == 0)
    error = -seccomp_rule_add_array(filter.get(), SCMP_ACT_ERRNO(EPERM), SCMP_SYS(tgkill), 1, &not_self);
  return error != 0 ? error : -seccomp_load(filter.get());
}

}  // namespace

int prepare_system_call_lists() {
  const int error = make_program(SystemCalls::kLoading, &loading_program);
  return error != 0 ? error : make_program(SystemCalls::kComputing, &computing_program);
}

int confine_system_calls(SystemCalls allowed) {
  if (allowed == SystemCalls::kComputing) return install(computing_program);
  const int error = install_no_signals_to_others();
  return error != 0 ? error : install(loading_program);
}

}  // namespace tf::worker::sandbox
