#include "tuner/record_sets/manifest.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text/json_fault.h"
#include "base/text/json_text.h"
#include "base/text/printable.h"

namespace tf::record_sets {
namespace {

using nlohmann::json;

constexpr char kFormat[] = "tunefarm-record-set";
constexpr int kFormatVersion = 1;
constexpr int64_t kMostVersion = 1'000'000'000;

absl::StatusOr<int64_t> number(const json& in, const char* name, int64_t low, int64_t high) {
  const json& value = in.at(name);
  const bool fits =
      value.is_number_integer() && (!value.is_number_unsigned() || value.get<uint64_t>() <= INT64_MAX);
  if (fits && value.get<int64_t>() >= low && value.get<int64_t>() <= high) return value.get<int64_t>();
  return absl::InvalidArgumentError(absl::StrCat("its ", name, " is ", printable(json_text(value), 40)));
}

absl::StatusOr<Manifest> parse(const json& in) {
  if (in.at("format") != kFormat) return absl::InvalidArgumentError("it does not describe a set of records");
  if (in.at("format_version") != kFormatVersion)
    return absl::InvalidArgumentError(
        absl::StrCat("it has format ", printable(json_text(in.at("format_version")), 40),
                     ", but this program reads format ", kFormatVersion, ": update the program"));
  Manifest out{.name = in.at("name").get<std::string>(),
               .device_class = in.at("device_class").get<std::string>(),
               .targets = in.at("targets").get<std::vector<std::string>>(),
               .by = in.at("by").get<std::string>()};
  TF_RETURN_IF_ERROR(check_name(out.name));
  TF_ASSIGN_OR_RETURN(out.version, number(in, "version", 1, kMostVersion));
  TF_ASSIGN_OR_RETURN(const int64_t semantics, number(in, "semantics_version", 0, UINT32_MAX));
  out.semantics_version = static_cast<uint32_t>(semantics);
  TF_ASSIGN_OR_RETURN(out.workloads, number(in, "workloads", 0, INT64_MAX));
  TF_ASSIGN_OR_RETURN(out.measurements, number(in, "measurements", 0, INT64_MAX));
  TF_ASSIGN_OR_RETURN(out.verdicts, number(in, "verdicts", 0, INT64_MAX));
  TF_ASSIGN_OR_RETURN(out.bytes, number(in, "bytes", 1, kMostContentBytes));
  TF_ASSIGN_OR_RETURN(out.content, Digest::from_hex(in.at("sha256").get<std::string>()));
  if (in.contains("previous")) {
    TF_ASSIGN_OR_RETURN(out.previous, Digest::from_hex(in.at("previous").get<std::string>()));
  }
  TF_ASSIGN_OR_RETURN(out.created_unix_ns, number(in, "created_unix_ns", 0, INT64_MAX));
  return out;
}

std::string version_file(int64_t version, const char* suffix) {
  return absl::StrCat("v", version, suffix);
}

}  // namespace

std::string to_text(const Manifest& manifest) {
  json out = {{"format", kFormat},
              {"format_version", kFormatVersion},
              {"name", manifest.name},
              {"version", manifest.version},
              {"device_class", manifest.device_class},
              {"targets", manifest.targets},
              {"semantics_version", manifest.semantics_version},
              {"workloads", manifest.workloads},
              {"measurements", manifest.measurements},
              {"verdicts", manifest.verdicts},
              {"bytes", manifest.bytes},
              {"sha256", manifest.content.hex()},
              {"created_unix_ns", manifest.created_unix_ns},
              {"by", manifest.by}};
  if (manifest.previous) out["previous"] = manifest.previous->hex();
  return json_text(out, 1) + "\n";
}

absl::StatusOr<Manifest> parse_manifest(const std::string& text) {
  try {
    return parse(json::parse(text));
  } catch (const json::parse_error&) {
    return absl::InvalidArgumentError("it is not JSON");
  } catch (const json::exception& error) {
    return absl::InvalidArgumentError(json_fault(error));
  }
}

absl::Status check_name(const std::string& name) {
  const auto fits = [](char c) {
    return absl::ascii_islower(static_cast<unsigned char>(c)) ||
           absl::ascii_isdigit(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-';
  };
  if (!name.empty() && name.size() <= 64 && name[0] != '.' && name[0] != '-' &&
      std::ranges::all_of(name, fits))
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("\"", printable(name, 80),
                   "\" cannot name a set: a name has 1 to 64 of a-z, 0-9, '.', '_' and "
                   "'-', and begins with none of '.' and '-'"));
}

std::string statement_of(std::string_view manifest_text) {
  return absl::StrCat("tunefarm record set v1\n", std::string(manifest_text));
}

std::string manifest_file(int64_t version) {
  return version_file(version, ".json");
}

std::string signature_file(int64_t version) {
  return version_file(version, ".sig");
}

std::string content_file(int64_t version) {
  return version_file(version, ".jsonl");
}

}  // namespace tf::record_sets
