#pragma once
// Owns: how every program parses its command line, and what it says to a mistake there. Does not know any
// command.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace tf {

// What two programs, or a program and a file, must have the same version of.
struct Agreed {
  std::string what;  // as in "farm protocol"
  int64_t version;
};

// Parses the command line, to which it adds `--version`, also to every command. Nothing if it was understood;
// otherwise the exit code, after the help or the version that was asked for was printed, or one line on
// stderr that says what is wrong, as of help that was asked for of a command that is none. The word `help`
// is taken for --help. Lets the process open more files, and has it end with one line where an exception of a
// library is caught by nobody.
std::optional<int> parse_command_line(CLI::App& app, int argc, char** argv,
                                      const std::vector<Agreed>& agreed = {});

// Of a program that has parsed its command line, with the command that was given: "saw cut". Its errors begin
// so.
std::string command_name(const CLI::App& app);

// What the chosen command does: its exit code, or why it failed.
using Run = std::function<absl::StatusOr<int>()>;

// The end of a program that has parsed its command line: runs the command that was given. An error becomes a line on
// stderr that begins with the command's name. Returns the exit code (finish_output).
int finish_command(const CLI::App& app, const Run& run);

// What `--version` prints: "saw 0.1.0 (wood 3, glue 2)".
std::string version_line(const std::string& program, const std::vector<Agreed>& agreed);

// Before parsing, which does so by itself: refuses, of every option of every command, a value that is empty
// (a variable of a script that is not set), what is no number where the option wants one, and a whole number
// that 64 bits do not hold, which the parser would wrap or cut off.
void refuse_no_values(CLI::App& app);

// For check() of an option: what is wrong with a text that is no finite number of at least `least`; else
// nothing.
std::function<std::string(const std::string&)> at_least(double least);
// Likewise, of a text that is no finite number above 0: where 0 stands for no limit, who writes it means
// something else.
std::string above_zero(const std::string& text);

// That line: the command that was given, what is wrong with it, what it may have meant, where its help is.
// `app` has just thrown `error`.
std::string describe_mistake(const CLI::App& app, const CLI::ParseError& error);

}  // namespace tf
