#pragma once
// Owns: the documented exit codes of every command, and how a Status becomes one.

#include "absl/status/status.h"

namespace tf {

enum ExitCode : int {
  kExitOk = 0,
  kExitFailed = 1,
  kExitUsage = 2,
  kExitNoDevice = 3,
  kExitUntuned = 4,
  kExitInterrupted = 130,
};

// Prints "PROGRAM: message" as one line on stderr; INVALID_ARGUMENT is a usage error, CANCELLED an interrupt,
// every other code a failure. Returns the exit code.
ExitCode report_error(const char* program, const absl::Status& status);

// The last thing that a program does: `code`, unless what was printed did not reach standard output (a full
// disk); then one line on stderr and kExitFailed.
int finish_output(const char* program, int code);

}  // namespace tf
