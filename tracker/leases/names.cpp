#include "tracker/leases/names.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/text/printable.h"
#include "rpc/identity/identity.h"

namespace tf::tracker {
namespace {

constexpr size_t kLongestName = 128;
constexpr size_t kLongestHolder = 200;  // and printable() cuts what is longer

bool is_printable(std::string_view text) {
  return printable(text) == text;
}

absl::Status refuse(std::string_view what, std::string_view text, std::string_view rule) {
  return absl::InvalidArgumentError(absl::StrCat(std::string(what), " \"", printable(text.substr(0, 150)),
                                                 "\" is refused: ", std::string(rule)));
}

}  // namespace

absl::Status check_device_id(std::string_view id) {
  const std::vector<std::string> parts = absl::StrSplit(std::string(id), '/');
  const bool named =
      std::ranges::all_of(parts, [](const std::string& part) { return rpc::check_identity_name(part).ok(); });
  if (named && id.size() <= kLongestName) return absl::OkStatus();
  return refuse("the device id", id,
                "use 1 to 128 letters, digits, '.', '_' and '-' in --id; '/' separates names, each beginning "
                "with a letter or digit");
}

absl::Status check_key(std::string_view what, std::string_view key) {
  if (!key.empty() && key.size() <= kLongestName && is_printable(key)) return absl::OkStatus();
  return refuse(what, key, "give 1 to 128 printable characters");
}

absl::Status check_holder_name(std::string_view what, std::string_view name) {
  if (name.size() <= kLongestHolder && is_printable(name)) return absl::OkStatus();
  return refuse(what, name, "give up to 200 printable characters");
}

}  // namespace tf::tracker
