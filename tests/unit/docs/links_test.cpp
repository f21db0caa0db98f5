// Links between pages lead to files that exist, and the glossary names files that exist.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <set>

#include "tests/unit/docs/fenced_examples.h"

namespace tf {
namespace {

namespace fs = std::filesystem;

// All pages below the root of the sources, as paths from there.
std::vector<std::string> pages() {
  std::vector<std::string> found;
  for (auto entry = fs::recursive_directory_iterator(TF_SOURCE_DIR); entry != fs::end(entry); ++entry) {
    const std::string name = entry->path().filename();
    if (name == "build" || name == "node_modules" || (name.starts_with(".") && entry->is_directory())) {
      entry.disable_recursion_pending();
    } else if (entry->path().extension() == ".md") {
      found.push_back(fs::relative(entry->path(), TF_SOURCE_DIR));
    }
  }
  return found;
}

// The first groups of all matches.
std::set<std::string> matches(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  std::set<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at) found.insert((*at)[1]);
  return found;
}

TEST(Pages, LinkToFilesThatExist) {
  int links = 0;
  for (const std::string& page : pages()) {
    for (const std::string& target : matches(test::read_page(page), R"(\]\(([^)#:\s]+)(#[^)]*)?\))")) {
      ++links;
      const fs::path file = fs::path(TF_SOURCE_DIR) / fs::path(page).parent_path() / target;
      EXPECT_TRUE(fs::exists(file)) << page << " links to " << target;
    }
  }
  EXPECT_GT(links, 30) << "the test looked at too little to mean anything";
}

TEST(Glossary, NamesFilesThatExist) {
  const std::set<std::string> files =
      matches(test::read_page("docs/glossary.md"), "`([a-z_0-9]+/[a-z_/0-9.]+)`");
  EXPECT_GT(files.size(), 50u) << "the test looked at too little to mean anything";
  for (const std::string& file : files) EXPECT_TRUE(fs::exists(fs::path(TF_SOURCE_DIR) / file)) << file;
}

}  // namespace
}  // namespace tf
