#include "tuner/web/gateway/json.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/type_resolver.h>
#include <google/protobuf/util/type_resolver_util.h>

#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "base/text/json_text.h"
#include "base/text/printable.h"

namespace tf::web {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

constexpr const char* kTypes = "type.googleapis.com";

google::protobuf::util::TypeResolver& resolver() {
  static auto& generated = *google::protobuf::util::NewTypeResolverForDescriptorPool(
      kTypes, google::protobuf::DescriptorPool::generated_pool());
  return generated;
}

std::string url_of(const Descriptor& type) {
  return absl::StrCat(kTypes, "/", type.full_name());
}

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

absl::StatusOr<std::string> percent_decoded(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i] == '+' ? ' ' : text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? digit_of(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? digit_of(text[i + 2]) : -1;
    if (high < 0 || low < 0)
      return absl::InvalidArgumentError("in the query a '%' has no two hexadecimal digits after it");
    decoded += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return decoded;
}

const FieldDescriptor* field_of(const Descriptor& type, const std::string& name) {
  if (const FieldDescriptor* field = type.FindFieldByName(name)) return field;
  for (int i = 0; i < type.field_count(); ++i) {
    if (type.field(i)->json_name() == name) return type.field(i);
  }
  return nullptr;
}

}  // namespace

absl::StatusOr<std::string> message_of_json(const Descriptor& type, std::string_view json) {
  std::string bytes;
  const auto status = google::protobuf::util::JsonToBinaryString(
      &resolver(), url_of(type), google::protobuf::StringPiece(json.data(), json.size()), &bytes);
  if (status.ok()) return bytes;
  const std::string why(status.message().data(), status.message().size());
  return absl::InvalidArgumentError(absl::StrCat("the request is not a ", type.full_name(),
                                                 " as JSON: ", printable(why.substr(0, why.find('\n')))));
}

absl::StatusOr<std::string> json_of_message(const Descriptor& type, std::string_view bytes) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  std::string json;
  const auto status = google::protobuf::util::BinaryToJsonString(&resolver(), url_of(type),
                                                                 std::string(bytes), &json, options);
  if (status.ok()) return json;
  return absl::InternalError(absl::StrCat("the answer is not a ", type.full_name()));
}

absl::StatusOr<Parameters> parse_query(std::string_view query) {
  Parameters parameters;
  if (query.empty()) return parameters;
  const std::vector<std::string> parts = absl::StrSplit(std::string(query), '&', absl::SkipEmpty());
  for (const std::string& part : parts) {
    const size_t equals = part.find('=');
    TF_ASSIGN_OR_RETURN(std::string name, percent_decoded(part.substr(0, equals)));
    TF_ASSIGN_OR_RETURN(std::string value,
                        percent_decoded(equals == std::string::npos ? "" : part.substr(equals + 1)));
    parameters.emplace_back(std::move(name), std::move(value));
  }
  return parameters;
}

absl::StatusOr<std::string> json_of_parameters(const Descriptor& type, const Parameters& parameters) {
  nlohmann::json request = nlohmann::json::object();
  for (const auto& [name, value] : parameters) {
    const FieldDescriptor* field = field_of(type, name);
    if (!field) {
      return absl::InvalidArgumentError(absl::StrCat("there is no parameter '", printable(name), "': a ",
                                                     type.full_name(), " has no such field"));
    }
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", name, "' is a message: send the request as JSON by POST"));
    }
    nlohmann::json& there = request[field->json_name()];
    if (field->is_repeated()) {
      there.push_back(value);
    } else if (there.is_null()) {
      there = value;
    } else {
      return absl::InvalidArgumentError(absl::StrCat("'", name, "' is given twice"));
    }
  }
  return json_text(request);
}

}  // namespace tf::web
