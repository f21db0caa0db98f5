#include "base/testing/event_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace tf {
namespace {

// Set by open_event_log before there are threads.
std::string& process_name() {
  static std::string name;
  return name;
}

}  // namespace

namespace event_log_detail {

std::atomic<int> file = -1;

void append(std::string_view event, std::initializer_list<EventField> fields) {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  nlohmann::ordered_json line;
  line["at_ns"] = static_cast<int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
  line["process"] = process_name();
  line["pid"] = ::getpid();
  line["event"] = event;
  for (const EventField& field : fields)
    std::visit([&](const auto& value) { line[std::string(field.name)] = value; }, field.value);
  const std::string text = line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  // One write with O_APPEND: lines of several processes never mix.
  const ssize_t written = ::write(file.load(), text.data(), text.size());
  TF_CHECK(written == static_cast<ssize_t>(text.size())) << "cannot write the event log";
}

}  // namespace event_log_detail

absl::Status open_event_log(const std::string& path, std::string_view process) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot write the event log ", path));
  process_name() = process;
  event_log_detail::file = fd;
  return absl::OkStatus();
}

}  // namespace tf
