#include "tuner/session/loop/requests_proto.h"

#include "proto/kernel/v1/kernel.pb.h"

namespace tf::session {
namespace {

namespace kernel = tunefarm::kernel::v1;

kernel::BuildKernelRequest request_of(const Task& task, const std::string& target) {
  kernel::BuildKernelRequest build;
  build.set_workload(tensor::canonical_text(task.kernel.workload));
  for (const auto& [name, value] : tensor::canonical_binding(task.kernel.workload, task.kernel.binding)) {
    (*build.mutable_binding())[name] = value;
  }
  build.set_target(target);
  build.set_use(kernel::KERNEL_USE_DEVICE);
  return build;
}

std::shared_ptr<const kernel::BuildRequest> wrap(kernel::BuildKernelRequest build) {
  auto request = std::make_shared<kernel::BuildRequest>();
  *request->mutable_kernel() = std::move(build);
  return request;
}

}  // namespace

std::shared_ptr<const kernel::BuildRequest> candidate_request(const Task& task, const std::string& target,
                                                              const std::string& schedule) {
  kernel::BuildKernelRequest build = request_of(task, target);
  build.set_entry("kernel");
  build.set_schedule(schedule);
  for (std::string& text : tensor::layout_texts(task.kernel.ports.inputs))
    build.add_in_layouts(std::move(text));
  for (std::string& text : tensor::layout_texts(task.kernel.ports.outputs))
    build.add_out_layouts(std::move(text));
  return wrap(std::move(build));
}

std::shared_ptr<const kernel::BuildRequest> reference_request(const Task& task, const std::string& target) {
  // Row-major: the worker packs and unpacks around it.
  kernel::BuildKernelRequest build = request_of(task, target);
  build.set_entry("reference");
  build.set_reference(true);
  return wrap(std::move(build));
}

}  // namespace tf::session
