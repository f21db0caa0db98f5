#pragma once
// Owns: a report as one file that needs no server: the answers to what the dashboard asks of a job and its
// kernels, inside its page. Does not know: what the page looks like, where the file goes.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "database/store.h"
#include "tuner/report/report.h"

namespace tf::report {

// By "SERVICE/METHOD {REQUEST}": the request as JSON with sorted keys and without defaults, as the page builds it. Each
// answer is JSON by protobuf's mapping, with defaults.
using Answers = std::map<std::string, std::string>;

struct FileOptions {
  int64_t job_id = 0;  // 0: all of the database
  size_t kernels =
      50;  // with a page of their own: those that take most of the job's time, or else the latest
  size_t programs =
      8;            // of these, with the programs of the best and the default schedule, which are compiled
  int at_once = 1;  // programs that are compiled at the same time
  // Called before and after each program, from any thread, one at a time.
  std::function<void(size_t made, size_t all)> on_program = nullptr;
};

struct FileContents {
  std::string title;
  Answers answers;
  std::vector<std::string> left_out;  // programs that could not be made: why, a line each
};

// A list of up to 1000 kernels, curves of 200 points, of each kernel with a page its 20 fastest and 1000 candidates,
// programs of at most 256 KiB a text: some 100 KB a kernel and 1 MB a program at most. NOT_FOUND: there is no such job, or
// nothing was measured. Other errors: the report's.
absl::StatusOr<FileContents> file_contents(Report& report, database::Records& records,
                                           const FileOptions& options);

// {"made": …, "version": …, "title": …, "answers": {…}}, on one line. `made`: Unix seconds.
std::string to_json(const FileContents& contents, std::string_view version, int64_t made);

// The page with that JSON inside, as an element that no browser runs or shows. FAILED_PRECONDITION: it is no page.
absl::StatusOr<std::string> page_with(std::string_view page, std::string_view json);

}  // namespace tf::report
