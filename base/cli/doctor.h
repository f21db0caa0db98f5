#pragma once
// Owns: how every `doctor` command tells what it has examined: one line an examination, for people or for
// scripts, and the exit code. Does not know: what is examined.

#include <cstdio>
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

// "ok      tracker       it answers": the remedy follows after a semicolon. Ends with a new line.
std::string check_line(const Check& check);

// A JSON array of {"check", "ok", "health", "detail", "remedy"}; "ok" is true unless it failed.
std::string checks_json(const std::vector<Check>& checks);

// kExitFailed if one of them failed, else kExitOk.
int exit_code_of(const std::vector<Check>& checks);

// What a doctor has found so far: people see the line of each check as soon as it is added, since the next
// one may take seconds, scripts all of them at the end.
class CheckList {
 public:
  enum class Format { kLines, kJson };
  // What is printed goes to `out`, which must outlive it.
  CheckList(Format format, std::FILE* out) : format_(format), out_(out) {}
  void add(Check check);
  // Nothing is added after it. exit_code_of them.
  int finish();

 private:
  const Format format_;
  std::FILE* const out_;
  std::vector<Check> checks_;
};

}  // namespace tf
