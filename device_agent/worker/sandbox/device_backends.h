#pragma once
// Owns: the table of devices that the harness can measure on.

#include "device_agent/worker/sandbox/device_backend.h"

namespace tf::worker::sandbox {

// Null if there is no such device.
const DeviceKind* find_device(const char* name);

}  // namespace tf::worker::sandbox
