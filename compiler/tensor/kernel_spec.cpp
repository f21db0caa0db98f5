#include "compiler/tensor/kernel_spec.h"

#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace tf::tensor {
namespace {

const Layout kRowMajor;

absl::StatusOr<std::vector<Layout>> parse_layouts(const std::vector<std::string>& texts,
                                                  std::string_view what, const std::vector<int>& ranks) {
  std::vector<Layout> layouts;
  if (texts.empty()) return layouts;
  if (texts.size() != ranks.size()) {
    return absl::InvalidArgumentError(absl::StrCat(texts.size(), " layouts for ", ranks.size(), " ",
                                                   std::string(what),
                                                   "; give one each, or none for row_major"));
  }
  for (size_t i = 0; i < texts.size(); ++i) {
    TF_ASSIGN_OR_RETURN(Layout layout, Layout::parse(texts[i], ranks[i]));
    layouts.push_back(std::move(layout));
  }
  return layouts;
}

}  // namespace

const Layout& PortLayouts::output(size_t index) const {
  return index < outputs.size() ? outputs[index] : kRowMajor;
}

const Layout& PortLayouts::input(const Workload& workload, size_t index) const {
  if (workload.inputs[index].constant) return kRowMajor;
  size_t port = 0;
  for (size_t i = 0; i < index; ++i) port += !workload.inputs[i].constant;
  return port < inputs.size() ? inputs[port] : kRowMajor;
}

absl::StatusOr<PortLayouts> parse_ports(const Workload& workload, const std::vector<std::string>& inputs,
                                        const std::vector<std::string>& outputs) {
  std::vector<int> input_ranks, output_ranks;
  for (const Input& input : workload.inputs)
    if (!input.constant) input_ranks.push_back(input.buffer->rank());
  for (const Buffer& output : workload.outputs) output_ranks.push_back(output->rank());
  PortLayouts ports;
  TF_ASSIGN_OR_RETURN(ports.inputs, parse_layouts(inputs, "inputs", input_ranks));
  TF_ASSIGN_OR_RETURN(ports.outputs, parse_layouts(outputs, "outputs", output_ranks));
  return ports;
}

std::vector<std::string> layout_texts(const std::vector<Layout>& layouts) {
  std::vector<std::string> texts;
  for (const Layout& layout : layouts) texts.push_back(layout.text());
  return texts;
}

KernelSpec for_target(KernelSpec spec, const target::Target& target, int threads) {
  spec.target = target;
  spec.threads = threads;
  return spec;
}

KernelKey key_of(const KernelSpec& spec) {
  return {.workload = workload_key(spec.workload),
          .binding = binding_text(canonical_binding(spec.workload, spec.binding)),
          .in_layouts = layout_texts(spec.ports.inputs),
          .out_layouts = layout_texts(spec.ports.outputs),
          .target = spec.target.text(),
          .threads = static_cast<uint32_t>(spec.threads),
          .reuse_distance_bytes = spec.reuse_distance_bytes};
}

absl::StatusOr<KernelSpec> parse_spec(const std::string& workload, const KernelKey& key) {
  KernelSpec spec{.threads = static_cast<int>(key.threads), .reuse_distance_bytes = key.reuse_distance_bytes};
  TF_ASSIGN_OR_RETURN(spec.workload, parse_workload(workload));
  TF_ASSIGN_OR_RETURN(spec.binding, parse_binding(key.binding));
  TF_ASSIGN_OR_RETURN(spec.ports, parse_ports(spec.workload, key.in_layouts, key.out_layouts));
  TF_ASSIGN_OR_RETURN(spec.target, target::parse_target(key.target));
  return spec;
}

KernelKey key_for(const KernelSpec& spec, const target::Target& target, int threads) {
  KernelKey key = key_of(spec);
  key.target = target.text();
  key.threads = static_cast<uint32_t>(threads);
  return key;
}

}  // namespace tf::tensor
