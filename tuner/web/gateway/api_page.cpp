// The description of the API as a page without a script.
#include <google/protobuf/descriptor.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tuner/web/gateway/described.h"
#include "tuner/web/gateway/openapi.h"
#include "tuner/web/gateway/routes.h"

namespace tf::web {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

std::string escaped(const std::string& text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

std::string type_of(const FieldDescriptor& field) {
  if (field.is_map()) return "object";
  const std::string name = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE ? field.message_type()->name()
                           : field.cpp_type() == FieldDescriptor::CPPTYPE_ENUM  ? field.enum_type()->name()
                                                                                : field.type_name();
  return field.is_repeated() ? name + "[]" : name;
}

std::string fields_of(const Descriptor& message) {
  if (message.field_count() == 0) return "<p>no fields</p>";
  std::string rows;
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    absl::StrAppend(&rows, "<tr><td><code>", field.json_name(), "</code></td><td>", type_of(field),
                    "</td><td>", escaped(comment_of(field)), "</td></tr>");
  }
  return absl::StrCat("<table><tr><th>field</th><th>type</th><th>meaning</th></tr>", rows, "</table>");
}

std::string section_of(const Route& route) {
  const auto& call = described(*route.call);
  const std::string verbs = route.is_read() ? "GET or POST" : "POST";
  return absl::StrCat(
      "<section><h2><code>", route.path, "</code></h2><p>", escaped(comment_of(call)), "</p><p>", verbs,
      route.answers_parts ? ", answers a stream" : "",
      route.takes_model ? ", the body is the model, the parameter <code>spec</code> a JobSpec" : "",
      ". Roles on a secured tuner: ", roles_of(route),
      ".</p><details><summary>Request: ", call.input_type()->name(), "</summary>",
      fields_of(*call.input_type()), "</details><details><summary>Answer: ", call.output_type()->name(),
      "</summary>", fields_of(*call.output_type()), "</details></section>\n");
}

std::string made_page() {
  std::string sections;
  for (const Route& route : routes()) absl::StrAppend(&sections, section_of(route));
  return absl::StrCat(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width\"><title>Tunefarm's HTTP API</title>"
      "<link rel=\"stylesheet\" href=\"/api/style.css\"></head><body><h1>Tunefarm's HTTP API</h1>"
      "<p>Messages are protobuf's, as JSON by its own mapping: integers of 64 bits are strings. An error is "
      "<code>{\"code\", \"message\"}</code>. Reads take fields that are not messages as parameters of a GET, "
      "too. The same for "
      "programs: <a href=\"/api/v1/openapi.json\">openapi.json</a>.</p>\n",
      sections, "</body></html>\n");
}

}  // namespace

std::string_view api_page() {
  static const std::string& page = *new std::string(made_page());
  return page;
}

std::string_view api_style() {
  return ":root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:1rem "
         "auto;"
         "padding:0 1rem}h2{font-size:1.1rem;border-top:1px "
         "solid;padding-top:1rem}table{border-collapse:collapse}"
         "td,th{text-align:left;vertical-align:top;padding:.2rem .8rem .2rem 0}summary{cursor:pointer}\n";
}

}  // namespace tf::web
