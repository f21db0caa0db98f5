// A compiled kernel as it comes to a device, with its digest.
#include "base/digest.h"
#include "device_agent/worker/job_wire.h"
#include "tests/fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tf;
  const std::string_view bytes = fuzz::text(data, size);
  const auto loaded = worker::load_artifact(bytes, sha256(bytes).hex());
  if (!loaded.ok()) return 0;
  (void)worker::check_same_computation(loaded->job, loaded->job);
  for (uint32_t p = 0; p < loaded->job.port_count; ++p) {
    const worker::sandbox::PortJob& port = loaded->job.ports[p];
    TF_CHECK(port.rank >= 0 && port.rank <= TF_LAYOUT_MAX_RANK);
    if (port.role != worker::sandbox::Role::kOutput) continue;
    const uint64_t room = loaded->result_bytes - port.result_offset;
    TF_CHECK(port.result_offset <= loaded->result_bytes && port.size_bytes <= room / 2) << "answers overlap";
  }
  return 0;
}
