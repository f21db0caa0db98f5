#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <sstream>
#include <vector>

#include "base/files/file.h"
#include "rpc/metrics/metric.h"

namespace tf::rpc {
namespace {

// The fields of /proc/self/stat from the third on (proc(5)): the second, a name, may hold anything.
std::vector<double> stat_fields() {
  const std::string text = read_file("/proc/self/stat").value_or("");
  std::vector<double> fields;
  std::istringstream rest(text.substr(std::min(text.size(), text.rfind(')') + 1)));
  std::string state;
  rest >> state;
  fields.push_back(0);
  for (double value = 0; rest >> value;) fields.push_back(value);
  return fields;
}

double field(const std::vector<double>& fields, size_t number) {
  return number - 3 < fields.size() ? fields[number - 3] : 0;
}

// Seconds since 1970 at which the machine came up.
double boot_time() {
  std::istringstream lines(read_file("/proc/stat").value_or(""));
  for (std::string word; lines >> word;) {
    double seconds = 0;
    if (word == "btime" && lines >> seconds) return seconds;
  }
  return 0;
}

// Of all threads, ended ones too: /proc/self/stat counts it in whole ticks, of 10 ms as a rule.
double cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double open_descriptors() {
  std::error_code error;
  double count = 0;
  for (auto at = std::filesystem::directory_iterator("/proc/self/fd", error);
       !error && at != std::filesystem::directory_iterator(); at.increment(error))
    ++count;
  return count;
}

}  // namespace

std::vector<MetricFamily> process_metrics() {
  const std::vector<double> stat = stat_fields();
  const auto ticks_per_second = static_cast<double>(::sysconf(_SC_CLK_TCK));
  rlimit descriptors{};
  ::getrlimit(RLIMIT_NOFILE, &descriptors);
  return {
      counter("process_cpu_seconds_total", "user and system CPU time", cpu_seconds()),
      gauge("process_resident_memory_bytes", "resident memory",
            field(stat, 24) * static_cast<double>(::sysconf(_SC_PAGESIZE))),
      gauge("process_virtual_memory_bytes", "virtual memory", field(stat, 23)),
      gauge("process_threads", "threads", field(stat, 20)),
      gauge("process_open_fds", "open file descriptors", open_descriptors()),
      gauge("process_max_fds", "limit of open file descriptors", static_cast<double>(descriptors.rlim_cur)),
      gauge("process_start_time_seconds", "start time of the process, in seconds since 1970",
            boot_time() + field(stat, 22) / ticks_per_second)};
}

}  // namespace tf::rpc
