#include "tuner/web/gateway/disk_paths.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>

namespace tf::web {
namespace {

const std::set<std::string, std::less<>>& root_folders() {
  static const auto& folders = *[] {
    auto* found = new std::set<std::string, std::less<>>;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/", error)) {
      if (entry.is_directory(error)) found->insert(entry.path().filename());
    }
    return found;
  }();
  return folders;
}

bool ends_path(char c) {
  return static_cast<unsigned char>(c) <= ' ' ||
         std::string_view("\"'`\\,;:()[]{}<>|*?").find(c) != std::string_view::npos;
}

// In JSON: a line's end, a tab, or a character by its number.
bool ends_with_escape(std::string_view text) {
  const std::string_view two = text.substr(text.size() - std::min<size_t>(text.size(), 2));
  const std::string_view six = text.substr(text.size() - std::min<size_t>(text.size(), 6));
  return two == "\\n" || two == "\\r" || two == "\\t" || six.starts_with("\\u00");
}

}  // namespace

std::string without_disk_paths(std::string text) {
  std::string out;
  size_t kept = 0;  // of the text, what is in `out` or left out of it
  for (size_t at = text.find('/'); at != std::string::npos; at = text.find('/', at)) {
    // Not what goes on before, as in "a/home" or "https://": such is no absolute path.
    const bool begins = at == 0 || ends_path(text[at - 1]) || text[at - 1] == '=' ||
                        ends_with_escape(std::string_view(text).substr(0, at));
    size_t end = at + 1;
    while (begins && end < text.size() && !ends_path(text[end])) ++end;
    const std::string_view path = std::string_view(text).substr(at, end - at);
    const size_t second = path.find('/', 1);
    if (second != std::string_view::npos && root_folders().contains(path.substr(1, second - 1))) {
      out.append(text, kept, at - kept);
      kept = at + path.rfind('/') + 1;
    }
    at = end;
  }
  if (kept == 0) return text;
  out.append(text, kept);
  return out;
}

}  // namespace tf::web
