#include "rpc/daemon/log_fields.h"

namespace tf::rpc {
namespace {

std::vector<LogField>& fields_of_thread() {
  thread_local std::vector<LogField> fields;
  return fields;
}

}  // namespace

LogFields::LogFields(const std::vector<LogField>& fields) : count_(fields.size()) {
  fields_of_thread().insert(fields_of_thread().end(), fields.begin(), fields.end());
}

LogFields::~LogFields() {
  std::vector<LogField>& all = fields_of_thread();
  all.erase(all.end() - static_cast<std::ptrdiff_t>(count_), all.end());
}

const std::vector<LogField>& LogFields::present() {
  return fields_of_thread();
}

}  // namespace tf::rpc
