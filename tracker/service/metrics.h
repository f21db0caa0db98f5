#pragma once
// Owns: what the tracker shows Prometheus. Does not know: how it is counted, how it is served.

#include <vector>

#include "rpc/metrics/metric.h"
#include "tracker/farm.h"

namespace tf::tracker {

std::vector<rpc::MetricFamily> metrics_of(const FarmCounts& counts);

}  // namespace tf::tracker
