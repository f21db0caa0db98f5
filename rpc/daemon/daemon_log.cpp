#include "rpc/daemon/daemon_log.h"

#include <grpc/support/log.h>
#include <spdlog/formatter.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "rpc/daemon/collapsed_log.h"
#include "rpc/daemon/log_fields.h"

namespace tf::rpc {
namespace {

void append(std::string_view text, spdlog::memory_buf_t& line) {
  line.append(text.data(), text.data() + text.size());
}

// The message, as one line.
class PrintableMessage final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& record, const std::tm&, spdlog::memory_buf_t& line) override {
    append(printable({record.payload.data(), record.payload.size()}, std::string_view::npos), line);
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<PrintableMessage>();
  }
};

class JsonFormat final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& record, spdlog::memory_buf_t& line) override {
    const auto text = [](const auto& view) { return std::string(view.data(), view.size()); };
    nlohmann::ordered_json fields;
    fields["time"] =
        absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::FromChrono(record.time), absl::UTCTimeZone());
    fields["level"] = text(spdlog::level::to_string_view(record.level));
    fields["program"] = text(record.logger_name);
    fields["message"] = text(record.payload);
    for (const LogField& field : LogFields::present()) {
      const std::string name(field.name);
      fields[name] = field.is_json
                         ? nlohmann::ordered_json::parse(field.value, nullptr, /*allow_exceptions=*/false)
                         : nlohmann::ordered_json(field.value);
    }
    append(fields.dump(-1, ' ', /*ensure_ascii=*/true, nlohmann::json::error_handler_t::replace) + "\n",
           line);
  }
  std::unique_ptr<formatter> clone() const override { return std::make_unique<JsonFormat>(); }
};

std::atomic<bool> records_are_json = false;

// What gRPC calls an error, a peer that is away for example, rarely is one of ours.
void log_grpc(gpr_log_func_args* args) {
  const auto level = args->severity == GPR_LOG_SEVERITY_ERROR  ? spdlog::level::warn
                     : args->severity == GPR_LOG_SEVERITY_INFO ? spdlog::level::info
                                                               : spdlog::level::debug;
  spdlog::log(level, absl::StrCat("gRPC: ", args->message));
}

}  // namespace

absl::Status check(const LogOptions& options) {
  constexpr std::array<std::string_view, 4> levels = {"debug", "info", "warning", "error"};
  if (std::ranges::find(levels, options.level) == levels.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("log_level must be debug, info, warning or error, not '", options.level, "'"));
  }
  if (options.format != "text" && options.format != "json") {
    return absl::InvalidArgumentError(
        absl::StrCat("log_format must be text or json, not '", options.format, "'"));
  }
  return absl::OkStatus();
}

absl::Status log_to_stderr(const std::string& program, const LogOptions& options) {
  TF_RETURN_IF_ERROR(check(options));
  spdlog::set_default_logger(std::make_shared<spdlog::logger>(
      program, collapsed_log(std::make_shared<spdlog::sinks::stderr_color_sink_mt>())));
  spdlog::set_formatter(options.format == "json" ? json_log_format() : text_log_format());
  records_are_json = options.format == "json";
  spdlog::set_level(spdlog::level::from_str(options.level));
  gpr_set_log_function(log_grpc);
  return absl::OkStatus();
}

bool logs_are_json() {
  return records_are_json;
}

std::unique_ptr<spdlog::formatter> text_log_format() {
  auto format = std::make_unique<spdlog::pattern_formatter>();
  format->add_flag<PrintableMessage>('*').set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %n %l: %*");
  return format;
}

std::unique_ptr<spdlog::formatter> json_log_format() {
  return std::make_unique<JsonFormat>();
}

}  // namespace tf::rpc
