#pragma once
// Owns: reading the examples of a Markdown page: the blocks between ```LANGUAGE and ```.

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace tf::test {

struct Example {
  std::string language;
  std::string text;
  int line = 0;  // of its first line in the page
};

// The page's whole text; "" if there is none. `path`: below the root of the sources.
inline std::string read_page(const std::string& path) {
  std::ifstream file(std::filesystem::path(TF_SOURCE_DIR) / path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// All fenced blocks with a language, in the page's order.
inline std::vector<Example> fenced_examples(const std::string& page) {
  std::vector<Example> examples;
  std::istringstream lines(page);
  bool is_inside = false;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.starts_with("```")) {
      is_inside = !is_inside;
      if (is_inside) examples.push_back({line.substr(3), "", number + 1});
    } else if (is_inside) {
      examples.back().text += line + "\n";
    }
  }
  return examples;
}

}  // namespace tf::test
