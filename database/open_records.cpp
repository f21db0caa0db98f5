#include "database/open_records.h"

#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/remedy.h"
#include "base/status.h"
#include "database/jsonl.h"
#include "database/sqlite_store.h"

namespace tf::database {
namespace {

constexpr std::string_view kScheme = "tuner://";
constexpr std::string_view kJsonLines = ".jsonl";

// HOST:PORT of a tuner that is named as no file is: by a scheme of another kind, or by that alone. Empty for
// a file's name.
std::string address_in(const std::string& spec) {
  std::string address = spec;
  const size_t scheme = spec.find("://");
  if (scheme != std::string::npos) {
    address = spec.substr(scheme + 3);
    address = address.substr(0, address.find('/'));
  } else if (!is_missing(spec)) {
    return "";
  }
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) return scheme == std::string::npos ? "" : address + ":7191";
  const std::string host = address.substr(0, colon), port = address.substr(colon + 1);
  const bool is_port =
      !port.empty() && port.size() <= 5 && port.find_first_not_of("0123456789") == std::string::npos;
  return is_port && !host.empty() && host.find('/') == std::string::npos ? address : "";
}

// INVALID_ARGUMENT for a spec that means a running tuner and does not say so.
absl::Status check_scheme(const std::string& spec) {
  const std::string address = spec.starts_with(kScheme) ? "" : address_in(spec);
  if (address.empty()) return absl::OkStatus();
  return with_remedy(absl::StatusCode::kInvalidArgument, absl::StrCat("--db ", spec, ": no such file"),
                     absl::StrCat("for a running tuner write tuner://", address), Between::kSemicolon);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Records>> open_records(const std::string& spec, const RemoteOpener& remote) {
  if (spec.starts_with(kScheme)) {
    const std::string host_port = spec.substr(kScheme.size());
    if (host_port.find(':') == std::string::npos || host_port.ends_with(':')) {
      return with_remedy(absl::StatusCode::kInvalidArgument,
                         absl::StrCat("\"", spec, "\" does not name a tuner"), "write tuner://HOST:PORT",
                         Between::kSemicolon);
    }
    if (remote) return remote(host_port);
    return absl::InvalidArgumentError(
        absl::StrCat("cannot use ", spec, " here: this command reads a database file or a .jsonl file"));
  }
  TF_RETURN_IF_ERROR(check_scheme(spec));
  if (spec.ends_with(kJsonLines)) return open_jsonl_records(spec);
  return open_sqlite_records(spec);
}

absl::Status check_writable(const std::string& spec) {
  if (spec.starts_with(kScheme)) {
    return with_remedy(absl::StatusCode::kInvalidArgument,
                       absl::StrCat("--db ", spec, ": this command writes a database file, not a tuner's"),
                       "give a FILE, or `tuner submit` to that tuner", Between::kSemicolon);
  }
  if (!address_in(spec).empty()) return check_writable(std::string(kScheme) + address_in(spec));
  if (spec.ends_with(kJsonLines)) {
    return with_remedy(
        absl::StatusCode::kInvalidArgument,
        absl::StrCat("--db ", spec, ": this command writes a database, but .jsonl means JSON lines"),
        "give it another name, such as tune.db; `tuner export` writes JSON lines", Between::kSemicolon);
  }
  return absl::OkStatus();
}

bool is_file(const std::string& spec) {
  return !spec.starts_with(kScheme) && !spec.ends_with(kJsonLines);
}

bool is_new_file(const std::string& spec) {
  return is_file(spec) && is_missing(spec);
}

}  // namespace tf::database
