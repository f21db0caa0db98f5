#pragma once
// Owns: the files of a set by their names, in a folder or at a URL, as anybody may have put them there. Does
// not know: what is in them.

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "tuner/record_sets/http_get.h"

namespace tf::record_sets {

class Place {
 public:
  // Whether FOLDER, http://… or https://… can be one; nothing is read. INVALID_ARGUMENT.
  static absl::StatusOr<Place> parse(const std::string& text, HttpOptions http = {});

  // NOT_FOUND: there is no such file; FAILED_PRECONDITION: it has more than `most_bytes`, or is no plain file: a
  // pipe in somebody's folder might never end. Else why it cannot be read. All with the file's name.
  absl::StatusOr<std::string> read(const std::string& file, int64_t most_bytes) const;
  // "FOLDER/v3.json", for messages.
  std::string name_of(const std::string& file) const;
  bool is_url() const { return is_url_; }
  const std::string& text() const { return text_; }  // without slashes at its end

 private:
  std::string text_;
  bool is_url_ = false;
  HttpOptions http_;
};

}  // namespace tf::record_sets
