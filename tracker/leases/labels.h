#pragma once
// Owns: labels of devices (k=v) and selectors over them, as Kubernetes writes equality-based requirements.
// Does not know: devices.

#include <compare>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tf::tracker {

using Labels = std::map<std::string, std::string>;

// INVALID_ARGUMENT: a key or value that is not 1 to 63 (values: 0 to 63) of letters, digits, '-', '_', '.'
// and
// '/' that begin and end with a letter or digit.
absl::Status check_labels(const Labels& labels);

// Requirements that all hold. Two selectors that ask for the same are equal.
class Selector {
 public:
  // "room=lab3,board!=devkit,calibrated,!shared": equal (also ==), not equal (or absent), present, absent.
  // Empty: matches everything. INVALID_ARGUMENT: what cannot be read, and where.
  static absl::StatusOr<Selector> parse(std::string_view text);

  bool matches(const Labels& labels) const;
  // The first requirement that the labels do not meet; empty if they meet all.
  std::string unmet(const Labels& labels) const;
  // parse() of it gives an equal selector.
  std::string text() const;
  bool empty() const { return terms_.empty(); }
  auto operator<=>(const Selector&) const = default;

 private:
  struct Term {
    std::string key;
    bool is_of_presence = false;  // of the key, whatever its value
    bool is_negated = false;
    std::string value;
    auto operator<=>(const Term&) const = default;
    bool holds(const Labels& labels) const;
    std::string text() const;
  };
  static absl::StatusOr<Term> parse_term(std::string_view text);

  std::vector<Term> terms_;  // sorted, each once
};

}  // namespace tf::tracker
