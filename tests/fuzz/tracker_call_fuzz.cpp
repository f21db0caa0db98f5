// Every method of a served tracker.
#include "tests/fuzz/input.h"
#include "tests/fuzz/served.h"
#include "tracker/service/daemon.h"

namespace {

using tf::tracker::Daemon;

std::unique_ptr<Daemon> start() {
  return *Daemon::start({.listen = {.host = "127.0.0.1"},
                         .state_path = tf::fuzz::folder().file("tracker.db"),
                         .artifact_bytes = 4 << 20});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Never destroyed: gRPC's threads outlive main.
  static auto& served = *new tf::fuzz::Served<Daemon>(start, "/tunefarm.farm.v1.Operators/ListDevices");
  served.call(tf::fuzz::text(data, size));
  return 0;
}
