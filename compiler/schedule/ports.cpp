#include "compiler/schedule/ports.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace tf::schedule {
namespace {
const tensor::Layout kRowMajor;

absl::StatusOr<std::vector<tensor::Layout>> parse_layouts(const std::vector<std::string>& texts,
                                                          std::string_view what,
                                                          const std::vector<int>& ranks) {
  std::vector<tensor::Layout> layouts;
  if (texts.empty()) return layouts;
  if (texts.size() != ranks.size()) {
    return absl::InvalidArgumentError(absl::StrCat(texts.size(), " layouts for ", ranks.size(), " ",
                                                   std::string(what),
                                                   "; give one each, or none for row-major"));
  }
  for (size_t i = 0; i < texts.size(); ++i) {
    TF_ASSIGN_OR_RETURN(tensor::Layout layout, tensor::Layout::parse(texts[i], ranks[i]));
    layouts.push_back(std::move(layout));
  }
  return layouts;
}

}  // namespace

const tensor::Layout& PortLayouts::output(size_t index) const {
  return index < outputs.size() ? outputs[index] : kRowMajor;
}

const tensor::Layout& PortLayouts::input(const tensor::Workload& workload, size_t index) const {
  if (workload.inputs[index].constant) return kRowMajor;
  size_t port = 0;
  for (size_t i = 0; i < index; ++i) port += !workload.inputs[i].constant;
  return port < inputs.size() ? inputs[port] : kRowMajor;
}

absl::StatusOr<PortLayouts> parse_ports(const tensor::Workload& workload,
                                        const std::vector<std::string>& inputs,
                                        const std::vector<std::string>& outputs) {
  std::vector<int> input_ranks, output_ranks;
  for (const tensor::Input& input : workload.inputs)
    if (!input.constant) input_ranks.push_back(input.buffer->rank());
  for (const tensor::Buffer& output : workload.outputs) output_ranks.push_back(output->rank());
  PortLayouts ports;
  TF_ASSIGN_OR_RETURN(ports.inputs, parse_layouts(inputs, "inputs", input_ranks));
  TF_ASSIGN_OR_RETURN(ports.outputs, parse_layouts(outputs, "outputs", output_ranks));
  return ports;
}

}  // namespace tf::schedule
