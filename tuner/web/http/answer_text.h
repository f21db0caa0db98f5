#pragma once
// Owns: the head of an answer as text, with the fields that every answer has, whatever it is. Does not know:
// connections.

#include <cstddef>
#include <string>

#include "tuner/web/http/exchange.h"

namespace tf::web {

struct Framing {
  bool keep_alive = false;
  bool chunked = false;
  std::optional<size_t> length = std::nullopt;  // nothing: until the connection ends, unless it is chunked
};

// Up to the empty line. No answer says that a page of another origin may read it.
std::string answer_head(const Answer& answer, const Framing& framing);

// What a page of ours may load: itself, and nothing of others.
extern const char* const kContentSecurityPolicy;

}  // namespace tf::web
