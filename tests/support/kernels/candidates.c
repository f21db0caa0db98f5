/* Candidates for the sandboxed worker: Y[M,N] = X[M,K] * W[K,N] in float, done well, done wrongly, and not
 * done at all. dims are M, N, K; buffers are X, W, Y (and the magnitude, for the reference). */
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "compiler/runtime/kernel_abi.h"

static int32_t multiply_row(void* closure, int64_t m, int32_t thread) {
  const tf_call* call = (const tf_call*)closure;
  const int64_t columns = call->dims[1], depth = call->dims[2];
  const float* x = (const float*)call->buffers[0] + m * depth;
  const float* w = (const float*)call->buffers[1];
  float* y = (float*)call->buffers[2] + m * columns;
  (void)thread;
  for (int64_t n = 0; n < columns; ++n) y[n] = 0;
  for (int64_t k = 0; k < depth; ++k) {
    for (int64_t n = 0; n < columns; ++n) y[n] += x[k] * w[k * columns + n];
  }
  return 0;
}

int32_t good(const tf_call* call) {
  if (call->abi_version != TF_ABI_VERSION) return TF_KERNEL_BAD_ABI;
  return call->runtime->parallel_for(call->runtime, call->dims[0], multiply_row, (void*)call);
}

int32_t reference(const tf_call* call) {
  const int64_t rows = call->dims[0], columns = call->dims[1], depth = call->dims[2];
  const float* x = (const float*)call->buffers[0];
  const float* w = (const float*)call->buffers[1];
  for (int64_t m = 0; m < rows; ++m) {
    for (int64_t n = 0; n < columns; ++n) {
      double sum = 0, magnitude = 0;
      for (int64_t k = 0; k < depth; ++k) {
        const double product = (double)x[m * depth + k] * w[k * columns + n];
        sum += product;
        magnitude += fabs(product);
      }
      ((float*)call->buffers[2])[m * columns + n] = (float)sum;
      ((float*)call->buffers[3])[m * columns + n] = (float)magnitude;
    }
  }
  return 0;
}

int32_t reference_with_an_infinite_magnitude(const tf_call* call) {
  const int32_t error = reference(call);
  ((float*)call->buffers[3])[1] = INFINITY;
  return error;
}

int32_t reference_that_writes_nothing(const tf_call* call) {
  (void)call;
  return 0;
}

/* As good(), for W in the layout "0,1,1:4". */
int32_t good_packed(const tf_call* call) {
  const int64_t rows = call->dims[0], columns = call->dims[1], depth = call->dims[2],
                blocks = (columns + 3) / 4;
  const float* x = (const float*)call->buffers[0];
  const float* w = (const float*)call->buffers[1];
  for (int64_t m = 0; m < rows; ++m) {
    for (int64_t n = 0; n < columns; ++n) {
      float sum = 0;
      for (int64_t k = 0; k < depth; ++k) sum += x[m * depth + k] * w[(k * blocks + n / 4) * 4 + n % 4];
      ((float*)call->buffers[2])[m * columns + n] = sum;
    }
  }
  return 0;
}

int32_t uses_workspace(const tf_call* call) {
  memset(call->workspace, 1, 64 + 128 * (size_t)call->runtime->threads);
  return good(call);
}

int32_t wrong(const tf_call* call) {
  const int32_t error = good(call);
  ((float*)call->buffers[2])[3] += 0.5f;
  return error;
}

int32_t writes_nothing(const tf_call* call) {
  (void)call;
  return 0;
}

/* Right in the checked run, lazy afterwards. */
int32_t works_once(const tf_call* call) {
  static int runs;
  return runs++ == 0 ? good(call) : 0;
}

/* Right in the checked run and the first of the warm-up. */
int32_t works_twice(const tf_call* call) {
  static int runs;
  return runs++ < 2 ? good(call) : wrong(call);
}

int32_t changes_its_input(const tf_call* call) {
  const int32_t error = good(call);
  ((float*)call->buffers[0])[0] = 42;
  return error;
}

int32_t writes_a_bit_too_far(const tf_call* call) {
  const int32_t error = good(call);
  ((char*)call->buffers[2])[call->sizes_bytes[2]] = 1;
  return error;
}

int32_t writes_far_too_far(const tf_call* call) {
  const int32_t error = good(call);
  ((volatile char*)call->buffers[2])[call->sizes_bytes[2] + 64] = 1;
  return error;
}

int32_t returns_an_error(const tf_call* call) {
  (void)call;
  return TF_KERNEL_SHORT_BUFFER;
}

int32_t segfaults(const tf_call* call) {
  (void)call;
  *(volatile int*)16 = 1;
  return 0;
}

int32_t aborts(const tf_call* call) {
  (void)call;
  abort();
}

static volatile int never;

int32_t spins(const tf_call* call) {
  (void)call;
  while (!never) {
  }
  return 0;
}

int32_t takes_20_ms(const tf_call* call) {
  struct timespec begin, now;
  (void)call;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do {
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((int64_t)(now.tv_sec - begin.tv_sec) * 1000000000 + (now.tv_nsec - begin.tv_nsec) < 20000000);
  return 0;
}

int32_t sleeps(const tf_call* call) {
  const struct timespec long_time = {1000, 0};
  (void)call;
  nanosleep(&long_time, NULL);
  return 0;
}

int32_t allocates_without_end(const tf_call* call) {
  (void)call;
  for (;;) memset(malloc(1 << 20), 1, 1 << 20);
}

int32_t recurses_without_end(const tf_call* call) {
  volatile char frame[4096];
  frame[0] = 1;
  return recurses_without_end(call) + frame[0];
}

int32_t floods(const tf_call* call) {
  for (int i = 0; i < 100000; ++i) printf("line %d of a flood\n", i);
  return good(call);
}

int32_t exits(const tf_call* call) {
  (void)call;
  exit(3);
}

int32_t divides_by_zero(const tf_call* call) {
  volatile int zero = (int)call->dims[0] * 0;
  return (int)call->dims[1] / zero;
}

/* Each attempt to reach beyond the process must fail; then it computes, so that "ok" means that all failed.
 */
int32_t reaches_out(const tf_call* call) {
  if (open("/tmp/tf_candidate_was_here", O_WRONLY | O_CREAT, 0600) >= 0) return 11;
  if (open("/etc/passwd", O_RDONLY) >= 0) return 12;
  if (socket(AF_INET, SOCK_STREAM, 0) >= 0) return 13;
  if (kill(getppid(), SIGKILL) == 0) return 14;
  if (syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) == 0) return 15;
  if (execl("/bin/true", "true", (char*)0) == 0) return 16;
  return good(call);
}

/* Writes nonsense into every pipe that it finds, the one that tells the parent about timing among them. */
int32_t scribbles_on_descriptors(const tf_call* call) {
  for (int fd = 3; fd < 32; ++fd) {
    struct stat file;
    if (fstat(fd, &file) == 0 && S_ISFIFO(file.st_mode) && write(fd, "BEBEBE", 6) < 0) return 17;
  }
  return good(call);
}
