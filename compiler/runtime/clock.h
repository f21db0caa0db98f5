#ifndef TF_RUNTIME_CLOCK_H
#define TF_RUNTIME_CLOCK_H
/* Owns: the monotonic clock that kernels, models and candidates are timed with. */

#include <stdint.h>
#include <time.h>

/* Nanoseconds since an arbitrary start; never steps back. Safe in signal handlers and on any thread. */
static inline int64_t tf_monotonic_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

#endif
