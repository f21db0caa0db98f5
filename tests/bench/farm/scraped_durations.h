#pragma once
// Owns: what a histogram on a daemon's page of metrics tells of the time between two readings. Does not know:
// how the page is read.

#include <nlohmann/json.hpp>
#include <string>

namespace tf::farm_load {

// Of what ended between two readings of the page: how often, the mean, and the bounds, of those that the
// histogram has, which half of all and 99 of 100 did not exceed; null: longer than the last one. Seconds in,
// milliseconds out. Null if the page does not have the histogram, or nothing ended.
nlohmann::ordered_json durations_between(const std::string& before, const std::string& after,
                                         const std::string& histogram);

}  // namespace tf::farm_load
