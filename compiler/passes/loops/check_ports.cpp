#include "compiler/passes/loops/check_ports.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/schedule/steps/steps.h"

namespace tf::passes {

absl::Status check_ports(const tensor::Workload& workload, const tensor::PortLayouts& ports) {
  auto check = [](const std::vector<ir::Layout>& layouts, const std::vector<tensor::Buffer>& buffers,
                  const char* what) -> absl::Status {
    if (layouts.empty()) return absl::OkStatus();
    if (layouts.size() != buffers.size())
      return absl::InvalidArgumentError(absl::StrCat("the workload has ", buffers.size(), " ", what,
                                                     "s, but ", layouts.size(),
                                                     " layouts are given: give one each or none"));
    for (size_t i = 0; i < layouts.size(); ++i)
      if (layouts[i].swizzle || !schedule::is_layout_of(layouts[i], buffers[i]->rank()))
        return absl::InvalidArgumentError(absl::StrCat("'", layouts[i].text(), "' is not a layout of ", what,
                                                       " ", i, " of rank ", buffers[i]->rank()));
    return absl::OkStatus();
  };
  std::vector<tensor::Buffer> activations;
  for (const tensor::Input& input : workload.inputs)
    if (!input.constant) activations.push_back(input.buffer);
  if (absl::Status status = check(ports.inputs, activations, "input"); !status.ok()) return status;
  return check(ports.outputs, workload.outputs, "output");
}

}  // namespace tf::passes
