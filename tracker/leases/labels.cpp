#include "tracker/leases/labels.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "base/text/printable.h"

namespace tf::tracker {
namespace {

constexpr size_t kLongest = 63;

bool is_name(std::string_view text) {
  const auto inner = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.' || c == '/';
  };
  return !text.empty() && text.size() <= kLongest && std::ranges::all_of(text, inner) &&
         absl::ascii_isalnum(static_cast<unsigned char>(text.front())) &&
         absl::ascii_isalnum(static_cast<unsigned char>(text.back()));
}

absl::Status refuse(std::string_view what, std::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat(std::string(what), " '", printable(text.substr(0, 150)),
                                                 "' is not valid: use up to 63 letters, digits, '-', '_', "
                                                 "'.' and '/', beginning and ending with a letter or digit"));
}

std::string_view trimmed(std::string_view text) {
  const auto trimmed = absl::StripAsciiWhitespace({text.data(), text.size()});
  return {trimmed.data(), trimmed.size()};
}

}  // namespace

absl::Status check_labels(const Labels& labels) {
  for (const auto& [key, value] : labels) {
    if (!is_name(key)) return refuse("the label's key", key);
    if (!value.empty() && !is_name(value)) return refuse("the label's value", value);
  }
  return absl::OkStatus();
}

bool Selector::Term::holds(const Labels& labels) const {
  const auto found = labels.find(key);
  const bool is_there = found != labels.end() && (is_of_presence || found->second == value);
  return is_there != is_negated;
}

std::string Selector::Term::text() const {
  if (is_of_presence) return absl::StrCat(is_negated ? "!" : "", key);
  return absl::StrCat(key, is_negated ? "!=" : "=", value);
}

absl::StatusOr<Selector::Term> Selector::parse_term(std::string_view text) {
  Term term;
  if (const size_t sign = text.find('='); sign != std::string_view::npos) {
    const bool negated = sign > 0 && text[sign - 1] == '!';
    const bool doubled = sign + 1 < text.size() && text[sign + 1] == '=';
    term = {.key = std::string(trimmed(text.substr(0, negated ? sign - 1 : sign))),
            .is_negated = negated,
            .value = std::string(trimmed(text.substr(sign + (doubled && !negated ? 2 : 1))))};
  } else {
    term = {.key = std::string(text), .is_of_presence = true, .is_negated = text.starts_with('!')};
    if (term.is_negated) term.key = std::string(trimmed(text.substr(1)));
  }
  if (!is_name(term.key)) return refuse("the selector's key", term.key);
  if (!term.value.empty() && !is_name(term.value)) return refuse("the selector's value", term.value);
  return term;
}

absl::StatusOr<Selector> Selector::parse(std::string_view text) {
  Selector selector;
  if (trimmed(text).empty()) return selector;
  for (const auto part : absl::StrSplit(absl::string_view(text.data(), text.size()), ',')) {
    TF_ASSIGN_OR_RETURN(Term term, parse_term(trimmed({part.data(), part.size()})));
    selector.terms_.push_back(std::move(term));
  }
  std::ranges::sort(selector.terms_);
  const auto repeated = std::ranges::unique(selector.terms_);
  selector.terms_.erase(repeated.begin(), repeated.end());
  return selector;
}

bool Selector::matches(const Labels& labels) const {
  return std::ranges::all_of(terms_, [&](const Term& term) { return term.holds(labels); });
}

std::string Selector::unmet(const Labels& labels) const {
  const auto term = std::ranges::find_if(terms_, [&](const Term& each) { return !each.holds(labels); });
  return term == terms_.end() ? "" : term->text();
}

std::string Selector::text() const {
  return absl::StrJoin(terms_, ",",
                       [](std::string* out, const Term& term) { absl::StrAppend(out, term.text()); });
}

}  // namespace tf::tracker
