#include "base/machine/machine_files.h"

#include <fstream>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"

namespace tf {
namespace {

std::string_view stripped(std::string_view text) {
  const absl::string_view inner = absl::StripAsciiWhitespace(absl::string_view(text.data(), text.size()));
  return {inner.data(), inner.size()};
}

}  // namespace

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  std::erase(line, '\0');  // the device tree ends its texts with one
  return std::string(stripped(line));
}

uint64_t parse_size_bytes(std::string_view text) {
  int shift = 0;
  if (text.ends_with('K')) shift = 10;
  if (text.ends_with('M')) shift = 20;
  if (shift != 0) text.remove_suffix(1);
  uint64_t count = 0;
  return absl::SimpleAtoi(absl::string_view(text.data(), text.size()), &count) ? count << shift : 0;
}

void for_each_cpu_field(const std::function<bool(std::string_view name, std::string_view value)>& field,
                        const std::string& root) {
  std::ifstream file(root + "/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (!line.empty() && colon == std::string::npos) continue;
    const std::string_view text = line;
    const bool more = line.empty() ? field("", "")
                                   : field(stripped(text.substr(0, colon)), stripped(text.substr(colon + 1)));
    if (!more) return;
  }
}

}  // namespace tf
