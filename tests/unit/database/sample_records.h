#pragma once
// Owns: records to fill a store with, and folders to keep it in.

#include <string>
#include <vector>

#include "database/record.h"

namespace tf::database {

inline Workload conv_workload() {
  return {.text = "compute conv2d(N, 64, 56, 56)", .op = "conv2d+bias+relu", .flops = 2.3e8};
}

inline tensor::KernelKey conv_problem() {
  return {.workload = conv_workload().key(),
          .binding = "N=1",
          .in_layouts = {"0,1,2,3,1:16", ""},
          .out_layouts = {"0,1,2,3,1:16"},
          .target = "x86_64:cpu=znver4",
          .threads = 2};
}

inline NetworkVerdict some_verdict() {
  return {.key = sha256("a network"),
          .device_class = "desk",
          .target = "x86_64:cpu=znver4",
          .threads = 2,
          .takes = NetworkVerdict::Takes::kFastest,
          .name = "net.onnx",
          .why = "the tuned network is faster: ratio 0.9",
          .numerics = {"bf16", "winograd"},
          .kernels = {conv_workload().key(), {sha256("another")}},
          .decided_unix_ns = 10};
}

// An ok measurement whose median is `ns`, of a schedule with that number in it.
inline Measurement measured(int64_t ns, int64_t time = 1) {
  Measurement m;
  m.problem = conv_problem();
  m.schedule = "split(s0, 0, " + std::to_string(ns) + ")";
  m.semantics_version = 3;
  m.sketch_hash = "abcd";
  m.choices = {4, -1, 1 << 20};
  m.samples = {{ns * 10, 10}, {ns * 20, 20}, {ns * 5, 4}};
  m.cache_mode = CacheMode::kRotate;
  m.max_error = 1.25e-7;
  m.device = {.device_class = "desk",
              .fingerprint = "f00d",
              .model = "A CPU",
              .clock_mhz = 4200.5,
              .temperature_c = 61.25,
              .throttled = true,
              .governor = "performance",
              .load_1min = 0.5};
  m.artifact_digest = "a1";
  m.code_digest = "c1";
  m.finished_unix_ns = time;
  return m;
}

}  // namespace tf::database
