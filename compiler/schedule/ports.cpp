#include "compiler/schedule/ports.h"

namespace tf::schedule {
namespace {
const tensor::Layout kRowMajor;
}

const tensor::Layout& PortLayouts::output(size_t index) const {
  return index < outputs.size() ? outputs[index] : kRowMajor;
}

const tensor::Layout& PortLayouts::input(const tensor::Workload& workload, size_t index) const {
  if (workload.inputs[index].constant) return kRowMajor;
  size_t port = 0;
  for (size_t i = 0; i < index; ++i) port += !workload.inputs[i].constant;
  return port < inputs.size() ? inputs[port] : kRowMajor;
}

}  // namespace tf::schedule
