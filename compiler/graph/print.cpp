#include <algorithm>

#include "absl/strings/str_cat.h"
#include "compiler/graph/element_values.h"
#include "compiler/graph/text.h"
#include "compiler/tensor/text.h"

namespace tf::graph {
namespace {

constexpr size_t kInlineElements = 16;

std::string in_quotes(std::string_view name) {
  std::string text = "\"";
  // What would end the string or the line is replaced: names are for people.
  for (char c : name) text += c == '"' || c == '\\' || static_cast<unsigned char>(c) < ' ' ? '_' : c;
  return text + "\"";
}

std::string value(int64_t v) {
  return std::to_string(v);
}
std::string value(bool v) {
  return v ? "true" : "false";
}
std::string value(double v) {
  return tensor::to_string(tensor::imm({tensor::Element::kFloat64, 1}, v));
}
std::string value(tensor::Element v) {
  return std::string(tensor::element_name(v));
}
std::string value(const tensor::Expr& v) {
  return tensor::to_string(v);
}
template <typename T>
std::string value(const std::vector<T>& list) {
  std::string text = "[";
  for (size_t i = 0; i < list.size(); ++i) absl::StrAppend(&text, i ? ", " : "", value(list[i]));
  return text + "]";
}

std::string constant(const TensorType& type, const BlobRef& data) {
  const size_t elements = data->bytes().size() / tensor::element_bytes(type.element);
  if (elements > kInlineElements) return absl::StrCat("sha256 \"", data->digest().hex(), "\"");
  std::string text;
  auto append = [&](const tensor::Expr& e) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", tensor::to_string(e));
  };
  const tensor::Type scalar{type.element, 1};
  if (tensor::is_float(type.element)) {
    for (double v : read_floats(type.element, data->bytes())) append(tensor::imm(scalar, v));
  } else {
    for (int64_t v : read_integers(type.element, data->bytes()))
      append(tensor::Expr(new tensor::IntImm(scalar, v)));
  }
  return text;
}

// Calls `visit` with the name and value of each attribute: of regions a Region, of others their text.
template <typename Visit>
void for_each_attribute(const Node& node, const Visit& visit) {
  std::visit(
      [&](const auto& op) {
        visit_attributes(op, [&](const char* name, const auto& v) {
          if constexpr (std::is_same_v<std::remove_cvref_t<decltype(v)>, Region>)
            visit(name, v);
          else
            visit(name, value(v));
        });
      },
      node.op);
}

enum class Names { kAll, kOfTheInterface };

// A graph within a graph stands as it would alone, further to the right.
std::string graph_text(const Graph& graph, const std::string& indent, Names names);

std::string node_text(const Node& node, const std::string& indent, Names names) {
  std::string text = op_name(node.op) + "(";
  for (size_t i = 0; i < node.inputs.size(); ++i)
    absl::StrAppend(&text, i ? ", " : "", "n", index(node.inputs[i]));
  if (auto* known = as<Constant>(node)) text += constant(node.type, known->data);
  const char* separator = "; ";
  for_each_attribute(node, [&](const char* name, const auto& v) {
    absl::StrAppend(&text, separator, name, "=");
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(v)>, Region>)
      text += graph_text(*v, indent, names);
    else
      text += v;
    separator = ", ";
  });
  const bool named = names == Names::kAll || as<Input>(node) != nullptr;
  absl::StrAppend(&text, ") ", in_quotes(named ? node.name : ""), " : ", to_string(node.type));
  for (const TensorType& type : node.more_types) absl::StrAppend(&text, ", ", to_string(type));
  return text;
}

std::string graph_text(const Graph& graph, const std::string& indent, Names names) {
  std::string text = absl::StrCat("graph ", in_quotes(names == Names::kAll ? graph.name : ""), " {\n");
  for (const tensor::Dimension& dim : graph.dims)
    absl::StrAppend(&text, indent, "  dim ", dim.var->name, " = ", graph.binding.at(dim.var->name), " in [",
                    dim.low, ", ", dim.high, "]\n");
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    absl::StrAppend(&text, indent, "  n", i, " = ", node_text(graph.nodes[i], indent + "  ", names), "\n");
  for (const Output& output : graph.outputs)
    absl::StrAppend(&text, indent, "  output ", in_quotes(output.name), " = n", index(output.node), "\n");
  return absl::StrCat(text, indent, "}");
}

}  // namespace

std::string to_string(const Graph& graph) {
  return graph_text(graph, "", Names::kAll) + "\n";
}

Digest structure_digest(const Graph& graph) {
  return sha256(graph_text(graph, "", Names::kOfTheInterface));
}

std::vector<AttributeText> attribute_texts(const Node& node) {
  std::vector<AttributeText> texts;
  for_each_attribute(node, [&](const char* name, const auto& v) {
    if constexpr (!std::is_same_v<std::remove_cvref_t<decltype(v)>, Region>) texts.push_back({name, v});
  });
  return texts;
}

std::vector<NamedRegion> regions_of(const Node& node) {
  std::vector<NamedRegion> regions;
  for_each_attribute(node, [&](const char* name, const auto& v) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(v)>, Region>) regions.push_back({name, v});
  });
  return regions;
}

}  // namespace tf::graph
