#pragma once
// Owns: what one core of a machine was measured to reach, as a plain value. Does not know: how it is measured
// (tuner/session/calibrate/calibration.h), what is made of it.

namespace tf::model {

// Of one thread, or of a whole GPU, a second; 0: not measured.
struct MeasuredRates {
  double flops_per_s = 0;         // in registers and the first level of cache
  double l2_bytes_per_s = 0;      // read from there,
  double shared_bytes_per_s = 0;  // from the cache behind it,
  double memory_bytes_per_s = 0;  // and from memory
  double units = 0;               // of a GPU: its multiprocessors
  bool operator==(const MeasuredRates&) const = default;
};

}  // namespace tf::model
