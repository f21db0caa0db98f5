#include "compiler/driver/wire.h"

namespace tf::driver {
namespace {

namespace kernel = tunefarm::kernel::v1;

kernel::BuildRequest request_of(const tensor::KernelSpec& spec, const std::string& target) {
  kernel::BuildRequest request;
  kernel::BuildKernelRequest& build = *request.mutable_kernel();
  build.set_workload(tensor::canonical_text(spec.workload));
  const tensor::Binding binding = tensor::canonical_binding(spec.workload, spec.binding);
  build.mutable_binding()->insert(binding.begin(), binding.end());
  build.set_target(target);
  build.set_use(kernel::KERNEL_USE_DEVICE);
  return request;
}

}  // namespace

kernel::BuildRequest kernel_request(const tensor::KernelSpec& spec, const std::string& target,
                                    const std::string& schedule) {
  kernel::BuildRequest request = request_of(spec, target);
  kernel::BuildKernelRequest& build = *request.mutable_kernel();
  build.set_entry("kernel");
  build.set_schedule(schedule);
  for (const tensor::Layout& layout : spec.ports.inputs) build.add_in_layouts(layout.text());
  for (const tensor::Layout& layout : spec.ports.outputs) build.add_out_layouts(layout.text());
  return request;
}

kernel::BuildRequest reference_request(const tensor::KernelSpec& spec, const std::string& target) {
  // Row-major: the worker packs and unpacks around it.
  kernel::BuildRequest request = request_of(spec, target);
  request.mutable_kernel()->set_entry("reference");
  request.mutable_kernel()->set_reference(true);
  return request;
}

}  // namespace tf::driver
