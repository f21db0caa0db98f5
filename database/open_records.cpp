#include "database/open_records.h"

#include "absl/strings/str_cat.h"
#include "database/jsonl.h"
#include "database/sqlite_store.h"

namespace tf::database {

absl::StatusOr<std::unique_ptr<Records>> open_records(const std::string& spec, const RemoteOpener& remote) {
  constexpr std::string_view kScheme = "tuner://";
  if (spec.starts_with(kScheme)) {
    const std::string host_port = spec.substr(kScheme.size());
    if (host_port.find(':') == std::string::npos || host_port.ends_with(':')) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", spec, "\" names no tuner; write tuner://HOST:PORT"));
    }
    if (remote) return remote(host_port);
    return absl::InvalidArgumentError(
        absl::StrCat("cannot use ", spec, " here: this command reads a database file or a .jsonl file"));
  }
  if (spec.ends_with(".jsonl")) return open_jsonl_records(spec);
  return open_sqlite_records(spec);
}

}  // namespace tf::database
