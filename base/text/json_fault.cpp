#include "base/text/json_fault.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace tf {

std::string json_fault(const nlohmann::json::exception& error) {
  constexpr int kOtherType = 302, kNoObject = 304, kNoKey = 403;  // https://json.nlohmann.me/home/exceptions
  const std::string_view all = error.what();
  // After the library's name of the error.
  const std::string what(all.substr(std::min(all.find("] ") + 2, all.size())));
  if (error.id == kNoKey) {
    const size_t begin = what.find('\'') + 1, end = what.rfind('\'');
    return absl::StrCat("a key is missing: \"", what.substr(begin, end - begin), "\"");
  }
  if (error.id == kOtherType)
    return absl::StrCat("a value's ", what);  // "type must be string, but is number"
  if (error.id == kNoObject) {                // "cannot use at() with number"
    const std::string found = what.substr(what.rfind(' ') + 1);
    if (found == "array") return "a list where an object is expected";
    if (found == "object") return "an object where a list is expected";
    return absl::StrCat("a ", found, " where an object or a list is expected");
  }
  return what;
}

}  // namespace tf
