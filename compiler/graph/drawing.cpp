#include "compiler/graph/drawing.h"

#include "absl/strings/str_cat.h"
#include "compiler/graph/text.h"

namespace tf::graph {
namespace {

constexpr size_t kMostNameBytes = 40;

// In quotes; "\\n" in `text` stays a line break of the label.
std::string label(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"') out += '\\';
    out += c == '\n' ? std::string("\\n") : c == '\\' ? std::string("\\\\") : std::string(1, c);
  }
  return out + "\"";
}

// The end of a name tells more than its beginning: "…/layer1/conv2/Conv".
std::string short_name(const std::string& name) {
  if (name.size() <= kMostNameBytes) return name;
  size_t begin = name.size() - kMostNameBytes;
  while (begin < name.size() && (static_cast<unsigned char>(name[begin]) & 0xc0) == 0x80) ++begin;
  return absl::StrCat("…", name.substr(begin));
}

class Drawing {
 public:
  std::string run(const Graph& graph) {
    absl::StrAppend(&text_, "digraph ", label(graph.name), " {\n",
                    "  node [shape=box, style=\"rounded,filled\", fillcolor=\"#eef3fb\", color=\"#5a6b85\", "
                    "fontname=\"Helvetica\", fontsize=11];\n"
                    "  edge [color=\"#5a6b85\", fontname=\"Helvetica\", fontsize=9];\n");
    draw(graph, "  ");
    return text_ + "}\n";
  }

 private:
  // What stands for the value of a node: several results come from one box.
  static NodeId source_of(const Graph& graph, NodeId id) {
    return as<Result>(graph.node(id)) ? graph.node(id).inputs[0] : id;
  }

  // The box of the node in the graph that is drawn with this prefix.
  static std::string box(const std::string& prefix, NodeId id) { return absl::StrCat(prefix, index(id)); }

  void draw(const Graph& graph, const std::string& indent) {
    const std::string prefix = absl::StrCat("g", graphs_++, "_");
    for (size_t i = 0; i < graph.nodes.size(); ++i) draw_node(graph, NodeId(i), prefix, indent);
    for (size_t i = 0; i < graph.outputs.size(); ++i) {
      const std::string end = absl::StrCat(prefix, "out", i);
      absl::StrAppend(&text_, indent, end, " [shape=ellipse, fillcolor=\"#e9f6ea\", label=",
                      label(short_name(graph.outputs[i].name)), "];\n");
      draw_arrow(graph, graph.outputs[i].node, prefix, end, indent);
    }
  }

  void draw_node(const Graph& graph, NodeId id, const std::string& prefix, const std::string& indent) {
    const Node& node = graph.node(id);
    if (as<Constant>(node) || as<Result>(node)) return;
    std::string title = as<Input>(node) ? short_name(node.name) : op_name(node.op);
    if (!as<Input>(node) && !node.name.empty()) absl::StrAppend(&title, "\n", short_name(node.name));
    for (NodeId input : node.inputs)
      if (as<Constant>(graph.node(input))) absl::StrAppend(&title, "\n", to_string(graph.type(input)));
    std::string tooltip;
    for (const AttributeText& attribute : attribute_texts(node))
      absl::StrAppend(&tooltip, tooltip.empty() ? "" : ", ", attribute.name, "=", attribute.value);
    absl::StrAppend(&text_, indent, box(prefix, id), " [label=", label(title), ", tooltip=", label(tooltip),
                    as<Input>(node) ? ", shape=ellipse, fillcolor=\"#fdf3e1\"" : "", "];\n");
    for (NodeId input : node.inputs)
      if (!as<Constant>(graph.node(input))) draw_arrow(graph, input, prefix, box(prefix, id), indent);
    for (const NamedRegion& region : regions_of(node)) draw_region(region, box(prefix, id), indent);
  }

  void draw_arrow(const Graph& graph, NodeId value, const std::string& prefix, const std::string& to,
                  const std::string& indent) {
    if (as<Constant>(graph.node(value))) {  // an output that is constant
      absl::StrAppend(&text_, indent, box(prefix, value), " [label=\"constant\"];\n");
    }
    absl::StrAppend(&text_, indent, box(prefix, source_of(graph, value)), " -> ", to,
                    " [label=", label(to_string(graph.type(value))), "];\n");
  }

  void draw_region(const NamedRegion& region, const std::string& owner, const std::string& indent) {
    const int number = graphs_;
    absl::StrAppend(&text_, indent, "subgraph cluster_", number, " {\n", indent,
                    "  label=", label(region.name),
                    "; style=rounded; color=\"#9aa7bb\"; fontname=\"Helvetica\"; fontsize=11;\n");
    draw(*region.region, indent + "  ");
    absl::StrAppend(&text_, indent, "}\n");
    if (!region.region->outputs.empty())
      absl::StrAppend(&text_, indent, "g", number, "_out0 -> ", owner,
                      " [style=dashed, label=", label(region.name), "];\n");
  }

  std::string text_;
  int graphs_ = 0;
};

}  // namespace

std::string drawing(const Graph& graph) {
  return Drawing().run(graph);
}

}  // namespace tf::graph
