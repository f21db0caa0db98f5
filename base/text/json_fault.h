#pragma once
// Owns: what is said of JSON that does not fit. Does not know: JSON that is none (parse_error).

#include <nlohmann/json.hpp>
#include <string>

namespace tf {

// What does not fit, of an error of the library: a key that is missing, a value of another type; of others,
// what the library says. Thread-safe.
std::string json_fault(const nlohmann::json::exception& error);

}  // namespace tf
