// What a device is asked to time.
#include "device_agent/worker/job_wire.h"
#include "device_agent/worker/trial_setup.h"
#include "proto/farm/v1/trial.pb.h"
#include "tests/fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tf;
  constexpr int64_t kLongestRunNs = 60'000'000'000;
  constexpr worker::Caches kCaches{.l2_bytes = 1 << 20, .last_bytes = 32 << 20};
  tunefarm::farm::v1::Trial trial;
  if (!trial.ParseFromArray(data, static_cast<int>(size)) || !worker::check_trial(trial, kLongestRunNs).ok())
    return 0;
  worker::sandbox::Job job = {};
  worker::set_up_trial(trial, 1 << 20, kCaches, &job);
  TF_CHECK(job.samples >= 1 && job.samples <= worker::sandbox::kMaxSamples);
  TF_CHECK(job.timeout_ns > 0 && job.timeout_ns <= kLongestRunNs);
  TF_CHECK(job.reuse_distance_bytes <= 2 * kCaches.last_bytes);
  return 0;
}
