#include "base/doctor.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/exit_code.h"
#include "base/json_text.h"
#include "base/printable.h"
#include "base/remedy.h"

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

std::string checks_table(const std::vector<Check>& checks) {
  size_t width = 0;
  for (const Check& check : checks) width = std::max(width, check.what.size());
  std::string text;
  for (const Check& check : checks) {
    const std::string remedy = check.remedy.empty() ? "" : "; " + printable(check.remedy);
    absl::StrAppend(
        &text, absl::StrFormat("%-6s  %-*s  ", for_people(check.health), static_cast<int>(width), check.what),
        printable(check.detail), remedy, "\n");
  }
  return text;
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

}  // namespace tf
