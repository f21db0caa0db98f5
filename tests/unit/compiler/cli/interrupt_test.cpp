#include "compiler/cli/interrupt.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>

namespace tf::compiler_cli {
namespace {

void other_handler(int) {}

// As a shell or nohup leaves them, and back as they were.
class Handlers {
 public:
  Handlers(void (*on_int)(int), void (*on_term)(int))
      : int_(signal(SIGINT, on_int)), term_(signal(SIGTERM, on_term)) {}
  ~Handlers() {
    signal(SIGINT, int_);
    signal(SIGTERM, term_);
  }

 private:
  void (*int_)(int);
  void (*term_)(int);
};

void (*handler_of(int number))(int) {
  struct sigaction action = {};
  sigaction(number, nullptr, &action);
  return action.sa_handler;
}

TEST(OnInterrupt, CallsOnceAtTheFirstSignal) {
  const Handlers plain(SIG_DFL, SIG_DFL);
  std::atomic<int> calls = 0;
  {
    const OnInterrupt interrupt([&] { ++calls; });
    EXPECT_EQ(calls, 0);
    raise(SIGTERM);
  }
  EXPECT_EQ(calls, 1);
}

TEST(OnInterrupt, TheSecondSignalEndsTheProcessEvenIfItIsTheOther) {
  for (const auto& [first, second] : {std::pair(SIGINT, SIGINT), {SIGINT, SIGTERM}, {SIGTERM, SIGINT}}) {
    const auto twice = [first = first, second = second] {
      const Handlers plain(SIG_DFL, SIG_DFL);
      const OnInterrupt interrupt([] {});
      raise(first);
      raise(second);
      _exit(0);
    };
    EXPECT_EXIT(twice(), testing::KilledBySignal(second), "") << first << " then " << second;
  }
}

TEST(OnInterrupt, LeavesAnIgnoredSignalIgnored) {
  const Handlers nohup(SIG_IGN, SIG_DFL);
  std::atomic<int> calls = 0;
  {
    const OnInterrupt interrupt([&] { ++calls; });
    raise(SIGINT);
    EXPECT_EQ(handler_of(SIGINT), SIG_IGN);
    EXPECT_EQ(calls, 0);
    raise(SIGTERM);
    EXPECT_EQ(handler_of(SIGINT), SIG_IGN);
  }
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(handler_of(SIGINT), SIG_IGN);
}

TEST(OnInterrupt, PutsTheHandlersBack) {
  const Handlers own(other_handler, other_handler);
  {
    const OnInterrupt interrupt([] {});
  }
  EXPECT_EQ(handler_of(SIGINT), other_handler);
  EXPECT_EQ(handler_of(SIGTERM), other_handler);
  {
    const OnInterrupt interrupt([] {});
    raise(SIGINT);
  }
  EXPECT_EQ(handler_of(SIGINT), other_handler);
  EXPECT_EQ(handler_of(SIGTERM), other_handler);
}

}  // namespace
}  // namespace tf::compiler_cli
