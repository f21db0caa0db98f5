// Loaded into a process before its libraries (LD_PRELOAD): whoever asks for the time of day hears the
// machine's and what the file TF_MOVED_CLOCK adds to it, and who waits until a time of day waits until that
// clock shows it, also if it is set meanwhile. So does the kernel when the machine's clock is set. Clocks
// that never jump are left alone.

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>

namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
// A wait looks at the clock as often: it may have been set.
constexpr int64_t kLookNs = 20'000'000;

template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

int real_clock_gettime(clockid_t clock, timespec* time) {
  static auto* const function = next<int(clockid_t, timespec*)>("clock_gettime");
  return function(clock, time);
}

const int64_t* map_offset() {
  static const int64_t none = 0;
  const char* path = std::getenv("TF_MOVED_CLOCK");
  const int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return &none;
  void* const mapped = mmap(nullptr, sizeof none, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  return mapped == MAP_FAILED ? &none : static_cast<const int64_t*>(mapped);
}

int64_t ahead_ns() {
  static const int64_t* const offset = map_offset();
  return __atomic_load_n(offset, __ATOMIC_RELAXED);
}

int64_t ns_of(const timespec& time) {
  return time.tv_sec * kSecondNs + time.tv_nsec;
}

timespec timespec_of(int64_t ns) {
  return {.tv_sec = ns / kSecondNs, .tv_nsec = ns % kSecondNs};
}

int64_t machine_ns() {
  timespec now{};
  real_clock_gettime(CLOCK_REALTIME, &now);
  return ns_of(now);
}

using SystemCall = long(long, ...);

// FUTEX_WAIT_BITSET until a time of day, with which absl waits, and gRPC with it.
long wait_until(SystemCall& call, const long (&arguments)[6]) {
  const int64_t until_ns = ns_of(*reinterpret_cast<const timespec*>(arguments[3]));
  for (;;) {
    const int64_t now_ns = machine_ns();
    const int64_t left_ns = until_ns - (now_ns + ahead_ns());
    const timespec look = timespec_of(now_ns + std::clamp<int64_t>(left_ns, 0, kLookNs));
    const long code =
        call(SYS_futex, arguments[0], arguments[1], arguments[2], &look, arguments[4], arguments[5]);
    if (code >= 0 || errno != ETIMEDOUT || left_ns <= 0) return code;
  }
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const int code = real_clock_gettime(clock, time);
  const bool is_wall_clock = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
  if (code == 0 && is_wall_clock) *time = timespec_of(ns_of(*time) + ahead_ns());
  return code;
}

int gettimeofday(timeval* time, void*) noexcept {
  const timespec now = timespec_of(machine_ns() + ahead_ns());
  *time = {.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
  return 0;
}

time_t time(time_t* time) noexcept {
  const time_t now = (machine_ns() + ahead_ns()) / kSecondNs;
  if (time) *time = now;
  return now;
}

long syscall(long number, ...) noexcept {
  static auto* const real = next<SystemCall>("syscall");
  long arguments[6];
  va_list list;
  va_start(list, number);
  for (long& argument : arguments) argument = va_arg(list, long);
  va_end(list);
  const int wait = FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME;
  if (number == SYS_futex && (arguments[1] & ~FUTEX_PRIVATE_FLAG) == wait && arguments[3] != 0)
    return wait_until(*real, arguments);
  return real(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
}

}  // extern "C"
