#include "base/cli/command_line.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <memory>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/cli/exit_code.h"
#include "base/cli/suggestion.h"
#include "base/files/open_files.h"
#include "base/version.h"

namespace tf {
namespace {

// Words of other programs for what a command of ours does. Of a word's commands, the program has one at most.
constexpr Synonyms kSynonyms[] = {
    {"build", "compile make convert"},
    {"bench", "benchmark profile time perf"},
    {"check", "test verify validate compare"},
    {"run", "exec execute infer predict"},
    {"zoo", "models networks"},
    {"tasks", "kernels list ls"},
    {"show", "print inspect"},
    {"tune", "optimize optimise autotune search"},
    {"serve", "server daemon start"},
    {"submit", "add send enqueue"},
    {"jobs", "list ls status ps queue"},
    {"watch", "follow tail log logs progress"},
    {"cancel", "stop kill delete rm remove abort"},
    {"resume", "continue unpause"},
    {"pause", "suspend hold"},
    {"export", "dump backup save"},
    {"import", "load restore"},
    {"best", "results records report"},
    {"devices", "list ls status agents boards nodes"},
    {"waiting", "queue pending"},
    {"cordon", "disable"},
    {"release", "unreserve free"},
    {"doctor", "diagnose check-health health"},
};

// The command of the program that a word of another program stands for, or empty.
std::string command_for(const std::string& word, const std::vector<std::string>& commands) {
  for (const Synonyms& each : kSynonyms)
    if (each.contains(word) && std::ranges::count(commands, each.name) > 0) return std::string(each.name);
  return "";
}

std::string no_such_command(const std::string& given, const std::vector<std::string>& commands) {
  const std::string command = command_for(given, commands);
  if (command.empty()) return no_such_name("command", given, commands);
  return absl::StrCat("there is no command '", given, "'; did you mean ", command, "? There are ",
                      absl::StrJoin(commands, ", "));
}

// The program, the command that was given, and so on.
std::vector<const CLI::App*> commands_given(const CLI::App& app) {
  std::vector<const CLI::App*> given = {&app};
  while (!given.back()->get_subcommands().empty()) given.push_back(given.back()->get_subcommands().front());
  return given;
}

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// What is wrong, without the command's name. A word that was not understood explains more than what is
// missing because of it.
std::string mistake(const CLI::App& command, const std::vector<std::string>& not_understood,
                    const CLI::ParseError& error) {
  const auto option = std::find_if(not_understood.begin(), not_understood.end(),
                                   [](const std::string& word) { return word.starts_with("-"); });
  if (option != not_understood.end()) {
    const std::string name = option->substr(0, option->find('='));
    return absl::StrCat("there is no option ", name, suggestion(name, options_of(command)));
  }
  const std::vector<std::string> commands = commands_of(command);
  if (!commands.empty() && !not_understood.empty()) return no_such_command(not_understood.front(), commands);
  const bool lacks_command =
      !commands.empty() && command.get_require_subcommand_min() > 0 && error.get_name() == "RequiredError";
  if (lacks_command) return absl::StrCat("give a command: ", absl::StrJoin(commands, ", "));
  if (!not_understood.empty()) return absl::StrCat("'", not_understood.front(), "' is one argument too many");
  return error.what();
}

// What is wrong with a text for a number of the option's type, which is read as the parser will; nothing for
// other types.
std::string no_number(const std::string& text, const std::string& type) {
  const bool is_signed = type.starts_with("INT"), is_unsigned = type.starts_with("UINT");
  const bool is_whole = is_signed || is_unsigned;
  if (!is_whole && !type.starts_with("FLOAT")) return "";
  char* end = nullptr;
  errno = 0;
  if (is_signed) {
    (void)std::strtoll(text.c_str(), &end, 0);
  } else if (is_unsigned) {
    (void)std::strtoull(text.c_str(), &end, 0);
  } else {
    (void)std::strtold(text.c_str(), &end);
  }
  if (end != text.c_str() + text.size())
    return absl::StrCat("'", text, is_whole ? "' is not a whole number" : "' is not a number");
  if (is_unsigned && text.starts_with('-')) return absl::StrCat("'", text, "' is below 0");
  return is_whole && errno == ERANGE ? absl::StrCat("'", text, "' is too large") : "";
}

// What --help shows for an option's type: N for a number, the choices for a text that has few. A range stands
// behind the description, where the default in brackets stands, too.
void show_plain_types(CLI::App& app) {
  for (CLI::Option* option : app.get_options([](CLI::Option*) { return true; })) {
    const std::string type = option->get_type_name();
    const bool is_whole = type.starts_with("INT") || type.starts_with("UINT");
    if (!is_whole && !type.starts_with("FLOAT") && !type.starts_with("TEXT:{")) continue;
    const std::shared_ptr<CLI::FormatterBase> formatter = app.get_formatter();
    if (!is_whole) {
      const bool is_text = type.starts_with("TEXT");
      formatter->label(
          type, is_text ? absl::StrReplaceAll(type.substr(6, type.size() - 7), {{",", "|"}}) : "NUMBER");
      continue;
    }
    formatter->label(type, "N");
    const size_t begin = type.find(" in ["), middle = type.find(" - ");
    if (begin == std::string::npos || middle == std::string::npos) continue;
    const std::string least = type.substr(begin + 5, middle - begin - 5);
    const std::string most = type.substr(middle + 3, type.size() - middle - 4);
    if (most == absl::StrCat(std::numeric_limits<uint32_t>::max())) continue;
    std::string text = option->get_description();
    const size_t end = text.ends_with(']') ? text.rfind(" [") : text.size();
    option->description(text.insert(end, absl::StrCat(" (", least, " to ", most, ")")));
  }
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) show_plain_types(*command);
}

// The arguments without the program's name, with `help` where it stands for --help: `saw help cut`, and
// `saw cut help` if there is no file of that name, which may be an argument of the command.
std::vector<std::string> without_help_word(const CLI::App& app, int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  const auto is_command = [](const CLI::App& parent, const std::string& word) {
    return std::ranges::count(commands_of(parent), word) > 0;
  };
  if (!words.empty() && words.front() == "help" && !is_command(app, "help")) {
    words.erase(words.begin());
    words.emplace_back("--help");
    return words;
  }
  const CLI::App* command = &app;
  size_t i = 0;
  for (; i < words.size() && is_command(*command, words[i]); ++i) command = command->get_subcommand(words[i]);
  const bool ends_with_help = i > 0 && i + 1 == words.size() && words[i] == "help";
  if (ends_with_help && access("help", F_OK) != 0) words.back() = "--help";
  return words;
}

// Whether a word stands where a command should and is none: help without it would be of something else.
bool has_unknown_command(const CLI::App& app) {
  if (commands_of(*commands_given(app).back()).empty()) return false;
  const std::vector<std::string> words = app.remaining(true);
  return !words.empty() && std::none_of(words.begin(), words.end(),
                                        [](const std::string& word) { return word.starts_with("-"); });
}

// An exception that nobody catches (a library's, for want of files or memory) ends the program with a line
// and the documented code, in place of "terminate called" and a core dump. What is not an exception is our
// bug.
void end_in_one_line(std::string program) {
  static std::string name;
  name = std::move(program);
  std::set_terminate([] {
    const std::exception_ptr error = std::current_exception();
    if (error == nullptr) std::abort();
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& known) {
      std::fprintf(stderr, "%s: %s\n", name.c_str(), known.what());
    } catch (...) {
      std::fprintf(stderr, "%s: unknown error\n", name.c_str());
    }
    std::_Exit(kExitFailed);
  });
}

void add_version_flag(CLI::App& app, const std::string& line) {
  app.set_version_flag("--version", line,
                       "Print the release and the versions of the protocol, schedules and database");
  // Of a command it is what it is of the program: its help need not say so again.
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    add_version_flag(*command, line);
    command->get_option("--version")->group("");
  }
}

}  // namespace

void refuse_no_values(CLI::App& app) {
  for (CLI::Option* option : app.get_options([](CLI::Option*) { return true; })) {
    if (option->get_items_expected_max() == 0) continue;  // a flag
    option->check([type = option->get_type_name()](const std::string& text) -> std::string {
      return text.empty() ? "the value is empty: give one, or omit the option" : no_number(text, type);
    });
  }
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) refuse_no_values(*command);
}

std::string command_name(const CLI::App& app) {
  return absl::StrJoin(commands_given(app), " ", [](std::string* out, const CLI::App* command) {
    absl::StrAppend(out, command->get_name());
  });
}

int finish_command(const CLI::App& app, const Run& run) {
  const std::string name = command_name(app);
  const absl::StatusOr<int> code = run();
  return finish_output(name.c_str(), code.ok() ? *code : report_error(name.c_str(), code.status()));
}

std::string describe_mistake(const CLI::App& app, const CLI::ParseError& error) {
  const std::string name = command_name(app);
  std::vector<std::string> not_understood = app.remaining(true);
  std::erase(not_understood, "--");  // which only says that what follows is no option
  const std::string wrong = mistake(*commands_given(app).back(), not_understood, error);
  return absl::StrCat(name, ": ", wrong, wrong.ends_with("?") ? "" : ";", " see `", name, " --help`");
}

std::function<std::string(const std::string&)> at_least(double least) {
  return [least](const std::string& text) -> std::string {
    double value = 0;
    const bool is_number = absl::SimpleAtod(text, &value) && std::isfinite(value);
    return is_number && value >= least
               ? ""
               : absl::StrCat("'", text, "' is not a finite number of at least ", least);
  };
}

std::string above_zero(const std::string& text) {
  double value = 0;
  const bool is_above = absl::SimpleAtod(text, &value) && std::isfinite(value) && value > 0;
  return is_above ? "" : absl::StrCat("'", text, "' is not a finite number above 0");
}

std::string version_line(const std::string& program, const std::vector<Agreed>& agreed) {
  const std::string versions = absl::StrJoin(agreed, ", ", [](std::string* out, const Agreed& each) {
    absl::StrAppend(out, each.what, " ", each.version);
  });
  return absl::StrCat(program, " ", std::string(version()),
                      versions.empty() ? "" : absl::StrCat(" (", versions, ")"));
}

std::optional<int> parse_command_line(CLI::App& app, int argc, char** argv,
                                      const std::vector<Agreed>& agreed) {
  add_version_flag(app, version_line(app.get_name(), agreed));
  refuse_no_values(app);
  show_plain_types(app);
  try {
    std::vector<std::string> words = without_help_word(app, argc, argv);
    std::ranges::reverse(words);  // as the parser wants them
    app.parse(std::move(words));
  } catch (const CLI::Success& wish) {
    if (has_unknown_command(app)) {
      std::fprintf(stderr, "%s\n", describe_mistake(app, wish).c_str());
      return kExitUsage;
    }
    std::ostringstream wished;
    app.exit(wish, wished);  // between options and footer it leaves two lines
    std::fputs(absl::StrReplaceAll(wished.str(), {{"\n\n\n", "\n\n"}}).c_str(), stdout);
    return finish_output(app.get_name().c_str(), kExitOk);
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "%s\n", describe_mistake(app, error).c_str());
    return kExitUsage;
  }
  end_in_one_line(command_name(app));
  if (const absl::Status room = make_room_for_files(); !room.ok())
    return report_error(command_name(app).c_str(), room);
  return std::nullopt;
}

}  // namespace tf
