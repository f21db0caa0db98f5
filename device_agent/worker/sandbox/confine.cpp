#include "device_agent/worker/sandbox/confine.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <initializer_list>

#include "device_agent/worker/sandbox/file_access.h"

namespace tf::worker::sandbox {
namespace {

// Beyond the candidate's own limit and that of its threads: this program and its libraries.
constexpr uint64_t kBaseBytes = 64 << 20;

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

}  // namespace

uint64_t address_space_bytes() {
  char text[64];
  const ssize_t length = statm_fd < 0 ? 0 : pread(statm_fd, text, sizeof text, 0);
  uint64_t pages = 0;
  for (ssize_t i = 0; i < length && text[i] >= '0' && text[i] <= '9'; ++i)
    pages = pages * 10 + (text[i] - '0');
  return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

int confine_resources(const Job& job, CapabilitySet without, uint64_t shared_bytes, Result* result) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_DUMPABLE, 1);  // /proc/self must be readable: the candidate is opened through it
  volunteer_for_oom_killer();
  pin(0, job.ready_cpus);
  statm_fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, 0);
  limit(RLIMIT_NOFILE, 32);
  limit(RLIMIT_MEMLOCK, 0);
  limit(RLIMIT_STACK, 8 << 20);
  result->limit_address_bytes = job.memory_bytes + shared_bytes + kBaseBytes + kThreadBytes * job.threads;
  limit(RLIMIT_AS, result->limit_address_bytes);
  return without.contains(Capability::kLandlock) ? 0 : forbid_files();
}

void limit_cpu_time(const Job& job) {
  timespec used = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  const uint64_t timeout_s = static_cast<uint64_t>(job.timeout_ns / 1'000'000'000) + 2;
  limit(RLIMIT_CPU, static_cast<uint64_t>(used.tv_sec) + 1 + timeout_s * job.threads);
}

void forbid_processes() {
  limit(RLIMIT_NPROC, 0);  // what is there stays
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

}  // namespace tf::worker::sandbox
