#pragma once
// Owns: reading many measurements' points out of the table, some at a time. Does not know: who holds the
// connection meanwhile.

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "absl/status/statusor.h"
#include "database/point.h"
#include "database/sqlite/sqlite_connection.h"

namespace tf::database::rows {

// What points refer to; they are valid as long as it.
struct PointNames {
  std::map<int64_t, tensor::KernelKey> problems;  // by row
  std::set<PointSetting> settings;
};

// The next `limit` points with a row above `after_row`. No index has them: of a million rows that is 1 GB of
// pages to step over, a second if they are in memory. DATA_LOSS as of read_measurement, but for what a point
// leaves out.
absl::StatusOr<std::vector<Point>> points(Connection& db, int64_t after_row, size_t limit, PointNames& names);

}  // namespace tf::database::rows
