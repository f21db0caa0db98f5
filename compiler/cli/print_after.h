#pragma once
// Owns: the option --print-after of the commands that show what a pass leaves behind, and its output.

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "nlohmann/json_fwd.hpp"

namespace CLI {
class App;
}

namespace tf::compiler_cli {

// Adds "--print-after PASS". `printed`: what is printed, as in "the loop IR".
void add_print_after_option(CLI::App& command, std::string& pass, const std::string& printed);

// OK for "", "all" and the names of `passes`; else INVALID_ARGUMENT with the list and the closest name.
absl::Status check_pass(const std::string& given, const std::vector<std::string>& passes);

struct PassText {
  std::string pass, text;
};

// Each text after the line "# after PASS"; where a pass changed nothing, only that line, which says so.
std::string print_after_text(const std::vector<PassText>& passes);
// [{"pass": …, "ir": …}, …]
nlohmann::json print_after_json(const std::vector<PassText>& passes);

}  // namespace tf::compiler_cli
