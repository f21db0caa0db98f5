#include "tests/bench/farm/scraped_durations.h"

#include <cmath>
#include <map>
#include <sstream>

#include "tests/support/operating/scrape.h"

namespace tf::farm_load {
namespace {

// How many had ended within each bound.
std::map<double, double> buckets(const std::string& page, const std::string& histogram) {
  std::map<double, double> at_most;
  const std::string begin = histogram + "_bucket{le=\"";
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(begin)) continue;
    const size_t end = line.find("\"} ", begin.size());
    if (end == std::string::npos) continue;
    const std::string bound = line.substr(begin.size(), end - begin.size());
    at_most[bound == "+Inf" ? HUGE_VAL : std::stod(bound)] = std::stod(line.substr(end + 3));
  }
  return at_most;
}

}  // namespace

nlohmann::ordered_json durations_between(const std::string& before, const std::string& after,
                                         const std::string& histogram) {
  const auto more = [&](const std::string& what) {
    return test::metric(after, histogram + what) - test::metric(before, histogram + what);
  };
  const double count = more("_count");
  if (!(count > 0)) return nullptr;
  const std::map<double, double> first = buckets(before, histogram), last = buckets(after, histogram);
  const auto bound_of = [&](double share) -> nlohmann::ordered_json {
    for (const auto& [bound, at_most] : last) {
      const auto earlier = first.find(bound);
      if (at_most - (earlier == first.end() ? 0 : earlier->second) < share * count) continue;
      return std::isinf(bound) ? nlohmann::ordered_json() : nlohmann::ordered_json(1e3 * bound);
    }
    return nullptr;
  };
  return {{"count", count},
          {"mean", 1e3 * more("_sum") / count},
          {"p50_at_most", bound_of(0.5)},
          {"p99_at_most", bound_of(0.99)}};
}

}  // namespace tf::farm_load
