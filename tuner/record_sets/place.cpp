#include "tuner/record_sets/place.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/files/file.h"
#include "base/status.h"
#include "base/text/printable.h"

namespace tf::record_sets {

absl::StatusOr<Place> Place::parse(const std::string& text, HttpOptions http) {
  Place place;
  place.text_ = text;
  place.http_ = std::move(http);
  place.is_url_ = text.find("://") != std::string::npos;
  while (place.text_.size() > 1 && place.text_.ends_with('/')) place.text_.pop_back();
  if (place.text_.empty())
    return absl::InvalidArgumentError("the name of the folder is empty: give FOLDER or URL");
  if (place.is_url_) TF_RETURN_IF_ERROR(check_url(place.text_));
  return place;
}

std::string Place::name_of(const std::string& file) const {
  return printable(absl::StrCat(text_, "/", file));
}

absl::StatusOr<std::string> Place::read(const std::string& file, int64_t most_bytes) const {
  const std::string name = absl::StrCat(text_, "/", file);
  if (is_url_) return http_get(name, most_bytes, http_);
  std::error_code ignored;
  if (std::filesystem::is_fifo(name, ignored))
    return absl::FailedPreconditionError(
        absl::StrCat("cannot read ", name_of(file), ": it is a pipe; a set has plain files"));
  return read_file(name, most_bytes);
}

}  // namespace tf::record_sets
