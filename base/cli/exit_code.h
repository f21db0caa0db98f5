#pragma once
// Owns: the documented exit codes of every command, and how a Status becomes one.

#include "absl/status/status.h"

namespace tf {

enum ExitCode : int {
  kExitOk = 0,             // success
  kExitFailed = 1,         // failure; the line on stderr says what was asked, what is true and what to do
  kExitUsage = 2,          // usage: invalid options, or an input file that is not valid
  kExitNoDevice = 3,       // no matching device; in `tracker` also: no such lease or reservation
  kExitUntuned = 4,        // `compiler build --strict`: a kernel has no record
  kExitInterrupted = 130,  // interrupted by Ctrl-C; the first finishes what runs, the second stops at once
};

// Prints "PROGRAM: message" as one line on stderr; INVALID_ARGUMENT is a usage error, CANCELLED an interrupt,
// every other code a failure. Returns the exit code.
ExitCode report_error(const char* program, const absl::Status& status);

// The last thing that a program does: `code`, unless what was printed did not reach standard output (a full
// disk); then one line on stderr and kExitFailed.
int finish_output(const char* program, int code);

}  // namespace tf
