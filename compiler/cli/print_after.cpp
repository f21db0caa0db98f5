#include "compiler/cli/print_after.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "base/cli/suggestion.h"

namespace tf::compiler_cli {

void add_print_after_option(CLI::App& command, std::string& pass, const std::string& printed) {
  command
      .add_option("--print-after", pass,
                  absl::StrCat("Print ", printed, " after this pass of the pipeline; all: after every pass"))
      ->type_name("PASS");
}

absl::Status check_pass(const std::string& given, const std::vector<std::string>& passes) {
  if (given.empty() || given == "all" || std::ranges::count(passes, given) > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--print-after: ", no_such_name("pass", given, passes)));
}

std::string print_after_text(const std::vector<PassText>& passes) {
  std::string out;
  const std::string* before = nullptr;
  for (const auto& [pass, text] : passes) {
    const bool is_same = before != nullptr && *before == text;
    absl::StrAppend(&out, "# after ", pass, is_same ? ": unchanged\n" : "\n", is_same ? "" : text);
    before = &text;
  }
  return out;
}

nlohmann::json print_after_json(const std::vector<PassText>& passes) {
  nlohmann::json all = nlohmann::json::array();
  for (const auto& [pass, text] : passes) all.push_back({{"pass", pass}, {"ir", text}});
  return all;
}

}  // namespace tf::compiler_cli
