#pragma once
// Owns: a process's line in the history of a farm: what it did, in order, as JSON lines that the processes of
// one test append to one file. Off unless a main opens it; an event then costs one load. Does not know: what
// the events mean, or who reads them.

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>

#include "absl/status/status.h"

namespace tf {

struct EventField {
  std::string_view name;
  std::variant<uint64_t, std::string_view> value;
};

// Once, in main, before threads start. `process` names this one in the history ("tracker").
// PERMISSION_DENIED, NOT_FOUND: the file cannot be opened for appending.
absl::Status open_event_log(const std::string& path, std::string_view process);

namespace event_log_detail {
extern std::atomic<int> file;
void append(std::string_view event, std::initializer_list<EventField> fields);
}  // namespace event_log_detail

inline bool event_log_is_open() {
  return event_log_detail::file.load(std::memory_order_relaxed) >= 0;
}

// One line {"at_ns":…,"process":…,"pid":…,"event":…,fields…}; at_ns is CLOCK_BOOTTIME, the same in all
// processes of a machine. It is in the file when this returns, also if the process is killed right after.
// Thread-safe.
inline void log_event(std::string_view event, std::initializer_list<EventField> fields) {
  if (event_log_is_open()) event_log_detail::append(event, fields);
}

}  // namespace tf
