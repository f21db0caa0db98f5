#include "tuner/web/gateway/openapi.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/check.h"
#include "base/text/json_text.h"
#include "base/version.h"
#include "tuner/web/embedded.h"
#include "tuner/web/gateway/described.h"
#include "tuner/web/gateway/routes.h"

namespace tf::web {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using nlohmann::json;

json ref_to(const std::string& name) {
  return {{"$ref", "#/components/schemas/" + name}};
}

// Messages and enums that schemas name and that are not described yet.
struct Pending {
  std::set<const Descriptor*> messages;
  std::set<const EnumDescriptor*> enums;
};

// Protobuf's mapping: https://protobuf.dev/programming-guides/json
json schema_of_value(const FieldDescriptor& field, Pending& pending) {
  switch (field.type()) {
    case FieldDescriptor::TYPE_BOOL:
      return {{"type", "boolean"}};
    case FieldDescriptor::TYPE_STRING:
      return {{"type", "string"}};
    case FieldDescriptor::TYPE_BYTES:
      return {{"type", "string"}, {"contentEncoding", "base64"}};
    case FieldDescriptor::TYPE_DOUBLE:
    case FieldDescriptor::TYPE_FLOAT:
      return {{"type", "number"}};
    case FieldDescriptor::TYPE_ENUM:
      pending.enums.insert(field.enum_type());
      return ref_to(field.enum_type()->name());
    case FieldDescriptor::TYPE_GROUP:
    case FieldDescriptor::TYPE_MESSAGE:
      pending.messages.insert(field.message_type());
      return ref_to(field.message_type()->name());
    default:
      break;
  }
  const bool is_text = field.cpp_type() == FieldDescriptor::CPPTYPE_INT64 ||
                       field.cpp_type() == FieldDescriptor::CPPTYPE_UINT64;
  if (is_text) return {{"type", "string"}, {"pattern", "^-?[0-9]+$"}};
  json number = {{"type", "integer"}};
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_UINT32) number["minimum"] = 0;
  return number;
}

json schema_of_field(const FieldDescriptor& field, Pending& pending) {
  if (field.is_map()) {
    return {{"type", "object"},
            {"additionalProperties", schema_of_value(*field.message_type()->map_value(), pending)}};
  }
  json value = schema_of_value(field, pending);
  return field.is_repeated() ? json{{"type", "array"}, {"items", std::move(value)}} : value;
}

json schema_of(const Descriptor& message, Pending& pending) {
  json properties = json::object();
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    json schema = schema_of_field(field, pending);
    if (const std::string text = comment_of(field); !text.empty()) schema["description"] = text;
    properties[field.json_name()] = std::move(schema);
  }
  json schema = {{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
  if (const std::string text = comment_of(message); !text.empty()) schema["description"] = text;
  return schema;
}

json schema_of(const EnumDescriptor& values) {
  json names = json::array();
  for (int i = 0; i < values.value_count(); ++i) names.push_back(values.value(i)->name());
  return {{"type", "string"}, {"enum", std::move(names)}};
}

json content(const char* type, json schema) {
  return {{type, {{"schema", std::move(schema)}}}};
}

json parameter(const FieldDescriptor& field, json schema) {
  json made = {{"name", field.json_name()}, {"in", "query"}, {"schema", std::move(schema)}};
  if (const std::string text = comment_of(field); !text.empty()) made["description"] = text;
  return made;
}

// Of a read by GET: the fields that are no messages.
json parameters_of(const Descriptor& request, Pending& pending) {
  json parameters = json::array();
  for (int i = 0; i < request.field_count(); ++i) {
    const FieldDescriptor& field = *request.field(i);
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE)
      parameters.push_back(parameter(field, schema_of_field(field, pending)));
  }
  return parameters;
}

json operation_of(const Route& route, Pending& pending) {
  const auto& call = described(*route.call);
  pending.messages.insert(call.output_type());
  json answer = content("application/json", ref_to(call.output_type()->name()));
  if (route.answers_parts) {
    answer = content("text/event-stream", {{"type", "string"}});
    answer.update(content("application/x-ndjson", ref_to(call.output_type()->name())));
  }
  return {
      {"tags", {call.service()->name()}},
      {"description", absl::StrCat(comment_of(call), "\n\nRoles on a secured tuner: ", roles_of(route), ".")},
      {"responses",
       {{"200", {{"description", route.answers_parts ? "a stream of messages" : "OK"}, {"content", answer}}},
        {"default", {{"$ref", "#/components/responses/Error"}}}}}};
}

json path_of(const Route& route, Pending& pending) {
  const auto& call = described(*route.call);
  const std::string name = absl::StrCat(call.service()->name(), call.name());
  json post = operation_of(route, pending);
  post["operationId"] = name;
  if (route.takes_model) {
    const Descriptor* spec = call.input_type()->FindFieldByName("spec")->message_type();
    pending.messages.insert(spec);
    post["parameters"] = {{{"name", "spec"},
                           {"in", "query"},
                           {"required", true},
                           {"content", content("application/json", ref_to(spec->name()))}},
                          {{"name", "submitter"}, {"in", "query"}, {"schema", {{"type", "string"}}}}};
    post["requestBody"] = {{"required", true},
                           {"content", content("application/octet-stream", json::object())}};
    return {{"post", std::move(post)}};
  }
  pending.messages.insert(call.input_type());
  post["requestBody"] = {{"required", true},
                         {"content", content("application/json", ref_to(call.input_type()->name()))}};
  json path = {{"post", std::move(post)}};
  if (route.is_read()) {
    path["get"] = operation_of(route, pending);
    path["get"]["operationId"] = "get" + name;
    path["get"]["parameters"] = parameters_of(*call.input_type(), pending);
  }
  return path;
}

json schemas_of(Pending& pending) {
  json schemas = {{"Error",
                   {{"type", "object"},
                    {"properties", {{"code", {{"type", "string"}}}, {"message", {{"type", "string"}}}}},
                    {"required", {"code", "message"}}}}};
  while (!pending.messages.empty()) {
    const Descriptor* message = *pending.messages.begin();
    pending.messages.erase(pending.messages.begin());
    if (schemas.contains(message->name())) continue;
    schemas[message->name()] = json::object();
    json schema = schema_of(*message, pending);
    schemas[message->name()] = std::move(schema);
  }
  for (const EnumDescriptor* values : pending.enums) schemas[values->name()] = schema_of(*values);
  return schemas;
}

json session_path() {
  json properties = {{"secured", {{"type", "boolean"}}},
                     {"role", {{"type", "string"}}},
                     {"name", {{"type", "string"}}},
                     {"version", {{"type", "string"}}},
                     {"expiresUnixS", {{"type", "integer"}, {"description", "of the token; 0: never"}}}};
  const json answer =
      content("application/json", {{"type", "object"}, {"properties", std::move(properties)}});
  return {{"get",
           {{"operationId", "getSession"},
            {"description", "Who the caller is, and what the tuner is."},
            {"responses",
             {{"200", {{"description", "OK"}, {"content", answer}}},
              {"default", {{"$ref", "#/components/responses/Error"}}}}}}}};
}

std::string made_openapi() {
  Pending pending;
  json paths = {{absl::StrCat(std::string(kApi), "session"), session_path()}};
  for (const Route& route : routes()) paths[route.path] = path_of(route, pending);
  const json document = {
      {"openapi", "3.1.0"},
      {"info",
       {{"title", "Tunefarm"},
        {"version", std::string(version())},
        {"description",
         "The calls of a running tuner (`tuner serve --http`). Messages are protobuf's, by its JSON "
         "mapping: integers of 64 bits are strings. Errors are {\"code\", \"message\"}."}}},
      {"servers", {{{"url", "/"}}}},
      {"security", {{{"token", json::array()}}, json::object()}},
      {"paths", std::move(paths)},
      {"components",
       {{"schemas", schemas_of(pending)},
        {"responses",
         {{"Error",
           {{"description", "an error"}, {"content", content("application/json", ref_to("Error"))}}}}},
        {"securitySchemes",
         {{"token",
           {{"type", "http"},
            {"scheme", "bearer"},
            {"description", "of a secured tuner: what `tuner token` prints"}}}}}}}};
  return json_text(document, 1);
}

}  // namespace

std::string_view openapi_text() {
  static const std::string& text = *new std::string(made_openapi());
  return text;
}

}  // namespace tf::web
