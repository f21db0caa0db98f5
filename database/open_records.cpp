#include "database/open_records.h"

#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/remedy.h"
#include "database/jsonl.h"
#include "database/sqlite_store.h"

namespace tf::database {
namespace {

constexpr std::string_view kScheme = "tuner://";
constexpr std::string_view kJsonLines = ".jsonl";

}  // namespace

absl::StatusOr<std::unique_ptr<Records>> open_records(const std::string& spec, const RemoteOpener& remote) {
  if (spec.starts_with(kScheme)) {
    const std::string host_port = spec.substr(kScheme.size());
    if (host_port.find(':') == std::string::npos || host_port.ends_with(':')) {
      return with_remedy(absl::StatusCode::kInvalidArgument, absl::StrCat("\"", spec, "\" names no tuner"),
                         "write tuner://HOST:PORT", Between::kSemicolon);
    }
    if (remote) return remote(host_port);
    return absl::InvalidArgumentError(
        absl::StrCat("cannot use ", spec, " here: this command reads a database file or a .jsonl file"));
  }
  if (spec.ends_with(kJsonLines)) return open_jsonl_records(spec);
  return open_sqlite_records(spec);
}

absl::Status check_writable(const std::string& spec) {
  if (spec.starts_with(kScheme)) {
    return with_remedy(absl::StatusCode::kInvalidArgument,
                       absl::StrCat("--db ", spec, ": this command writes a database file, not a tuner's"),
                       "give a FILE, or `tuner submit` to that tuner", Between::kSemicolon);
  }
  if (spec.ends_with(kJsonLines)) {
    return with_remedy(
        absl::StatusCode::kInvalidArgument,
        absl::StrCat("--db ", spec, ": this command writes a database, and .jsonl is read as JSON lines"),
        "give it another name, as tune.db; `tuner export` makes JSON lines of it", Between::kSemicolon);
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
