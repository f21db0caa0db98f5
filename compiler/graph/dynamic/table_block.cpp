#include "compiler/graph/dynamic/table_block.h"

#include <algorithm>
#include <cstring>

namespace tf::graph {

Table table_of(const Graph& graph, NodeId constant) {
  return {graph.type(constant).element, graph.shape(constant), as<Constant>(graph.node(constant))->data};
}

bool is_same(const Table& a, const Table& b) {
  return a.element == b.element && a.shape == b.shape &&
         (a.data == b.data || a.data->bytes() == b.data->bytes());
}

bool is_block(const Table& part, const Table& table, std::span<const int64_t> begin) {
  const std::vector<int64_t>&shape = part.shape, &all = table.shape;
  if (part.element != table.element || shape.size() != all.size() || begin.size() != all.size()) return false;
  for (size_t d = 0; d < shape.size(); ++d)
    if (begin[d] < 0 || begin[d] + shape[d] > all[d]) return false;
  const std::string_view bytes = part.data->bytes(), from = table.data->bytes();
  if (bytes.empty()) return true;
  // Row by row: rows are as long as the part's last axis.
  const auto element = static_cast<size_t>(tensor::element_bytes(part.element));
  const size_t row = (shape.empty() ? 1 : static_cast<size_t>(shape.back())) * element;
  std::vector<int64_t> at(begin.begin(), begin.end());
  for (size_t done = 0; done < bytes.size(); done += row) {
    size_t place = 0;
    for (size_t d = 0; d < shape.size(); ++d)
      place = place * static_cast<size_t>(all[d]) + static_cast<size_t>(at[d]);
    if (std::memcmp(bytes.data() + done, from.data() + place * element, row) != 0) return false;
    for (size_t d = shape.size(); d-- > 1;) {
      if (++at[d - 1] < begin[d - 1] + shape[d - 1]) break;
      at[d - 1] = begin[d - 1];
    }
  }
  return true;
}

std::optional<std::vector<std::vector<int64_t>>> corner_blocks(std::span<const Table> parts,
                                                               const Table& table) {
  constexpr size_t kMostAxes = 3;
  std::vector<size_t> shorter;  // axes
  for (size_t d = 0; d < table.shape.size(); ++d)
    if (std::ranges::any_of(parts, [&](const Table& part) {
          return part.shape.size() == table.shape.size() && part.shape[d] != table.shape[d];
        }))
      shorter.push_back(d);
  if (shorter.size() > kMostAxes) return std::nullopt;
  for (size_t corner = 0; corner < (size_t{1} << shorter.size()); ++corner) {
    std::vector<std::vector<int64_t>> begins;
    for (const Table& part : parts) {
      if (part.shape.size() != table.shape.size()) return std::nullopt;
      std::vector<int64_t>& begin = begins.emplace_back(table.shape.size(), 0);
      for (size_t i = 0; i < shorter.size(); ++i)
        if ((corner >> i & 1) != 0) begin[shorter[i]] = table.shape[shorter[i]] - part.shape[shorter[i]];
      if (!is_block(part, table, begin)) break;
      if (begins.size() == parts.size()) return begins;
    }
  }
  return std::nullopt;
}

std::map<std::string, TableSlice> table_slices(const Graph& graph) {
  std::map<std::string, TableSlice> found;
  for (const Node& node : graph.nodes) {
    const auto* slice = as<Slice>(node);
    if (!slice || !as<Constant>(graph.node(node.inputs[0]))) continue;
    if (std::ranges::any_of(slice->steps, [](int64_t step) { return step != 1; })) continue;
    TableSlice& window = found[node.name];
    window.table = table_of(graph, node.inputs[0]);
    window.begin.assign(window.table.shape.size(), 0);
    for (size_t i = 0; i < slice->axes.size(); ++i)
      window.begin[static_cast<size_t>(slice->axes[i])] = slice->starts[i];
  }
  return found;
}

}  // namespace tf::graph
