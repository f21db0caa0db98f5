#include "tuner/web/assets.h"

#include <map>
#include <span>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "tuner/web/embedded.h"

namespace tf::web {
namespace {

constexpr std::string_view kNotBuilt =
    "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Tunefarm</title>"
    "<h1>Tunefarm</h1><p>This tuner was built without the dashboard: install Node.js with npm, run "
    "<code>deploy/build_page.sh</code>, and build the program again.</p>"
    "<p>The <a href=\"/api/\">HTTP API</a> works all the same.</p></html>\n";

std::string type_of(std::string_view path) {
  static const std::map<std::string_view, const char*> types = {
      {"html", "text/html; charset=utf-8"},
      {"js", "text/javascript; charset=utf-8"},
      {"css", "text/css; charset=utf-8"},
      {"json", "application/json"},
      {"svg", "image/svg+xml"},
      {"png", "image/png"},
      {"ico", "image/x-icon"},
      {"woff2", "font/woff2"},
      {"txt", "text/plain; charset=utf-8"},
      {"webmanifest", "application/manifest+json"},
  };
  const auto found = types.find(path.substr(path.rfind('.') + 1));
  return found == types.end() ? "application/octet-stream" : found->second;
}

Asset asset_of(std::string_view path, std::string_view content) {
  return {.path = std::string(path),
          .content = content,
          .type = type_of(path),
          .etag = absl::StrCat("\"", sha256(content).hex().substr(0, 32), "\"")};
}

const std::map<std::string, Asset, std::less<>>& assets() {
  static const auto& all = *[] {
    auto* made = new std::map<std::string, Asset, std::less<>>;
    for (const EmbeddedFile& file : page_files())
      made->emplace(file.path, asset_of(file.path, {file.begin, file.end}));
    return made;
  }();
  return all;
}

}  // namespace

const Asset* find_asset(std::string_view path) {
  const auto found = assets().find(path);
  return found == assets().end() ? nullptr : &found->second;
}

const Asset* page_asset(std::string_view path) {
  if (const Asset* asset = find_asset(path)) return asset;
  const bool is_page = path.substr(path.rfind('/') + 1).find('.') == std::string_view::npos;
  if (!is_page && path != "/index.html") return nullptr;
  static const Asset& not_built = *new Asset(asset_of("/index.html", kNotBuilt));
  const Asset* index = find_asset("/index.html");
  return index ? index : &not_built;
}

}  // namespace tf::web
