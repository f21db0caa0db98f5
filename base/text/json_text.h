#pragma once
// Owns: how JSON becomes text wherever a command or a file holds it.

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace tf {

// The value as text: on one line, or indented by `indent` spaces a level. Bytes that are not UTF-8 (names out
// of a model or a database) become U+FFFD instead of an exception. Thread-safe.
std::string json_text(const nlohmann::json& value, int indent = -1);

}  // namespace tf
