/* Candidates that reach beyond their process, as those of candidates.c. Each attempt of an entry must fail:
 * then it computes as good(), so that "ok" means that nothing was let out; else it returns a number that
 * names the attempt. Others do not come back at all. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "compiler/runtime/kernel_abi.h"

int32_t good(const tf_call* call);

int32_t ignores_every_signal(const tf_call* call) {
  sigset_t all;
  (void)call;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, NULL);
  for (int number = 1; number < 64; ++number) signal(number, SIG_IGN);
  for (;;) raise(SIGTERM);
}

static void do_nothing(int number) {
  (void)number;
}

/* The handler returns to what faults, again and again. */
int32_t faults_for_ever(const tf_call* call) {
  (void)call;
  signal(SIGSEGV, do_nothing);
  *(volatile int*)16 = 1;
  return 0;
}

/* Back into a call that has returned long ago. */
int32_t jumps_back(const tf_call* call) {
  static jmp_buf first;
  static int calls;
  const int32_t error = good(call);
  if (calls++ == 0) {
    if (setjmp(first) != 0) return 20;
  } else {
    longjmp(first, 1);
  }
  return error;
}

int32_t exits_as_if_done(const tf_call* call) {
  (void)call;
  exit(0);
}

int32_t bombs_with_processes(const tf_call* call) {
  for (int i = 0; i < 4096; ++i) {
    const pid_t pid = fork();
    if (pid == 0) {
      for (;;) fork();
    }
    if (pid > 0) return 21;
  }
  return good(call);
}

int32_t leaves_a_child_behind(const tf_call* call) {
  if (syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) >= 0) return 22;
#ifdef SYS_vfork
  if (syscall(SYS_vfork) >= 0) _exit(23);
#endif
  if (setsid() >= 0) return 24;
  return good(call);
}

static int fill(int file) {
  static char chunk[1 << 20];
  int filled = 0;
  if (file < 0) return 0;
  for (int i = 0; i < 4096; ++i) {
    const ssize_t length = write(file, chunk, sizeof chunk);
    if (length <= 0) break;
    filled = 1;
  }
  return filled;
}

int32_t fills_the_disk(const tf_call* call) {
  static const char* const paths[] = {"/tmp/tf_candidate_was_here", "/var/tmp/tf_candidate_was_here",
                                      "/dev/shm/tf_candidate_was_here", "tf_candidate_was_here",
                                      "/tf_candidate_was_here"};
  for (size_t i = 0; i < sizeof paths / sizeof *paths; ++i) {
    if (fill(open(paths[i], O_WRONLY | O_CREAT, 0600))) return 25;
  }
  if (fill((int)syscall(SYS_memfd_create, "tf", 0))) return 26;
  if (mkdir("/tmp/tf_candidate_folder", 0700) == 0) return 27;
  return good(call);
}

int32_t opens_sockets(const tf_call* call) {
  int pair[2];
  static const int families[] = {AF_INET, AF_INET6, AF_UNIX, AF_NETLINK, AF_PACKET};
  for (size_t i = 0; i < sizeof families / sizeof *families; ++i) {
    if (socket(families[i], SOCK_DGRAM, 0) >= 0) return 28;
  }
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0) return 29;
#ifdef SYS_io_uring_setup
  char parameters[256] = {0};
  if (syscall(SYS_io_uring_setup, 4, parameters) >= 0) return 30;
#endif
  return good(call);
}

int32_t traces_others(const tf_call* call) {
  char path[64], byte = 0;
  const struct iovec here = {&byte, 1}, there = {(void*)call, 1};
  const pid_t parent = getppid() > 0 ? getppid() : 1;
  if (ptrace(PTRACE_ATTACH, parent, NULL, NULL) == 0) return 31;
  if (ptrace(PTRACE_SEIZE, parent, NULL, NULL) == 0) return 32;
  if (process_vm_readv(parent, &here, 1, &there, 1, 0) >= 0) return 33;
  snprintf(path, sizeof path, "/proc/%d/mem", (int)parent);
  if (open(path, O_RDWR) >= 0 || open(path, O_RDONLY) >= 0) return 34;
  return good(call);
}

/* Of those whom it might reach, none may be hurt: who asked notices. */
int32_t kills_everybody(const tf_call* call) {
  kill(-1, SIGKILL);
  kill(-1, SIGSTOP);
  kill(getppid(), SIGKILL);
  kill(1, SIGKILL);
  kill(0, SIGTERM);
  syscall(SYS_tgkill, 1, 1, SIGKILL);
  syscall(SYS_tkill, 1, SIGKILL);
  return good(call);
}

int32_t writes_its_own_code(const tf_call* call) {
  const long page = sysconf(_SC_PAGESIZE);
  char* const code = (char*)((uintptr_t)good & -(uintptr_t)page);
  if (open("/proc/self/mem", O_RDWR) >= 0) return 35;
  if (mmap(NULL, (size_t)page, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
      MAP_FAILED)
    return 36;
  if (mprotect(code, (size_t)page, PROT_READ | PROT_WRITE | PROT_EXEC) == 0) return 37;
  return good(call);
}

int32_t reads_files(const tf_call* call) {
  static const char* const paths[] = {"/etc/passwd",
                                      "/etc/hostname",
                                      "/proc/1/environ",
                                      "/proc/self/environ",
                                      "/proc/self/maps",
                                      "/proc/self/exe",
                                      "/",
                                      "/proc"};
  for (size_t i = 0; i < sizeof paths / sizeof *paths; ++i) {
    if (open(paths[i], O_RDONLY) >= 0) return 38;
  }
  return good(call);
}

int32_t asks_for_more(const tf_call* call) {
  const struct sched_param urgent = {1};
  cpu_set_t all;
  struct rlimit none;
  memset(&all, 0xff, sizeof all);
  if (setpriority(PRIO_PROCESS, 0, -5) == 0) return 39;
  if (sched_setaffinity(0, sizeof all, &all) == 0) return 40;
  if (sched_setscheduler(0, SCHED_FIFO, &urgent) == 0) return 41;
  none.rlim_cur = none.rlim_max = RLIM_INFINITY;
  if (setrlimit(RLIMIT_AS, &none) == 0) return 42;
  if (setuid(0) == 0) return 43;
  if (unshare(CLONE_NEWUSER) == 0) return 44;
  if (mount("none", "/proc", "tmpfs", 0, NULL) == 0) return 45;
#ifdef SYS_bpf
  if (syscall(SYS_bpf, 0, NULL, 0) >= 0 || errno == EFAULT) return 46;
#endif
  return good(call);
}

/* Of a computing candidate's descriptors none can be closed; a constructor's can (constructor.c). */
int32_t closes_descriptors(const tf_call* call) {
  for (int fd = 0; fd < 1024; ++fd) {
    if (close(fd) == 0) return 47;
  }
  return good(call);
}

int32_t floods_for_ever(const tf_call* call) {
  static char chunk[4096];
  (void)call;
  memset(chunk, 'x', sizeof chunk);
  for (;;) {
    if (write(2, chunk, sizeof chunk) < 0) return 48;
  }
}

/* As device_agent/worker/sandbox/job.h has it: a test holds them together. */
struct forged_result {
  uint32_t end;
  int32_t kernel_error;
  uint32_t sample_count, timed, disturbed;
  uint64_t limit_address_bytes, start_address_bytes, fault_address_bytes;
  double peak_gflops;
  char detail[256];
  struct {
    int64_t total_ns;
    uint32_t iterations;
  } samples[1000];
};
enum { forged_answers_at = 16384, end_done = 1, end_cannot_measure = 7 };

/* The kernel looks at the address before it finds that there is no such operation. */
static int is_readable(const void* address) {
  return syscall(SYS_rt_sigprocmask, 99, address, NULL, 8) != 0 && errno == EINVAL;
}

static int looks_like_result(const struct forged_result* result) {
  return ((uintptr_t)result & 4095) == 0 && is_readable(result) && result->end == 0 &&
         result->sample_count == 0 && result->limit_address_bytes > (64u << 20) &&
         result->limit_address_bytes < (1ull << 40) && result->start_address_bytes > 0;
}

/* Where the harness keeps what it tells the parent: it has pointers to it near the stack's frames. */
static struct forged_result* find_result(void) {
  for (uintptr_t* frame = (uintptr_t*)__builtin_frame_address(0); is_readable(frame); ++frame) {
    uintptr_t* const object = (uintptr_t*)(*frame & -(uintptr_t)sizeof(uintptr_t));
    if (looks_like_result((struct forged_result*)*frame)) return (struct forged_result*)*frame;
    if (object == NULL || !is_readable(object) || !is_readable(object + 8)) continue;
    for (int i = 0; i < 8; ++i) {
      if (looks_like_result((struct forged_result*)object[i])) return (struct forged_result*)object[i];
    }
  }
  return NULL;
}

/* Ends at once with right answers and three samples that were never taken. */
static int32_t forge(const tf_call* call, uint32_t end, int64_t total_ns, uint32_t iterations) {
  struct forged_result* const result = find_result();
  const size_t bytes = call->sizes_bytes[2];
  struct stat file;
  if (result == NULL) return 49;
  if (good(call) != 0) return 50;
  memcpy((char*)result + forged_answers_at, call->buffers[2], bytes);
  memcpy((char*)result + forged_answers_at + bytes, call->buffers[2], bytes);
  for (int i = 0; i < 3; ++i) {
    result->samples[i].total_ns = total_ns;
    result->samples[i].iterations = iterations;
  }
  result->sample_count = 3;
  result->timed = 1;
  result->end = end;
  for (int fd = 3; fd < 32; ++fd) {
    if (fstat(fd, &file) == 0 && S_ISFIFO(file.st_mode) && write(fd, "BE", 2) < 0) return 51;
  }
  _exit(0);
}

int32_t forges_fast_samples(const tf_call* call) {
  return forge(call, end_done, 1000, 1000000);
}

int32_t forges_more_time_than_there_was(const tf_call* call) {
  return forge(call, end_done, 10000000000, 1000000);
}

int32_t forges_trouble_of_ours(const tf_call* call) {
  return forge(call, end_cannot_measure, 1, 1);
}
