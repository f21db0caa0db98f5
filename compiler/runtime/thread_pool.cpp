#include "compiler/runtime/thread_pool.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <new>

namespace {

// About 20 to 50 microseconds of pause instructions: longer than the gap between two kernels of a network,
// shorter than what a sleeping thread costs anyone who wants the CPU.
constexpr int32_t kSpins = 2000;

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
  __asm__ volatile("yield" ::: "memory");
#else
  __asm__ volatile("" ::: "memory");
#endif
}

void futex_wait(std::atomic<uint32_t>* word, uint32_t expected) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

void futex_wake_all(std::atomic<uint32_t>* word) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr, 0);
}

struct Pool;

struct Worker {
  Pool* pool;
  int32_t index;
  pthread_t handle;
};

// `base` is first: a tf_runtime* of ours is a Pool*. What the caller writes, what sleepers wait on and what
// workers count down stand on cache lines of their own.
struct Pool {
  tf_runtime base;
  int32_t spins;
  int32_t started;  // helper threads that run
  bool stop;
  Worker* workers;
  alignas(64) std::atomic<uint32_t> busy;  // 1 while a caller has forked
  tf_parallel_task task;
  void* closure;
  int64_t count;
  alignas(64) std::atomic<uint32_t> epoch;  // one more for each fork
  std::atomic<uint32_t> sleepers;
  alignas(64) std::atomic<uint32_t> pending;  // helpers that have not finished this fork
  std::atomic<uint32_t> joining;              // 1 while the caller sleeps on `pending`
  std::atomic<int32_t> error;
};

// Which pool's task the current thread runs, and as which worker: how a nested call is recognised.
thread_local Pool* current_pool = nullptr;
thread_local int32_t current_index = 0;

int32_t run_range(int64_t begin, int64_t end, tf_parallel_task task, void* closure, int32_t index) {
  for (int64_t i = begin; i < end; ++i) {
    if (int32_t error = task(closure, i, index); error != 0) return error;
  }
  return 0;
}

int32_t run_as(Pool* pool, int32_t index, int64_t begin, int64_t end, tf_parallel_task task, void* closure) {
  Pool* const outer_pool = current_pool;
  const int32_t outer_index = current_index;
  current_pool = pool;
  current_index = index;
  const int32_t error = run_range(begin, end, task, closure, index);
  current_pool = outer_pool;
  current_index = outer_index;
  return error;
}

// Iterations [count*t/n, count*(t+1)/n) without overflow of the product.
int64_t chunk_begin(int64_t count, int32_t index, int32_t threads) {
  return count / threads * index + count % threads * index / threads;
}

void run_chunk(Pool* pool, int32_t index) {
  const int32_t threads = pool->base.threads;
  const int64_t begin = chunk_begin(pool->count, index, threads);
  const int64_t end = chunk_begin(pool->count, index + 1, threads);
  const int32_t error = run_as(pool, index, begin, end, pool->task, pool->closure);
  if (error != 0) {
    int32_t none = 0;
    pool->error.compare_exchange_strong(none, error);
  }
}

uint32_t wait_for_fork(Pool* pool, uint32_t seen) {
  for (int32_t spin = 0; spin < pool->spins; ++spin) {
    const uint32_t epoch = pool->epoch.load(std::memory_order_acquire);
    if (epoch != seen) return epoch;
    relax();
  }
  // Sequentially consistent with fork(): either it sees the sleeper, or the sleeper sees the new epoch.
  pool->sleepers.fetch_add(1);
  uint32_t epoch;
  while ((epoch = pool->epoch.load()) == seen) futex_wait(&pool->epoch, seen);
  pool->sleepers.fetch_sub(1);
  return epoch;
}

void* work(void* argument) {
  Worker* worker = static_cast<Worker*>(argument);
  Pool* pool = worker->pool;
  uint32_t seen = 0;
  for (;;) {
    seen = wait_for_fork(pool, seen);
    if (pool->stop) return nullptr;
    run_chunk(pool, worker->index);
    if (pool->pending.fetch_sub(1) == 1 && pool->joining.load() != 0) futex_wake_all(&pool->pending);
  }
}

void fork(Pool* pool) {
  pool->epoch.fetch_add(1);
  if (pool->sleepers.load() != 0) futex_wake_all(&pool->epoch);
}

void join(Pool* pool) {
  for (int32_t spin = 0; spin < pool->spins; ++spin) {
    if (pool->pending.load(std::memory_order_acquire) == 0) return;
    relax();
  }
  pool->joining.store(1);
  while (uint32_t left = pool->pending.load()) futex_wait(&pool->pending, left);
  pool->joining.store(0);
}

int32_t parallel_for(const tf_runtime* runtime, int64_t count, tf_parallel_task task, void* closure) {
  Pool* pool = reinterpret_cast<Pool*>(const_cast<tf_runtime*>(runtime));
  if (current_pool == pool) return run_range(0, count, task, closure, current_index);
  uint32_t idle = 0;
  if (pool->base.threads == 1 || count <= 1 || !pool->busy.compare_exchange_strong(idle, 1)) {
    return run_as(pool, 0, 0, count, task, closure);
  }
  pool->task = task;
  pool->closure = closure;
  pool->count = count;
  pool->error.store(0, std::memory_order_relaxed);
  pool->pending.store(static_cast<uint32_t>(pool->base.threads - 1), std::memory_order_relaxed);
  fork(pool);
  run_chunk(pool, 0);
  join(pool);
  const int32_t error = pool->error.load();
  pool->busy.store(0);
  return error;
}

// With more threads than CPUs a spinning thread only keeps the one it waits for from running.
int32_t spins_for(int32_t threads) {
  cpu_set_t cpus;
  if (sched_getaffinity(0, sizeof cpus, &cpus) != 0) return kSpins;
  return threads <= CPU_COUNT(&cpus) ? kSpins : 0;
}

}  // namespace

extern "C" {

tf_runtime* tf_runtime_create(int32_t threads) {
  if (threads < 1) return nullptr;
  void* memory = nullptr;
  if (posix_memalign(&memory, 64, sizeof(Pool)) != 0) return nullptr;
  Pool* pool = new (memory) Pool{};
  pool->base.threads = threads;
  pool->base.parallel_for = parallel_for;
  pool->spins = spins_for(threads);
  pool->workers = static_cast<Worker*>(calloc(static_cast<size_t>(threads), sizeof(Worker)));
  if (pool->workers == nullptr) {
    free(pool);
    return nullptr;
  }
  for (int32_t i = 1; i < threads; ++i) {
    pool->workers[i].pool = pool;
    pool->workers[i].index = i;
    if (pthread_create(&pool->workers[i].handle, nullptr, work, &pool->workers[i]) != 0) {
      tf_runtime_destroy(&pool->base);
      return nullptr;
    }
    ++pool->started;
  }
  return &pool->base;
}

void tf_runtime_destroy(tf_runtime* runtime) {
  if (runtime == nullptr) return;
  Pool* pool = reinterpret_cast<Pool*>(runtime);
  pool->stop = true;
  fork(pool);
  for (int32_t i = 1; i <= pool->started; ++i) pthread_join(pool->workers[i].handle, nullptr);
  free(pool->workers);
  free(pool);
}

}  // extern "C"
