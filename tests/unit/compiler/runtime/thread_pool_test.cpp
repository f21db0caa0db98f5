#include "compiler/runtime/thread_pool.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace {

struct Destroy {
  void operator()(tf_runtime* runtime) const { tf_runtime_destroy(runtime); }
};
using Pool = std::unique_ptr<tf_runtime, Destroy>;
using Body = std::function<int32_t(int64_t, int32_t)>;

int32_t call_body(void* closure, int64_t index, int32_t thread) {
  return (*static_cast<Body*>(closure))(index, thread);
}

int32_t parallel_for(const Pool& pool, int64_t count, Body body) {
  return pool->parallel_for(pool.get(), count, call_body, &body);
}

TEST(ThreadPool, RunsEveryIterationOnceInAWorkerOfItsOwn) {
  for (int32_t threads : {1, 2, 3, 8}) {
    Pool pool(tf_runtime_create(threads));
    ASSERT_NE(pool, nullptr);
    for (int64_t count : {0, 1, 2, 5, 8, 1000}) {
      std::vector<std::atomic<int>> runs(count), inside(threads);
      std::atomic<int> wrong = 0;
      EXPECT_EQ(parallel_for(pool, count,
                             [&](int64_t i, int32_t thread) {
                               if (thread < 0 || thread >= threads || inside[thread]++ != 0) ++wrong;
                               ++runs[i];
                               --inside[thread];
                               return 0;
                             }),
                0);
      for (const auto& run : runs) EXPECT_EQ(run.load(), 1);
      EXPECT_EQ(wrong.load(), 0);
    }
  }
}

TEST(ThreadPool, OneThreadRunsInTheCaller) {
  Pool pool(tf_runtime_create(1));
  const auto caller = std::this_thread::get_id();
  parallel_for(pool, 10, [&](int64_t, int32_t thread) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    EXPECT_EQ(thread, 0);
    return 0;
  });
}

TEST(ThreadPool, NestedCallsRunInTheCallingWorker) {
  Pool pool(tf_runtime_create(3));
  std::atomic<int> inner_runs = 0, moved = 0;
  parallel_for(pool, 30, [&](int64_t, int32_t outer) {
    const auto self = std::this_thread::get_id();
    return parallel_for(pool, 7, [&](int64_t, int32_t inner) {
      ++inner_runs;
      if (inner != outer || std::this_thread::get_id() != self) ++moved;
      return 0;
    });
  });
  EXPECT_EQ(inner_runs.load(), 210);
  EXPECT_EQ(moved.load(), 0);
}

TEST(ThreadPool, ReturnsTheErrorOfAFailedIteration) {
  Pool pool(tf_runtime_create(2));
  EXPECT_EQ(parallel_for(pool, 100, [](int64_t i, int32_t) { return i == 77 ? 5 : 0; }), 5);
  EXPECT_EQ(parallel_for(pool, 100, [](int64_t, int32_t) { return 0; }), 0)
      << "an error must not outlive its call";
}

TEST(ThreadPool, WakesWorkersThatHaveGoneToSleep) {
  Pool pool(tf_runtime_create(2));
  for (int round = 0; round < 3; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::atomic<int> runs = 0;
    parallel_for(pool, 2, [&](int64_t, int32_t) { return ++runs, 0; });
    EXPECT_EQ(runs.load(), 2);
  }
}

TEST(ThreadPool, ServesSeveralCallersAtOnce) {
  Pool pool(tf_runtime_create(2));
  std::atomic<int> runs = 0;
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round)
        parallel_for(pool, 10, [&](int64_t, int32_t) { return ++runs, 0; });
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(runs.load(), 4 * 200 * 10);
}

TEST(ThreadPool, RefusesFewerThanOneThread) {
  EXPECT_EQ(tf_runtime_create(0), nullptr);
}

// Lets this process have `bytes` of addresses more than it has.
bool limit_addresses(uint64_t bytes) {
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) + bytes;
  return pages > 0 && setrlimit(RLIMIT_AS, &limit) == 0;
}

TEST(ThreadPool, IsNullWhereTheSystemGivesFewerThreads) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need addresses of their own for each thread";
#endif
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);  // a hang becomes a signal
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);  // the helpers that were made run late, if at all
    rlimit stack{};
    getrlimit(RLIMIT_STACK, &stack);
    const uint64_t stack_bytes = stack.rlim_cur == RLIM_INFINITY ? uint64_t{8} << 20 : stack.rlim_cur;
    if (!limit_addresses(4 * stack_bytes)) _exit(2);
    for (int i = 0; i < 100; ++i) {
      if (tf_runtime_create(64) != nullptr) _exit(1);
    }
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(ThreadPool, EveryThreadTakesPartInALongLoop) {
  Pool pool(tf_runtime_create(3));
  std::atomic<int> arrived = 0;
  // An iteration ends when all three have begun: no thread can run two of them.
  EXPECT_EQ(parallel_for(pool, 3,
                         [&](int64_t, int32_t) {
                           ++arrived;
                           while (arrived.load() < 3) std::this_thread::yield();
                           return 0;
                         }),
            0);
}

TEST(ThreadPool, OthersTakeOverTheShareOfAThreadThatIsHeldUp) {
  Pool pool(tf_runtime_create(2));
  // The first iteration waits for all but the piece that its thread holds, an eighth of a share of 80.
  std::atomic<int> runs = 0;
  EXPECT_EQ(parallel_for(pool, 160,
                         [&](int64_t i, int32_t) {
                           if (i == 0) {
                             while (runs.load() < 150) std::this_thread::yield();
                           } else {
                             ++runs;
                           }
                           return 0;
                         }),
            0);
  EXPECT_EQ(runs.load(), 159);
}

TEST(ThreadPool, GetsThroughManyShortLoopsWithMoreThreadsThanCpus) {
  Pool pool(tf_runtime_create(16));
  std::atomic<int> runs = 0;
  for (int round = 0; round < 500; ++round)
    parallel_for(pool, 16, [&](int64_t, int32_t) { return ++runs, 0; });
  EXPECT_EQ(runs.load(), 500 * 16);
}

TEST(ThreadPool, KeepsThreadsOnTheCpusThatItIsTold) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  std::vector<int32_t> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
  std::thread([&] {  // a thread of its own: it is placed too
    Pool pool(tf_runtime_create(3));
    ASSERT_EQ(tf_runtime_set_affinity(pool.get(), cpus.data(), static_cast<int32_t>(cpus.size())), 1);
    std::atomic<int> elsewhere = 0;
    parallel_for(pool, 300, [&](int64_t, int32_t thread) {
      if (sched_getcpu() != cpus[static_cast<size_t>(thread) % cpus.size()]) ++elsewhere;
      return 0;
    });
    EXPECT_EQ(elsewhere.load(), 0);
    const int32_t none = CPU_SETSIZE - 1;
    EXPECT_EQ(tf_runtime_set_affinity(pool.get(), &none, 1), 0);
    EXPECT_EQ(tf_runtime_set_affinity(pool.get(), &none, 0), 0);
  })
      .join();
}

TEST(ThreadPool, KnowsWhetherItsThreadsShareCpusAfterTheyWerePlaced) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  if (CPU_COUNT(&allowed) < 2) GTEST_SKIP() << "two CPUs are needed";
  std::vector<int32_t> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE && cpus.size() < 2; ++cpu)
    if (CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
  std::thread([&] {
    Pool pool(tf_runtime_create(2));
    EXPECT_EQ(tf_runtime_shares_cpus(pool.get()), 0);
    ASSERT_EQ(tf_runtime_set_affinity(pool.get(), cpus.data(), 1), 1);
    EXPECT_EQ(tf_runtime_shares_cpus(pool.get()), 1);
    const int32_t twice[] = {cpus[1], cpus[1]};
    ASSERT_EQ(tf_runtime_set_affinity(pool.get(), twice, 2), 1);
    EXPECT_EQ(tf_runtime_shares_cpus(pool.get()), 1);
    ASSERT_EQ(tf_runtime_set_affinity(pool.get(), cpus.data(), 2), 1);
    EXPECT_EQ(tf_runtime_shares_cpus(pool.get()), 0);
    Pool small(tf_runtime_create(1));
    EXPECT_EQ(tf_runtime_shares_cpus(small.get()), 0);
  }).join();
}

// The exit code of `body` in a child process that has 20 s for it.
int in_child(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(ThreadPool, OfAForkHasThreadsOfItsOwn) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer has no threads after a fork";
#endif
  Pool pool(tf_runtime_create(3));
  ASSERT_NE(pool, nullptr);
  // Each iteration waits for the others, so that it ends only with as many threads.
  const auto all_at_once = [&] {
    std::atomic<int> inside = 0;
    return parallel_for(pool, 3, [&](int64_t, int32_t) {
      for (++inside; inside < 3;) std::this_thread::yield();
      return 0;
    });
  };
  EXPECT_EQ(all_at_once(), 0);
  EXPECT_EQ(in_child([&] {
              tf_runtime_check_fork(pool.get());
              const int failed = all_at_once() + in_child([&] {
                                   tf_runtime_check_fork(pool.get());
                                   return all_at_once();
                                 });
              pool.reset();
              return failed;
            }),
            0);
  EXPECT_EQ(in_child([&] {
              pool.reset();
              return 0;
            }),
            0)
      << "a child may close it without having used it";
  EXPECT_EQ(all_at_once(), 0) << "the parent's goes on";
}

TEST(ThreadPool, OfAForkInTheMiddleOfACallIsAsNew) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer has no threads after a fork";
#endif
  Pool pool(tf_runtime_create(2));
  std::atomic<bool> running = false, forked = false;
  std::thread other([&] {
    parallel_for(pool, 2, [&](int64_t, int32_t) {
      running = true;
      while (!forked) std::this_thread::yield();
      return 0;
    });
  });
  while (!running) std::this_thread::yield();
  const int code = in_child([&] {
    tf_runtime_check_fork(pool.get());
    std::atomic<int> runs = 0;
    parallel_for(pool, 10, [&](int64_t, int32_t) { return ++runs, 0; });
    pool.reset();
    return runs == 10 ? 0 : 1;
  });
  forked = true;
  other.join();
  EXPECT_EQ(code, 0);
}

}  // namespace
