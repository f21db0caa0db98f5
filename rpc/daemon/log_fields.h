#pragma once
// Owns: what a log record is about (a job, a device, a lease), as fields that a collector can select by. The
// text form leaves them out: its messages say it all. Does not know: how a record is written (daemon_log.h).

#include <compare>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace tf::rpc {

struct LogField {
  std::string_view name;
  std::string value;
  bool is_json = false;  // the value is JSON, and not a text
  auto operator<=>(const LogField&) const = default;
};

// Every record that this thread writes while one of these lives has these fields:
//   const rpc::LogFields about({{"device", id}, {"lease", lease.text}});
//   spdlog::info(...);
class LogFields {
 public:
  LogFields(std::initializer_list<LogField> fields) : LogFields(std::vector<LogField>(fields)) {}
  explicit LogFields(const std::vector<LogField>& fields);
  LogFields(const LogFields&) = delete;
  ~LogFields();
  // Of this thread, the outermost first.
  static const std::vector<LogField>& present();

 private:
  const size_t count_;
};

}  // namespace tf::rpc
