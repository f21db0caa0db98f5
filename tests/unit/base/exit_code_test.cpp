#include "base/cli/exit_code.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace tf {
namespace {

// Prints to `path` instead of standard output.
[[noreturn]] void print_to(const char* path) {
  if (std::freopen(path, "w", stdout) == nullptr) std::exit(99);
  std::printf("a result\n");
  std::exit(finish_output("tool", kExitOk));
}

// The same of so much that it is written before the end, after which another call fails for another reason.
[[noreturn]] void print_much_to(const char* path) {
  if (std::freopen(path, "w", stdout) == nullptr) std::exit(99);
  std::printf("a result\n");
  std::fflush(stdout);
  errno = ENOENT;
  std::exit(finish_output("tool", kExitOk));
}

TEST(ExitCode, WhatFailedBeforeTheEndIsNotBlamedOnSomethingElse) {
  EXPECT_EXIT(print_much_to("/dev/full"), testing::ExitedWithCode(kExitFailed),
              "^tool: standard output is incomplete: a write failed(: No space left on device)?\n$");
}

TEST(ExitCode, AResultThatDidNotReachStandardOutputIsAFailure) {
  EXPECT_EXIT(print_to("/dev/full"), testing::ExitedWithCode(kExitFailed),
              "^tool: standard output is incomplete: a write failed: No space left on device\n$");
  EXPECT_EXIT(print_to("/dev/null"), testing::ExitedWithCode(kExitOk), "^$");
}

}  // namespace
}  // namespace tf
