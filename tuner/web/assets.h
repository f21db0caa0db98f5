#pragma once
// Owns: the files that the program carries: the dashboard, as deploy/build_page.sh has made it, and what stands
// in where it was not made. Does not know: who asks for them.

#include <string>
#include <string_view>

namespace tf::web {

struct Asset {
  std::string path;          // "/index.html"
  std::string_view content;  // lives as long as the program
  std::string type;          // "text/html; charset=utf-8"
  std::string etag;          // in quotes
};

// Null: the program does not carry it. "/index.html" is there only if the dashboard was built.
const Asset* find_asset(std::string_view path);

// What a browser gets for the path: the file; for "/" and for paths of the dashboard's own, which have no
// suffix, its first page, or, where it was not built, a page that says how to build it.
const Asset* page_asset(std::string_view path);

}  // namespace tf::web
