#include "device_agent/worker/sandbox/confine.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <initializer_list>

namespace tf::worker::sandbox {
namespace {

// Beyond the candidate's own limit: this program, its libraries, and the stacks of its threads.
constexpr uint64_t kBaseBytes = 64 << 20;
constexpr uint64_t kThreadBytes = 16 << 20;

int statm_fd = -1;
Result* noted_result = nullptr;

void limit(__rlimit_resource_t resource, uint64_t value) {
  const rlimit both = {value, value};
  setrlimit(resource, &both);
}

// When memory runs short for the whole machine, the kernel is to take the candidate and nobody else.
void volunteer_for_oom_killer() {
  const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  if (write(fd, "1000", 4) != 4) { /* not allowed: nothing else to do */
  }
  close(fd);
}

void on_fatal_signal(int signal_number) {
  noted_result->fault_address_bytes = address_space_bytes();
  signal(signal_number, SIG_DFL);
  syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), signal_number);
}

#if defined(__x86_64__)
constexpr uint32_t kArch = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArch = AUDIT_ARCH_AARCH64;
#elif defined(__arm__)
constexpr uint32_t kArch = AUDIT_ARCH_ARM;
#elif defined(__riscv) && __riscv_xlen == 64
constexpr uint32_t kArch = AUDIT_ARCH_RISCV64;
#else
constexpr uint32_t kArch = 0;
#endif

constexpr uint32_t kAllowed[] = {
    SYS_read,
    SYS_pread64,
    SYS_write,
    SYS_writev,
    SYS_close,
    SYS_lseek,
    SYS_fstat,
#ifdef SYS_newfstatat
    SYS_newfstatat,
#endif
#ifdef SYS_fstatat64
    SYS_fstatat64,
    SYS_fstat64,
#endif
#ifdef SYS_mmap
    SYS_mmap,
#endif
#ifdef SYS_mmap2
    SYS_mmap2,
#endif
    SYS_munmap,
    SYS_mremap,
    SYS_mprotect,
    SYS_madvise,
    SYS_brk,
    SYS_futex,
    SYS_sched_yield,
    SYS_sched_getaffinity,
#ifdef SYS_futex_time64
    SYS_futex_time64,
    SYS_clock_gettime64,
    SYS_clock_nanosleep_time64,
#endif
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_gettimeofday,
    SYS_nanosleep,
    SYS_clock_nanosleep,
    SYS_restart_syscall,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_sigaltstack,
    SYS_getpid,
    SYS_gettid,
    SYS_getrandom,
    SYS_membarrier,
    SYS_set_robust_list,
    SYS_exit,
    SYS_exit_group,
};

// A classic BPF program as it grows.
class Filter {
 public:
  void add(sock_filter step) { steps_[count_++] = step; }
  void allow_if_equal(uint32_t value) {
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1));
    add(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  }
  bool install() const {
    const sock_fprog program = {count_, const_cast<sock_filter*>(steps_)};
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
  }

 private:
  sock_filter steps_[32 + 2 * sizeof kAllowed / sizeof kAllowed[0]];
  uint16_t count_ = 0;
};

}  // namespace

uint64_t address_space_bytes() {
  char text[64];
  const ssize_t length = statm_fd < 0 ? 0 : pread(statm_fd, text, sizeof text, 0);
  uint64_t pages = 0;
  for (ssize_t i = 0; i < length && text[i] >= '0' && text[i] <= '9'; ++i)
    pages = pages * 10 + (text[i] - '0');
  return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

void confine_resources(const Job& job, uint64_t shared_bytes, Result* result) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  prctl(PR_SET_DUMPABLE, 1);  // /proc/self must stay readable: the candidate is opened through it
  volunteer_for_oom_killer();
  pin(0, job.ready_cpus);
  statm_fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  const uint64_t timeout_s = static_cast<uint64_t>(job.timeout_ns / 1'000'000'000) + 2;
  limit(RLIMIT_CPU, timeout_s * job.threads);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, 0);
  limit(RLIMIT_NOFILE, 32);
  limit(RLIMIT_MEMLOCK, 0);
  limit(RLIMIT_STACK, 8 << 20);
  result->limit_address_bytes = job.memory_bytes + shared_bytes + kBaseBytes + kThreadBytes * job.threads;
  limit(RLIMIT_AS, result->limit_address_bytes);
}

void pin(pid_t process, const CpuSet& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (uint32_t cpu = 0; cpu < kCpuWords * 64 && cpu < CPU_SETSIZE; ++cpu) {
    if (cpus.words[cpu / 64] >> (cpu % 64) & 1) CPU_SET(cpu, &set);
  }
  if (CPU_COUNT(&set) > 0) sched_setaffinity(process, sizeof set, &set);
}

bool note_fatal_signals(Result* result) {
  constexpr size_t kStackBytes = 64 << 10;
  void* memory = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  noted_result = result;
  stack_t stack = {};
  stack.ss_sp = memory;
  stack.ss_size = kStackBytes;
  if (sigaltstack(&stack, nullptr) != 0) return false;
  struct sigaction action = {};
  action.sa_handler = on_fatal_signal;
  action.sa_flags = static_cast<int>(SA_ONSTACK | SA_NODEFER | SA_RESETHAND);
  for (int fatal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS, SIGTRAP}) {
    if (sigaction(fatal, &action, nullptr) != 0) return false;
  }
  return true;
}

bool confine_system_calls(SystemCalls allowed) {
  if (kArch == 0) return false;
  Filter filter;
  filter.add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)));
  filter.add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArch, 1, 0));
  filter.add(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
  filter.add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
  for (uint32_t call : kAllowed) filter.allow_if_equal(call);
  if (allowed == SystemCalls::kLoading) {
    filter.allow_if_equal(SYS_seccomp);
    // openat(folder, path, flags) to read only.
    filter.add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 4));
    filter.add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])));
    filter.add(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC, 1, 0));
    filter.add(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    filter.add(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
  }
  // abort() and raise() signal the process itself; tgkill(pid, …) with any other pid is refused.
  filter.add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_tgkill, 0, 3));
  filter.add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[0])));
  filter.allow_if_equal(static_cast<uint32_t>(getpid()));
  filter.add(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
  return filter.install();
}

}  // namespace tf::worker::sandbox
