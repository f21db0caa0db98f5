#pragma once
// Owns: the numbers that a daemon shows of itself, as values in Prometheus's terms (its "Exposition
// formats"): counters only grow, histograms are cumulative, units stand in the names. Does not know: how they
// are served, what they count.

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"

namespace tf::rpc {

// How long things took: how many of them at most as long as each bound. A value; not thread-safe.
struct DurationCounts {
  // Seconds, ascending.
  explicit DurationCounts(std::vector<double> upper_bounds_s)
      : bounds_s(std::move(upper_bounds_s)), at_most(bounds_s.size()) {}
  void add(absl::Duration took);

  std::vector<double> bounds_s;
  std::vector<uint64_t> at_most;  // in step with the bounds
  uint64_t count = 0;
  double sum_s = 0;
};

enum class MetricKind { kCounter, kGauge, kHistogram };

struct MetricSample {
  std::map<std::string, std::string> labels;
  double value = 0;
  std::optional<DurationCounts> durations;  // of a histogram, instead of the value
};

struct MetricFamily {
  std::string name;
  std::string help;
  MetricKind kind = MetricKind::kGauge;
  std::vector<MetricSample> samples;
};

// Families of one sample.
MetricFamily counter(std::string name, std::string help, double value);
MetricFamily gauge(std::string name, std::string help, double value);
MetricFamily histogram(std::string name, std::string help, DurationCounts durations);
// One sample for each value of one label. The values are the program's own words, of which there are few:
// what peers choose is no label.
MetricFamily by_label(MetricFamily family, const std::string& label,
                      const std::map<std::string, double>& values);

// Asked for anew by each reader, from any thread.
using ReadMetrics = std::function<std::vector<MetricFamily>()>;

// What Prometheus's clients tell of every process: CPU time, memory, descriptors, start.
std::vector<MetricFamily> process_metrics();

// Work that begins, and ends in one of a few ways. Thread-safe.
class WorkTally {
 public:
  void begin();
  void end(const std::string& how, absl::Duration took);
  // PREFIXs_running, PREFIXs_total by outcome, PREFIX_seconds; `what` names the work in their help.
  std::vector<MetricFamily> families(const std::string& prefix, const std::string& what) const;

 private:
  mutable std::mutex mutex_;
  uint64_t running_ = 0;
  std::map<std::string, double> ended_;
  DurationCounts took_ = DurationCounts({0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60});
};

}  // namespace tf::rpc
