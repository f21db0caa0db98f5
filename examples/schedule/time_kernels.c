/* Runs kernels of the workload matmul.workload, checks their answers against plain loops, and prints their times.
 * Usage: time_kernels KERNEL.so… */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "kernel_abi.h"

enum { N = 256, RUNS = 20 };

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Both kernels have one thread, so nothing ever asks this runtime to run a parallel loop. */
static const tf_runtime kOneThread = {.threads = 1};

static double largest_error(const float* a, const float* b, const float* c) {
  double worst = 0;
  for (int i = 0; i < N; ++i) {
    for (int j = 0; j < N; ++j) {
      double sum = 0;
      for (int k = 0; k < N; ++k) sum += (double)a[i * N + k] * b[k * N + j];
      worst = fmax(worst, fabs(sum - c[i * N + j]));
    }
  }
  return worst;
}

static int time_kernel(const char* path, const float* a, const float* b, float* c) {
  void* library = dlopen(path, RTLD_NOW);
  tf_kernel kernel = library ? (tf_kernel)dlsym(library, "kernel") : NULL;
  if (kernel == NULL) return fprintf(stderr, "%s: %s\n", path, dlerror()), 1;
  void* buffers[] = {(void*)a, (void*)b, c};
  const uint64_t sizes[] = {N * N * sizeof(float), N * N * sizeof(float), N * N * sizeof(float)};
  const tf_call call = {TF_ABI_VERSION, 3, buffers, sizes, NULL, NULL, &kOneThread};
  double best = INFINITY;
  for (int run = 0; run < RUNS; ++run) {
    const double start = seconds();
    if (kernel(&call) != TF_KERNEL_OK) return fprintf(stderr, "%s: the kernel failed\n", path), 1;
    best = fmin(best, seconds() - start);
  }
  const double error = largest_error(a, b, c);
  printf("%-12s %8.3f ms  largest error %.1e\n", path, 1e3 * best, error);
  return error > 1e-4;
}

int main(int argc, char** argv) {
  float* a = aligned_alloc(TF_ALIGNMENT, N * N * sizeof(float));
  float* b = aligned_alloc(TF_ALIGNMENT, N * N * sizeof(float));
  float* c = aligned_alloc(TF_ALIGNMENT, N * N * sizeof(float));
  for (int i = 0; i < N * N; ++i) {
    a[i] = (float)(i % 7) / 7 - 0.5f;
    b[i] = (float)(i % 11) / 11 - 0.5f;
  }
  int failed = 0;
  for (int i = 1; i < argc; ++i) failed |= time_kernel(argv[i], a, b, c);
  return failed;
}
