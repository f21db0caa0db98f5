#include "compiler/runtime/thread_pool.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <new>

#include "compiler/runtime/clock.h"
#include "compiler/runtime/cpu_limit.h"

namespace {

// How long a thread that waits asks in a loop: first leaving the CPU to nobody, then to whoever wants it, at
// last it sleeps. Between two kernels of a network lies less than the first; a kernel without threads is
// mostly over within the second, and waking a sleeper costs more than that again.
constexpr int64_t kSpinNs = 20'000;
constexpr int64_t kYieldNs = 200'000;
constexpr int32_t kAsksPerLook = 16;  // at the clock

// Each worker's share of the iterations is taken in so many pieces, so that others can help with the rest.
constexpr int64_t kPiecesPerShare = 8;

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

// A fork's life in one word: `kOpen` while helpers may join it, below it the number of those that are inside,
// above it the number of the fork. A helper that comes late finds it closed and has missed nothing: the
// others have done its share. That the number of the fork wraps does no harm for the same reason.
constexpr uint32_t kInside = (1u << 11) - 1;
constexpr uint32_t kOpen = 1u << 11;
constexpr uint32_t kNextFork = 1u << 12;

uint32_t fork_number(uint32_t state) {
  return state / kNextFork;
}

struct Pool;

// The iterations [next, end) are not taken yet. `next` passes `end` when nothing is left.
struct alignas(64) Share {
  std::atomic<int64_t> next;
  int64_t end;
};

struct Worker {
  Pool* pool;
  int32_t index;
  pthread_t handle;
  Share share;
};

// `base` is first: a tf_runtime* of ours is a Pool*. What helpers wait on and what only the caller writes
// stand on cache lines of their own.
struct Pool {
  tf_runtime base;
  std::atomic<int64_t> spin_ns;            // helpers read it while affinity is set
  pid_t process;                           // that the helpers are threads of
  int32_t helpers;                         // threads that were made
  Worker* workers;                         // `threads` of them; 0 is the caller
  std::atomic<uint32_t> ready;             // helpers that have begun to wait
  alignas(64) std::atomic<uint32_t> busy;  // 1 while a caller has forked
  alignas(64) std::atomic<uint32_t> state;
  std::atomic<uint32_t> sleepers;  // helpers that sleep on `state`
  std::atomic<uint32_t> joining;   // 1 while the caller sleeps on `state`
  std::atomic<int32_t> error;
  std::atomic<bool> stop;
  // Written before the fork opens, read by those inside.
  tf_parallel_task task;
  void* closure;
  int64_t piece;
};

// Which pool's task the current thread runs, and as which worker: how a nested call is recognised.
thread_local Pool* current_pool = nullptr;
thread_local int32_t current_index = 0;

// The value of pool->state for which `wanted(state)` holds: by asking, then by sleeping; `asleep` counts up
// meanwhile.
template <typename Wanted>
uint32_t wait_for(Pool* pool, std::atomic<uint32_t>* asleep, Wanted wanted) {
  uint32_t state = pool->state.load(std::memory_order_acquire);
  int64_t start_ns = 0;
  for (int32_t ask = 1; !wanted(state); ++ask) {
    relax();
    if (ask % kAsksPerLook == 0) {
      const int64_t now = tf_monotonic_ns();
      if (start_ns == 0) start_ns = now;
      if (now - start_ns >= kYieldNs) break;
      if (now - start_ns >= pool->spin_ns.load(std::memory_order_relaxed)) sched_yield();
    }
    state = pool->state.load(std::memory_order_acquire);
  }
  if (wanted(state)) return state;
  // Sequentially consistent with whoever changes the state: either it sees the sleeper, or the sleeper the
  // change.
  asleep->fetch_add(1);
  while (!wanted(state = pool->state.load())) futex_wait(&pool->state, state);
  asleep->fetch_sub(1);
  return state;
}

int32_t run_range(int64_t begin, int64_t end, tf_parallel_task task, void* closure, int32_t index) {
  for (int64_t i = begin; i < end; ++i) {
    if (int32_t error = task(closure, i, index); error != 0) return error;
  }
  return 0;
}

int32_t run_share(Pool* pool, Share* share, int32_t index) {
  for (;;) {
    if (share->next.load(std::memory_order_relaxed) >= share->end) return 0;
    const int64_t begin = share->next.fetch_add(pool->piece, std::memory_order_relaxed);
    if (begin >= share->end) return 0;
    const int64_t left = share->end - begin;
    const int64_t end = begin + (left < pool->piece ? left : pool->piece);
    if (int32_t error = run_range(begin, end, pool->task, pool->closure, index); error != 0) return error;
  }
}

// Its own share, then what is left of the others'.
int32_t run_shares(Pool* pool, int32_t index) {
  for (int32_t i = 0; i < pool->base.threads; ++i) {
    const int32_t owner = (index + i) % pool->base.threads;
    if (int32_t error = run_share(pool, &pool->workers[owner].share, index); error != 0) return error;
  }
  return 0;
}

// Calls run(), which gives an error, as the pool's worker `index`.
template <typename Run>
int32_t run_as(Pool* pool, int32_t index, Run run) {
  Pool* const outer_pool = current_pool;
  const int32_t outer_index = current_index;
  current_pool = pool;
  current_index = index;
  const int32_t error = run();
  current_pool = outer_pool;
  current_index = outer_index;
  return error;
}

void take_part(Pool* pool, int32_t index) {
  const int32_t error = run_as(pool, index, [&] { return run_shares(pool, index); });
  if (error != 0) {
    int32_t none = 0;
    pool->error.compare_exchange_strong(none, error);
  }
}

// Whether the fork was still open; then the caller of this is inside.
bool enter(Pool* pool, uint32_t state) {
  while ((state & kOpen) != 0) {
    if (pool->state.compare_exchange_weak(state, state + 1, std::memory_order_acquire)) return true;
  }
  return false;
}

void leave(Pool* pool) {
  const uint32_t before = pool->state.fetch_sub(1);
  if ((before & (kOpen | kInside)) == 1 && pool->joining.load() != 0) futex_wake_all(&pool->state);
}

void* help(void* argument) {
  Worker* worker = static_cast<Worker*>(argument);
  Pool* pool = worker->pool;
  uint32_t seen = 0;  // and not the state's: by now a pool that lacks a thread may have been told to stop
  pool->ready.fetch_add(1);
  futex_wake_all(&pool->ready);
  for (;;) {
    const uint32_t state =
        wait_for(pool, &pool->sleepers, [&](uint32_t now) { return fork_number(now) != seen; });
    if (pool->stop.load()) return nullptr;
    seen = fork_number(state);
    if (!enter(pool, state)) continue;
    take_part(pool, worker->index);
    leave(pool);
  }
}

// Nobody is inside: the next fork, open or not.
void next_fork(Pool* pool, uint32_t open) {
  const uint32_t number = fork_number(pool->state.load(std::memory_order_relaxed)) + 1;
  pool->state.store(number * kNextFork | open);
  if (pool->sleepers.load() != 0) futex_wake_all(&pool->state);
}

void join(Pool* pool) {
  if (((pool->state.fetch_and(~kOpen) & kInside)) == 0) return;
  wait_for(pool, &pool->joining, [](uint32_t state) { return (state & kInside) == 0; });
}

// Share t is [count*t/n, count*(t+1)/n), without overflow of the product: the same iterations of loops of one
// length meet the same worker, and what its caches hold.
void deal(Pool* pool, int64_t count) {
  const int32_t threads = pool->base.threads;
  int64_t begin = 0;
  for (int32_t t = 0; t < threads; ++t) {
    Share& share = pool->workers[t].share;
    share.next.store(begin, std::memory_order_relaxed);
    begin = count / threads * (t + 1) + count % threads * (t + 1) / threads;
    share.end = begin;
  }
  const int64_t piece = count / threads / kPiecesPerShare;
  pool->piece = piece < 1 ? 1 : piece;
}

int32_t parallel_for(const tf_runtime* runtime, int64_t count, tf_parallel_task task, void* closure) {
  Pool* pool = reinterpret_cast<Pool*>(const_cast<tf_runtime*>(runtime));
  if (current_pool == pool) return run_range(0, count, task, closure, current_index);
  uint32_t idle = 0;
  if (pool->helpers == 0 || count <= 1 || !pool->busy.compare_exchange_strong(idle, 1)) {
    return run_as(pool, 0, [&] { return run_range(0, count, task, closure, 0); });
  }
  pool->task = task;
  pool->closure = closure;
  pool->error.store(0, std::memory_order_relaxed);
  deal(pool, count);
  next_fork(pool, kOpen);
  take_part(pool, 0);
  join(pool);
  const int32_t error = pool->error.load(std::memory_order_relaxed);
  pool->busy.store(0);
  return error;
}

// With more threads than CPUs a spinning thread only keeps the one it waits for from running.
void set_cpus(Pool* pool, int32_t cpus) {
  pool->spin_ns.store(pool->base.threads <= cpus ? kSpinNs : 0, std::memory_order_relaxed);
}

bool start_helpers(Pool* pool) {
  for (int32_t i = 1; i < pool->base.threads; ++i) {
    Worker* worker = new (&pool->workers[i]) Worker{};
    worker->pool = pool;
    worker->index = i;
    if (pthread_create(&worker->handle, nullptr, help, worker) != 0) return false;
    ++pool->helpers;
  }
  uint32_t ready;
  while ((ready = pool->ready.load()) != static_cast<uint32_t>(pool->helpers))
    futex_wait(&pool->ready, ready);
  return true;
}

bool set_cpu(pthread_t thread, int32_t cpu) {
  if (cpu < 0 || cpu >= CPU_SETSIZE) return false;
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(cpu, &cpus);
  return pthread_setaffinity_np(thread, sizeof cpus, &cpus) == 0;
}

}  // namespace

extern "C" {

tf_runtime* tf_runtime_create(int32_t threads) {
  if (threads < 1 || static_cast<uint32_t>(threads) > kInside) return nullptr;
  void* memory = nullptr;
  if (posix_memalign(&memory, alignof(Pool), sizeof(Pool)) != 0) return nullptr;
  Pool* pool = new (memory) Pool{};
  pool->base.threads = threads;
  pool->base.parallel_for = parallel_for;
  pool->process = getpid();
  set_cpus(pool, tf_usable_cpus());
  if (posix_memalign(&memory, alignof(Worker), static_cast<size_t>(threads) * sizeof(Worker)) != 0) {
    free(pool);
    return nullptr;
  }
  pool->workers = static_cast<Worker*>(memory);
  new (&pool->workers[0]) Worker{};
  if (!start_helpers(pool)) {
    tf_runtime_destroy(&pool->base);
    return nullptr;
  }
  return &pool->base;
}

void tf_runtime_check_fork(tf_runtime* runtime) {
  Pool* pool = reinterpret_cast<Pool*>(runtime);
  const pid_t process = getpid();
  if (pool->process == process) return;
  pool->process = process;
  pool->helpers = 0;
  // As of a new pool: a fork may have copied it in the middle of a call.
  for (std::atomic<uint32_t>* word :
       {&pool->ready, &pool->busy, &pool->state, &pool->sleepers, &pool->joining})
    word->store(0);
  start_helpers(pool);  // with fewer than all of them, those that there are do the work
}

int32_t tf_runtime_set_affinity(tf_runtime* runtime, const int32_t* cpus, int32_t count) {
  Pool* pool = reinterpret_cast<Pool*>(runtime);
  if (count < 1) return 0;
  tf_runtime_check_fork(runtime);
  cpu_set_t used;
  CPU_ZERO(&used);
  for (int32_t i = 0; i <= pool->helpers; ++i) {
    const pthread_t thread = i == 0 ? pthread_self() : pool->workers[i].handle;
    if (!set_cpu(thread, cpus[i % count])) return 0;
    CPU_SET(cpus[i % count], &used);
  }
  set_cpus(pool, CPU_COUNT(&used));
  return 1;
}

int32_t tf_runtime_shares_cpus(const tf_runtime* runtime) {
  return reinterpret_cast<const Pool*>(runtime)->spin_ns.load(std::memory_order_relaxed) == 0;
}

void tf_runtime_destroy(tf_runtime* runtime) {
  if (runtime == nullptr) return;
  Pool* pool = reinterpret_cast<Pool*>(runtime);
  if (pool->process != getpid()) pool->helpers = 0;  // a fork's copy: nobody to join
  pool->stop.store(true);
  next_fork(pool, 0);
  for (int32_t i = 1; i <= pool->helpers; ++i) pthread_join(pool->workers[i].handle, nullptr);
  free(pool->workers);
  free(pool);
}

}  // extern "C"
