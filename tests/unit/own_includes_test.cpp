// Precompiled headers bring names to files that do not include them. Each file reaches by its own includes,
// and those of the headers of ours that it includes, what it uses of them: it compiles without, as in the
// presets asan and fuzz.

#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/unit/included_by.h"

namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string>;

// For each header of cmake/headers that all files have: the names for which a file includes it. Other names
// of it come with these, or are not ours to use.
const std::map<std::string, Names>& names_of_headers() {
  static const std::map<std::string, Names> names = {
      {"absl/status/status.h", {"absl::Status", "absl::StatusCode", "absl::OkStatus"}},
      {"absl/status/statusor.h", {"absl::StatusOr", "absl::Status", "absl::StatusCode", "absl::OkStatus"}},
      {"absl/strings/ascii.h", {"absl::StripAsciiWhitespace", "absl::AsciiStrToLower"}},
      {"absl/strings/match.h", {"absl::StrContains", "absl::StartsWith", "absl::EndsWith"}},
      {"absl/strings/numbers.h", {"absl::SimpleAtoi", "absl::SimpleAtod", "absl::SimpleAtof"}},
      {"absl/strings/str_cat.h", {"absl::StrCat", "absl::StrAppend"}},
      {"absl/strings/str_format.h", {"absl::StrFormat", "absl::StrAppendFormat"}},
      {"absl/strings/str_join.h", {"absl::StrJoin"}},
      {"absl/strings/str_replace.h", {"absl::StrReplaceAll"}},
      {"absl/strings/str_split.h", {"absl::StrSplit"}},
      {"absl/time/clock.h", {"absl::Now", "absl::SleepFor", "absl::Time", "absl::Duration", "absl::Seconds"}},
      {"absl/time/time.h", {"absl::Time", "absl::Duration", "absl::Seconds"}},
      {"algorithm",
       {"std::all_of",      "std::any_of",    "std::clamp",       "std::copy",        "std::count_if",
        "std::fill",        "std::find",      "std::find_if",     "std::lower_bound", "std::max",
        "std::max_element", "std::min",       "std::min_element", "std::none_of",     "std::nth_element",
        "std::ranges",      "std::remove_if", "std::reverse",     "std::sort",        "std::stable_sort",
        "std::transform",   "std::unique",    "std::upper_bound"}},
      {"array", {"std::array"}},
      {"atomic", {"std::atomic"}},
      {"chrono", {"std::chrono"}},
      {"cmath",
       {"std::abs", "std::ceil", "std::exp", "std::floor", "std::isfinite", "std::isnan", "std::llround",
        "std::log", "std::lround", "std::pow", "std::round", "std::sqrt"}},
      {"compare", {"std::strong_ordering", "std::partial_ordering", "std::weak_ordering"}},
      {"condition_variable", {"std::condition_variable"}},
      {"cstdint", {}},  // its types are called without std
      {"cstdio", {"std::fprintf", "std::printf", "std::snprintf"}},
      {"cstdlib", {"std::abs"}},
      {"cstring",
       {"std::memcmp", "std::memcpy", "std::memset", "std::strcmp", "std::strerror", "std::strlen"}},
      {"deque", {"std::deque"}},
      {"filesystem", {"std::filesystem"}},
      {"functional", {"std::function"}},
      {"limits", {"std::numeric_limits"}},
      {"map", {"std::map", "std::multimap", "std::pair"}},
      {"memory",
       {"std::make_shared", "std::make_unique", "std::shared_ptr", "std::unique_ptr", "std::weak_ptr"}},
      {"mutex", {"std::lock_guard", "std::mutex", "std::scoped_lock", "std::unique_lock"}},
      {"nlohmann/json.hpp", {"nlohmann::json", "nlohmann::ordered_json"}},
      {"nlohmann/json_fwd.hpp", {"nlohmann::json", "nlohmann::ordered_json"}},
      {"numeric", {"std::accumulate", "std::gcd", "std::iota", "std::lcm"}},
      {"optional", {"std::nullopt", "std::optional"}},
      {"ranges", {"std::ranges"}},
      {"set", {"std::multiset", "std::set"}},
      {"span", {"std::span"}},
      {"string", {"std::string", "std::string_view", "std::to_string"}},
      {"string_view", {"std::string_view"}},
      {"thread", {"std::jthread", "std::thread"}},
      {"tuple", {"std::tie", "std::tuple"}},
      {"utility", {"std::exchange", "std::move", "std::pair"}},
      {"variant", {"std::get_if", "std::variant", "std::visit"}},
      {"vector", {"std::vector"}},
  };
  return names;
}

std::string text_of(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

struct Source {
  Names includes;  // as they are written, without brackets and quotes
  Names names;     // "std::vector", …, of the table
};

// Of "NAMESPACE::NAME" at each place of the line's code the first two words; strings are taken for code.
Names names_in(const std::string& line) {
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  const std::string code = line.substr(0, line.find("//"));
  Names names;
  for (size_t colons = code.find("::"); colons != std::string::npos; colons = code.find("::", colons + 2)) {
    size_t begin = colons, end = colons + 2;
    while (begin > 0 && is_word(code[begin - 1])) --begin;
    while (end < code.size() && is_word(code[end])) ++end;
    names.insert(code.substr(begin, end - begin));
  }
  return names;
}

Source read(const fs::path& file) {
  Source source;
  std::istringstream lines(text_of(file));
  for (std::string line; std::getline(lines, line);) {
    if (const std::string include = included_by(line); !include.empty()) source.includes.insert(include);
    source.names.merge(names_in(line));
  }
  return source;
}

bool is_checked(const std::string& path) {
  const std::string extension = fs::path(path).extension();
  if ((extension != ".h" && extension != ".cpp") || path.ends_with("_test.cpp")) return false;
  for (const char* top : {"base/", "compiler/", "database/", "rpc/", "tracker/", "device_agent/", "tuner/",
                          "tests/bench/", "tests/farm/", "tests/fuzz/", "tests/support/"}) {
    if (path.starts_with(top)) return true;
  }
  return false;
}

class OwnIncludes : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* top :
         {"base", "compiler", "database", "rpc", "tracker", "device_agent", "tuner", "tests"}) {
      for (const auto& entry : fs::recursive_directory_iterator(fs::path(TF_SOURCE_DIR) / top)) {
        const std::string path = fs::relative(entry.path(), TF_SOURCE_DIR);
        if (path.ends_with(".h") || path.ends_with(".cpp")) sources_[path] = read(entry.path());
      }
    }
  }

  // The names of all headers that the file reaches.
  Names reached_from(const std::string& path) const {
    Names names, seen;
    std::vector<std::string> next = {path};
    while (!next.empty()) {
      const std::string file = next.back();
      next.pop_back();
      if (!seen.insert(file).second) continue;
      if (const auto ours = sources_.find(file); ours != sources_.end())
        next.insert(next.end(), ours->second.includes.begin(), ours->second.includes.end());
      if (const auto header = names_of_headers().find(file); header != names_of_headers().end())
        names.insert(header->second.begin(), header->second.end());
    }
    return names;
  }

  std::map<std::string, Source> sources_;  // by path
};

TEST(IncludedBy, IsWhatStandsBetweenBracketsOrQuotes) {
  EXPECT_EQ(included_by("#include \"base/files/file.h\"  // why"), "base/files/file.h");
  EXPECT_EQ(included_by("  #  include <map>"), "map");
  for (const char* other :
       {"", "// #include <map>", "#include", "#include <map", "#define A \"b\"", "a < b;"})
    EXPECT_EQ(included_by(other), "") << other;
}

TEST_F(OwnIncludes, ReachWhatAFileUsesOfPrecompiledHeaders) {
  Names known;
  for (const auto& [header, names] : names_of_headers()) known.insert(names.begin(), names.end());
  int checked = 0;
  for (const auto& [path, source] : sources_) {
    if (!is_checked(path)) continue;
    const Names reached = reached_from(path);
    for (const std::string& name : source.names) {
      if (!known.contains(name)) continue;
      ++checked;
      EXPECT_TRUE(reached.contains(name)) << path << " uses " << name << " and includes no header for it";
    }
  }
  EXPECT_GT(checked, 3000) << "the test looked at too little to mean anything";
}

TEST_F(OwnIncludes, AreKnownOfEachPrecompiledHeaderOfTheVocabulary) {
  const std::string text = text_of(fs::path(TF_SOURCE_DIR) / "cmake/headers/CMakeLists.txt");
  const size_t begin = text.find("set(vocabulary"), end = text.find(")", begin);
  ASSERT_NE(begin, std::string::npos);
  int headers = 0;
  for (size_t at = text.find('<', begin); at < end; at = text.find('<', at + 1)) {
    const std::string header = text.substr(at + 1, text.find('>', at) - at - 1);
    ++headers;
    EXPECT_TRUE(names_of_headers().contains(header)) << "no name of <" << header << "> is looked for";
  }
  EXPECT_GT(headers, 20);
}

}  // namespace
