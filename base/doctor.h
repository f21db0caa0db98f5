#pragma once
// Owns: how every `doctor` command tells what it has examined: one line an examination, for people or for
// scripts, and the exit code. Does not know: what is examined.

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tf {

enum class Health {
  kGood,
  kWeak,  // it works, but not as well as it could
  kFailed,
};

// One thing that was looked at.
struct Check {
  std::string what;  // in a word or two, as in "tracker"
  Health health = Health::kGood;
  std::string detail;  // what is true
  std::string remedy;  // what to do; empty if nothing, and never where it failed
};

// Good with the text, or failed with what the status says: its remedy (base/remedy.h), or else `otherwise`.
Check check_of(std::string what, const absl::StatusOr<std::string>& finding, std::string otherwise);

// One line a check, "ok      tracker   it answers": the remedy follows after a semicolon. Ends with a new
// line.
std::string checks_table(const std::vector<Check>& checks);

// A JSON array of {"check", "ok", "health", "detail", "remedy"}; "ok" is true unless it failed.
std::string checks_json(const std::vector<Check>& checks);

// kExitFailed if one of them failed, else kExitOk.
int exit_code_of(const std::vector<Check>& checks);

}  // namespace tf
