#pragma once
// Owns: the description of the HTTP API, made from the protos and their comments: for programs (OpenAPI 3.1)
// and as a page. Does not know: who asks.

#include <string_view>

namespace tf::web {

// Each made once, and there for as long as the program. Thread-safe.
std::string_view openapi_text();
std::string_view api_page();
std::string_view api_style();

}  // namespace tf::web
