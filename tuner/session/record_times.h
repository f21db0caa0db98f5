#pragma once
// Owns: what the times in a record say of its candidate.

#include <optional>
#include <vector>

#include "database/record.h"

namespace tf::session {

// What is known of a candidate's time.
struct Time {
  double seconds = 0;
  bool lower_bound = false;    // it was stopped early: only the cost model learns from it
  double noise = 0;            // of one sample, relative (base/race.h)
  double sampled_seconds = 0;  // what it took to find out
};

// Its times were taken inside the network: they compare with each other alone (database::Records::best), and
// a search learns nothing from them.
bool is_of_network(const database::Measurement& record);

// The time that a record tells, if any: of an early stop only that it takes at least so long.
std::optional<Time> time_of(const database::Measurement& record);

}  // namespace tf::session
