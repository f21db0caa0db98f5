#include "base/cli/doctor.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/cli/exit_code.h"
#include "base/remedy.h"
#include "base/text/json_text.h"
#include "base/text/printable.h"

namespace tf {
namespace {

const char* for_people(Health health) {
  switch (health) {
    case Health::kGood:
      return "ok";
    case Health::kWeak:
      return "weak";
    case Health::kFailed:
      break;
  }
  return "FAILED";
}

const char* for_scripts(Health health) {
  switch (health) {
    case Health::kGood:
      return "good";
    case Health::kWeak:
      return "weak";
    case Health::kFailed:
      break;
  }
  return "failed";
}

}  // namespace

Check check_of(std::string what, const absl::StatusOr<std::string>& finding, std::string otherwise) {
  if (finding.ok()) return {.what = std::move(what), .detail = *finding};
  Trouble trouble = trouble_of(finding.status());
  if (trouble.remedy.empty()) trouble.remedy = std::move(otherwise);
  return {.what = std::move(what),
          .health = Health::kFailed,
          .detail = std::move(trouble.truth),
          .remedy = std::move(trouble.remedy)};
}

std::string check_line(const Check& check) {
  const std::string remedy = check.remedy.empty() ? "" : "; " + printable(check.remedy);
  // As wide as the longest of them, "state folder": those that follow are not known yet.
  return absl::StrCat(absl::StrFormat("%-6s  %-12s  ", for_people(check.health), check.what),
                      printable(check.detail), remedy, "\n");
}

std::string checks_json(const std::vector<Check>& checks) {
  nlohmann::json all = nlohmann::json::array();
  for (const Check& check : checks) {
    all.push_back({{"check", check.what},
                   {"ok", check.health != Health::kFailed},
                   {"health", for_scripts(check.health)},
                   {"detail", check.detail},
                   {"remedy", check.remedy}});
  }
  return json_text(all, 1) + "\n";
}

int exit_code_of(const std::vector<Check>& checks) {
  const bool failed =
      std::ranges::any_of(checks, [](const Check& check) { return check.health == Health::kFailed; });
  return failed ? kExitFailed : kExitOk;
}

void CheckList::add(Check check) {
  if (format_ == Format::kLines) {
    std::fputs(check_line(check).c_str(), out_);
    std::fflush(out_);
  }
  checks_.push_back(std::move(check));
}

int CheckList::finish() {
  if (format_ == Format::kJson) std::fputs(checks_json(checks_).c_str(), out_);
  return exit_code_of(checks_);
}

}  // namespace tf
