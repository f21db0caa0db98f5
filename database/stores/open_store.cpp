#include "database/stores/open_store.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/files/file.h"
#include "base/remedy.h"
#include "base/status.h"
#include "database/jsonl.h"
#include "database/merged_records.h"
#include "database/remote/remote_records.h"
#include "database/sqlite/sqlite_store.h"

namespace tf::database {
namespace {

// A file's name without a scheme is of the last whose suffix it has.
const StoreScheme* const kSchemes[] = {
    &kSqlite,
    &kJsonLines,
    &remote::kTuner,
};

struct Place {
  const StoreScheme* scheme = nullptr;
  std::string place;
};

const StoreScheme* scheme_called(std::string_view name) {
  const auto* const found =
      std::ranges::find_if(kSchemes, [&](const StoreScheme* scheme) { return scheme->name == name; });
  return found == std::end(kSchemes) ? nullptr : *found;
}

// The HOST:PORT in a text that is neither a file nor has a scheme, or has that of a web page: a tuner's address. Empty: none.
std::string tuner_address(const std::string& url) {
  const size_t scheme = url.find("://");
  const bool is_web = url.starts_with("http://") || url.starts_with("https://");
  if (!is_web && (scheme != std::string::npos || !is_missing(url))) return "";
  std::string address = is_web ? url.substr(scheme + 3) : url;
  if (is_web) address = address.substr(0, address.find('/'));
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) return is_web ? address + ":7191" : "";
  const std::string host = address.substr(0, colon), port = address.substr(colon + 1);
  const bool is_port =
      !port.empty() && port.size() <= 5 && port.find_first_not_of("0123456789") == std::string::npos;
  return is_port && !host.empty() && host.find('/') == std::string::npos ? address : "";
}

absl::Status refusal(const std::string& truth, const std::string& remedy) {
  return with_remedy(absl::StatusCode::kInvalidArgument, truth, remedy, Between::kSemicolon);
}

absl::StatusOr<Place> parse(const std::string& url) {
  const size_t colon = url.find(':');
  const bool has_slashes = colon != std::string::npos && url.compare(colon, 3, "://") == 0;
  if (colon != std::string::npos) {
    if (const StoreScheme* scheme = scheme_called(url.substr(0, colon))) {
      Place place{scheme, url.substr(colon + (has_slashes ? 3 : 1))};
      if (place.place.empty() && scheme->suffix != nullptr)
        return refusal(absl::StrCat("--db \"", url, "\" names no file"),
                       absl::StrCat("write ", scheme->name, ":FILE"));
      return place;
    }
  }
  if (const std::string address = tuner_address(url); !address.empty())
    return refusal(absl::StrCat("--db ", url, ": no such file"),
                   absl::StrCat("for a running tuner write tuner://", address));
  const auto named = std::find_if(std::rbegin(kSchemes), std::rend(kSchemes), [&](const StoreScheme* scheme) {
    return !has_slashes && scheme->suffix != nullptr && url.ends_with(scheme->suffix);
  });
  if (named != std::rend(kSchemes)) return Place{*named, url};
  return refusal(absl::StrCat("--db ", url, ": no store has this scheme"),
                 absl::StrCat("give ", store_forms()));
}

absl::StatusOr<Place> parse_writable(const std::string& url) {
  TF_ASSIGN_OR_RETURN(Place place, parse(url));
  if (place.scheme->open_store != nullptr) return place;
  return refusal(absl::StrCat("--db ", url, ": ", place.scheme->why_only_read), place.scheme->instead);
}

}  // namespace

std::string store_forms() {
  return absl::StrJoin(kSchemes, ", ",
                       [](std::string* out, const StoreScheme* scheme) { out->append(scheme->form); });
}

absl::StatusOr<std::unique_ptr<Records>> open_records(const std::string& url, const ReadOptions& options) {
  TF_ASSIGN_OR_RETURN(const Place place, parse(url));
  return place.scheme->open_records(place.place, options);
}

absl::StatusOr<std::unique_ptr<Records>> open_all_records(const std::vector<std::string>& urls,
                                                          const ReadOptions& options) {
  std::vector<std::unique_ptr<Records>> stores;
  for (const std::string& url : urls) {
    TF_ASSIGN_OR_RETURN(stores.emplace_back(), open_records(url, options));
  }
  return merge_records(std::move(stores));
}

absl::StatusOr<std::unique_ptr<Store>> open_store(const std::string& url, const WriteOptions& options) {
  TF_ASSIGN_OR_RETURN(const Place place, parse_writable(url));
  return place.scheme->open_store(place.place, options);
}

absl::Status check_writable(const std::string& url) {
  return parse_writable(url).status();
}

std::optional<std::string> sqlite_file(const std::string& url) {
  const absl::StatusOr<Place> place = parse(url);
  if (!place.ok() || place->scheme != &kSqlite) return std::nullopt;
  return place->place;
}

std::vector<std::string> local_files(const std::string& url) {
  const absl::StatusOr<Place> place = parse(url);
  if (!place.ok() || place->scheme->suffix == nullptr) return {};
  std::vector<std::string> files = {place->place};
  if (place->scheme == &kSqlite)
    for (const char* suffix : {"-wal", "-shm", "-journal", ".lock"})
      files.push_back(companion_of(place->place, suffix));
  return files;
}

absl::StatusOr<std::string> writable_sqlite_file(const std::string& url) {
  TF_ASSIGN_OR_RETURN(Place place, parse_writable(url));
  if (place.scheme == &kSqlite) return std::move(place.place);
  return refusal(absl::StrCat("--db ", url, ": this command needs a database file"),
                 absl::StrCat("give ", kSqlite.form));
}

}  // namespace tf::database
