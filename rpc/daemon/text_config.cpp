#include "rpc/daemon/text_config.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>
#include <spdlog/spdlog.h>

#include "absl/strings/str_cat.h"
#include "base/files/file.h"
#include "base/status.h"
#include "rpc/daemon/daemon_log.h"
#include "rpc/daemon/log_fields.h"

namespace tf::rpc {
namespace {

// Keeps the first error; later ones are mostly its consequences.
class FirstError final : public google::protobuf::io::ErrorCollector {
 public:
  explicit FirstError(std::string path) : path_(std::move(path)) {}
  void AddError(int line, google::protobuf::io::ColumnNumber column, const std::string& message) override {
    if (text.empty()) text = absl::StrCat(path_, ":", line + 1, ":", column + 1, ": ", message);
  }
  std::string text;

 private:
  const std::string path_;
};

}  // namespace

absl::Status merge_text_config(const std::string& path, google::protobuf::Message& config) {
  TF_ASSIGN_OR_RETURN(const std::string text, read_file(path));
  FirstError error(path);
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  if (parser.MergeFromString(text, &config)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(error.text, "; see proto/config/v1/farm.proto for the fields"));
}

void log_configuration(const std::string& message, const google::protobuf::Message& config) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string json;
  if (!logs_are_json() || !google::protobuf::util::MessageToJsonString(config, &json, options).ok()) {
    spdlog::info(absl::StrCat(message, "; configuration: ", config.ShortDebugString()));
    return;
  }
  const LogFields about({{"configuration", json, true}});
  spdlog::info(message);
}

}  // namespace tf::rpc
