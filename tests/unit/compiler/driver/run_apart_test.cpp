#include "compiler/driver/run_apart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <thread>

#include "absl/time/clock.h"

namespace tf::driver {
namespace {

using testing::HasSubstr;

constexpr double kProcess = 1e9;  // more than any process id

// A run that does what the test wants, by how often it was called, and gives that and its process in one number.
std::function<absl::StatusOr<driver::Run>()> counting(std::function<absl::Status(int)> then) {
  return [then = std::move(then)]() -> absl::StatusOr<driver::Run> {
    return driver::Run([then, calls = 0]() mutable -> absl::StatusOr<double> {
      const absl::Status status = then(++calls);
      if (!status.ok()) return status;
      return calls * kProcess + static_cast<double>(::getpid());
    });
  };
}

TEST(RunApart, RunsInAProcessOfItsOwnThatKeepsItsState) {
  const auto run = run_apart(counting([](int) { return absl::OkStatus(); }), {});
  ASSERT_TRUE(run.ok()) << run.status();
  const auto first = (*run)(), second = (*run)();
  ASSERT_TRUE(first.ok() && second.ok()) << first.status() << second.status();
  EXPECT_EQ(*second - *first, kProcess);
  EXPECT_GT(*first, kProcess);
  EXPECT_NE(*first - kProcess, static_cast<double>(::getpid()));
}

TEST(RunApart, TellsTheErrorsOfOpeningAndOfRunning) {
  const auto closed =
      run_apart([]() -> absl::StatusOr<driver::Run> { return absl::NotFoundError("no model"); }, {});
  EXPECT_EQ(closed.status().message(), "no model");
  const auto run = run_apart(
      counting([](int calls) { return calls < 2 ? absl::OkStatus() : absl::InternalError("it broke"); }), {});
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_TRUE((*run)().ok());
  EXPECT_EQ((*run)().status().message(), "it broke");
  EXPECT_EQ((*run)().status().message(), "it broke") << "and no run after it";
}

TEST(RunApart, EndsARunThatDoesNotEnd) {
  const auto run = run_apart(counting([](int) {
                               while (true) ::pause();
                               return absl::OkStatus();
                             }),
                             {.each = absl::Milliseconds(200)});
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ((*run)().status().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST(RunApart, EndsARunOnceItIsStopped) {
  std::atomic<bool> stop = false;
  const auto run = run_apart(counting([](int) {
                               while (true) ::pause();
                               return absl::OkStatus();
                             }),
                             {.stop = &stop});
  ASSERT_TRUE(run.ok()) << run.status();
  std::jthread later([&] {
    absl::SleepFor(absl::Milliseconds(100));
    stop = true;
  });
  EXPECT_EQ((*run)().status().code(), absl::StatusCode::kCancelled);
}

TEST(RunApart, OutlivesARunThatCrashes) {
  const auto run = run_apart(counting([](int) {
                               ::signal(SIGSEGV, SIG_DFL);  // no report of a sanitizer
                               ::raise(SIGSEGV);
                               return absl::OkStatus();
                             }),
                             {});
  ASSERT_TRUE(run.ok()) << run.status();
  const absl::Status status = (*run)().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("signal 11"));
}

TEST(RunApart, LeavesNoProcessBehind) {
  pid_t child = 0;
  {
    const auto run = run_apart(counting([](int) { return absl::OkStatus(); }), {});
    ASSERT_TRUE(run.ok()) << run.status();
    child = static_cast<pid_t>((*run)().value() - kProcess);
    EXPECT_EQ(::kill(child, 0), 0);
  }
  EXPECT_EQ(::kill(child, 0), -1);
}

}  // namespace
}  // namespace tf::driver
