#pragma once
// Records for tests in which a schedule must surely look faster than the untuned one.

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tf::integration_test {

// The records of an export, from one on and round again, each made faster than the one before: the best of their
// problems is the last of them, and surely faster than the untuned schedule. All are faster than those of the turn
// before, and in the first than any ever was.
inline std::string faster_records(std::vector<std::string> records, int turn) {
  std::rotate(records.begin() + 1, records.begin() + 1 + turn, records.end());  // the header stays first
  std::string out;
  double share = std::pow(0.95, turn);
  std::map<std::string, double> flops;  // of workloads, by their keys
  for (const std::string& line : records) {
    const nlohmann::json record = nlohmann::json::parse(line);
    if (record.value("type", "") == "workload") flops[record["key"]] = record["flops"];
  }
  for (const std::string& line : records) {
    nlohmann::json record = nlohmann::json::parse(line);
    if (record.value("outcome", "") == "ok") {
      share *= 0.999;
      const double ns =
          share * (5 + flops.at(record["problem"]["workload"]) * 1e-5);  // what a core might reach
      record.erase("lease");
      record.erase("match");
      record.erase("median_ns");  // both follow from the samples
      record.erase("interval_ns");
      const double slower = record.value("untuned", false) ? 2 : 1;
      const nlohmann::json sample =
          nlohmann::json::array({static_cast<int64_t>(1e6 * slower * ns), 1'000'000});
      record["samples"] = std::vector<nlohmann::json>(8, sample);
    }
    out += record.dump() + "\n";
  }
  return out;
}

}  // namespace tf::integration_test
