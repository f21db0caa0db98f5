#pragma once
// Owns: how much longer each of several alike devices takes than the others, by kernels that each of them
// times now and then. Pure. Does not know: how a kernel is timed.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tf::measure {

// Boards of one kind differ by some percent, and one that grows hot by more. Their times compare once each is
// divided by its device's factor. A gauge is a kernel that every device times: of each task the first one
// that ran, which is its untuned schedule. A device's factor is the mean of its last readings, whichever
// gauges they are of, for one reading is no more exact than one trial. Two readings in a row that are far off
// alike begin anew, because that device has changed its pace; one alone was disturbed, and does not count.
// Factors are relative to the first device as it was when it began.
//
// tests/bench/farm/spread compares this with its alternatives. Not thread-safe.
class DeviceScale {
 public:
  static constexpr size_t kGauges = 16;     // at most; beyond these, tasks have none
  static constexpr size_t kReadEvery = 32;  // trials of a device, from one reading to the next
  static constexpr size_t kReadSoon = 8;    // the same while it has few readings
  static constexpr size_t kFewReadings = 3, kMostReadings = 8;
  static constexpr double kJump = 0.06;  // of a logarithm: no noise of one reading

  // The device timed the gauge; 0: it could not.
  void add(const std::string& device, const std::string& gauge, double ns) {
    if (!(ns > 0)) return fail(device, gauge);
    if (!gauges_.contains(gauge) && gauges_.size() >= kGauges) return;
    const bool is_first = devices_.empty();
    Device& timed = devices_[device];
    timed.trials = 0;
    ++timed.turn;
    Gauge& known = gauges_[gauge];
    const double log_ns = std::log(ns);
    if (known.readings == 0) {
      known.log_ns = log_ns - timed.log_factor;
      known.readings = 1;
      if (is_first) timed.readings = 1;
      return;
    }
    const double lag = log_ns - known.log_ns;
    if (timed.readings == 0 || std::abs(lag - timed.log_factor) > kJump) {
      if (timed.jump && std::abs(lag - *timed.jump) <= kJump) {
        timed.log_factor = (lag + *timed.jump) / 2;
        timed.readings = 2;
        timed.jump.reset();
        timed.doubtful = 0;
      } else {
        if (timed.readings == 0) timed.log_factor = lag;  // nothing better is known
        timed.jump = lag;
        ++timed.doubtful;
      }
      return;
    }
    timed.jump.reset();
    timed.doubtful = 0;
    timed.readings = std::min(timed.readings + 1, kMostReadings);
    timed.log_factor += (lag - timed.log_factor) / static_cast<double>(timed.readings);
    // Later readings are for the device alone: else a gauge followed devices that grow hot together.
    if (known.readings >= kMostReadings) return;
    ++known.readings;
    known.log_ns += (log_ns - timed.log_factor - known.log_ns) / static_cast<double>(known.readings);
  }

  // It ran another trial.
  void count_trial(const std::string& device) {
    if (const auto found = devices_.find(device); found != devices_.end()) ++found->second.trials;
  }

  bool has_gauges() const { return !gauges_.empty(); }
  bool has(const std::string& gauge) const { return gauges_.contains(gauge); }
  bool is_full() const { return gauges_.size() >= kGauges; }
  // After two readings, or those that were tried at first.
  bool knows(const std::string& device) const {
    const auto found = devices_.find(device);
    return found != devices_.end() && (found->second.readings > 0 || found->second.doubtful > 1);
  }
  // How many times as long as another device of its kind it takes; 1 if it is not known.
  double factor(const std::string& device) const {
    const auto found = devices_.find(device);
    return found == devices_.end() ? 1 : std::exp(found->second.log_factor);
  }

  // The gauge that the device should time before its next trial; nothing: it need not. A device that is
  // known and alone has nobody to be compared with.
  std::optional<std::string> due(const std::string& device, bool has_others) const {
    if (gauges_.empty()) return std::nullopt;
    const auto found = devices_.find(device);
    const Device timed = found == devices_.end() ? Device() : found->second;
    if (timed.readings > 0 && !has_others) return std::nullopt;
    // The first one, and one that tells whether the last was disturbed, are due at once.
    const bool is_urgent = timed.doubtful == 1 || (timed.readings == 0 && timed.doubtful == 0);
    const bool is_soon = timed.doubtful > 0 || timed.readings < kFewReadings;
    if (!is_urgent && timed.trials < (is_soon ? kReadSoon : kReadEvery)) return std::nullopt;
    // In turns, so that what is peculiar to one kernel does not count for all.
    auto gauge = gauges_.begin();
    std::advance(gauge, static_cast<std::ptrdiff_t>(timed.turn % gauges_.size()));
    return gauge->first;
  }

 private:
  struct Gauge {
    double log_ns = 0;  // on a device of factor 1
    size_t readings = 0;
  };
  struct Device {
    double log_factor = 0;
    size_t readings = 0;
    size_t trials = 0;           // since it timed a gauge last
    size_t turn = 0;             // how often it timed one
    std::optional<double> jump;  // a reading that was far off, until the next one
    size_t doubtful = 0;         // readings in a row that were far off or failed
  };

  void fail(const std::string& device, const std::string& gauge) {
    if (!gauges_.contains(gauge)) return;
    Device& timed = devices_[device];
    timed.trials = 0;
    ++timed.turn;
    ++timed.doubtful;
  }

  std::map<std::string, Gauge> gauges_;
  std::map<std::string, Device> devices_;
};

}  // namespace tf::measure
