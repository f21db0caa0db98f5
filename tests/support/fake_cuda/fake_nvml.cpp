// Owns: NVIDIA's management library for the fake device: a clock, a temperature, and throttling as it is told. Does not know: the
// driver.

#include <cstdlib>

#include "tests/support/fake_cuda/told.h"

extern "C" {

int nvmlInit_v2() {
  return 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char*, void** device) {
  static int the_device;
  *device = &the_device;
  return 0;
}
int nvmlDeviceGetClockInfo(void*, int, unsigned* mhz) {
  *mhz = 1980;
  return 0;
}
int nvmlDeviceGetTemperature(void*, int, unsigned* degrees) {
  *degrees = 61;
  return 0;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
  *reasons = strtoull(fake::told("CUDA_FAKE_THROTTLE_REASONS").c_str(), nullptr, 0);
  return 0;
}

}  // extern "C"
