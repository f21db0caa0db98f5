#include <map>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/graph/element_values.h"
#include "compiler/graph/text.h"
#include "compiler/graph/verify.h"
#include "compiler/tensor/text.h"

namespace tf::graph {
namespace {

using tensor::Expr;
using tensor::TokenKind;

class Parser {
 public:
  Parser(tensor::Reader& reader, const BlobSource& blobs, int depth)
      : reader_(reader), blobs_(blobs), depth_(depth) {}

  absl::StatusOr<Graph> parse() {
    if (depth_ > kMostNested) return reader_.error("graphs are nested too deeply");
    TF_RETURN_IF_ERROR(reader_.expect("graph"));
    TF_ASSIGN_OR_RETURN(graph_.name, string());
    TF_RETURN_IF_ERROR(reader_.expect("{"));
    while (!reader_.accept("}")) {
      TF_ASSIGN_OR_RETURN(std::string word, reader_.expect_name());
      if (word == "dim") {
        TF_RETURN_IF_ERROR(dimension());
      } else if (word == "output") {
        TF_RETURN_IF_ERROR(output());
      } else {
        TF_RETURN_IF_ERROR(node(word));
      }
    }
    return std::move(graph_);
  }

 private:
  static constexpr int kMostNested = 16;

  absl::StatusOr<std::string> string() {
    if (reader_.peek().kind != TokenKind::kString) return reader_.error("expected a quoted name");
    return reader_.next().text;
  }

  absl::Status dimension() {
    TF_ASSIGN_OR_RETURN(std::string name, reader_.expect_name());
    tensor::Dimension dim{tensor::var(name)};
    TF_RETURN_IF_ERROR(reader_.expect("="));
    TF_ASSIGN_OR_RETURN(graph_.binding[name], reader_.expect_int());
    TF_RETURN_IF_ERROR(reader_.expect("in"));
    TF_RETURN_IF_ERROR(reader_.expect("["));
    TF_ASSIGN_OR_RETURN(dim.low, reader_.expect_int());
    TF_RETURN_IF_ERROR(reader_.expect(","));
    TF_ASSIGN_OR_RETURN(dim.high, reader_.expect_int());
    scope_.vars[name] = dim.var;
    graph_.dims.push_back(std::move(dim));
    return reader_.expect("]");
  }

  absl::StatusOr<NodeId> operand(const std::string& name) {
    auto found = nodes_.find(name);
    if (found == nodes_.end()) return reader_.error("there is no node " + name + " above");
    return found->second;
  }

  absl::Status output() {
    Output output;
    TF_ASSIGN_OR_RETURN(output.name, string());
    TF_RETURN_IF_ERROR(reader_.expect("="));
    TF_ASSIGN_OR_RETURN(std::string name, reader_.expect_name());
    TF_ASSIGN_OR_RETURN(output.node, operand(name));
    graph_.outputs.push_back(std::move(output));
    return absl::OkStatus();
  }

  absl::Status node(const std::string& label) {
    Node node;
    TF_RETURN_IF_ERROR(reader_.expect("="));
    TF_ASSIGN_OR_RETURN(std::string name, reader_.expect_name());
    if (!op_from_name(name, &node.op)) return reader_.error("there is no operator " + name);
    TF_RETURN_IF_ERROR(reader_.expect("("));
    std::vector<Expr> values;
    std::string digest;
    if (std::holds_alternative<Constant>(node.op)) {
      TF_RETURN_IF_ERROR(constant_values(values, digest));
    } else {
      TF_RETURN_IF_ERROR(operands(node));
      TF_RETURN_IF_ERROR(attributes(node.op));
    }
    TF_RETURN_IF_ERROR(reader_.expect(")"));
    TF_ASSIGN_OR_RETURN(node.name, string());
    TF_RETURN_IF_ERROR(reader_.expect(":"));
    TF_ASSIGN_OR_RETURN(node.type, type());
    while (reader_.accept(",")) {
      TF_ASSIGN_OR_RETURN(TensorType more, type());
      node.more_types.push_back(std::move(more));
    }
    if (auto* constant = std::get_if<Constant>(&node.op)) {
      TF_ASSIGN_OR_RETURN(constant->data, data(node.type, values, digest));
    }
    graph_.nodes.push_back(std::move(node));
    if (!nodes_.emplace(label, NodeId(graph_.nodes.size() - 1)).second)
      return reader_.error("node " + label + " is defined twice");
    return absl::OkStatus();
  }

  absl::Status operands(Node& node) {
    while (reader_.peek().kind == TokenKind::kName) {
      TF_ASSIGN_OR_RETURN(NodeId id, operand(reader_.next().text));
      node.inputs.push_back(id);
      if (!reader_.accept(",")) break;
    }
    return absl::OkStatus();
  }

  absl::Status attributes(Op& op) {
    if (!reader_.accept(";")) return absl::OkStatus();
    do {
      TF_ASSIGN_OR_RETURN(std::string name, reader_.expect_name());
      TF_RETURN_IF_ERROR(reader_.expect("="));
      absl::Status status = reader_.error("there is no attribute " + name);
      std::visit(
          [&](auto& attributes) {
            visit_attributes(attributes, [&](const char* known, auto& member) {
              if (name == known) status = value(member);
            });
          },
          op);
      TF_RETURN_IF_ERROR(status);
    } while (reader_.accept(","));
    return absl::OkStatus();
  }

  absl::Status value(Expr& out) {
    TF_ASSIGN_OR_RETURN(out, reader_.expr(scope_));
    return absl::OkStatus();
  }
  absl::Status value(int64_t& out) {
    Expr e;
    TF_RETURN_IF_ERROR(value(e));
    auto known = tensor::as_int(e);
    if (!known) return reader_.error("expected a whole number");
    out = *known;
    return absl::OkStatus();
  }
  absl::Status value(bool& out) {
    int64_t number = 0;
    TF_RETURN_IF_ERROR(value(number));
    out = number != 0;
    return absl::OkStatus();
  }
  absl::Status value(double& out) {
    Expr e;
    TF_RETURN_IF_ERROR(value(e));
    auto* known = tensor::as<tensor::FloatImm>(e);
    if (!known) return reader_.error("expected a floating-point number");
    out = known->value;
    return absl::OkStatus();
  }
  absl::Status value(Region& out) {
    TF_ASSIGN_OR_RETURN(Graph region, Parser(reader_, blobs_, depth_ + 1).parse());
    out = std::make_shared<const Graph>(std::move(region));
    return absl::OkStatus();
  }
  absl::Status value(tensor::Element& out) {
    TF_ASSIGN_OR_RETURN(std::string name, reader_.expect_name());
    TF_ASSIGN_OR_RETURN(out, tensor::element_from_name(name));
    return absl::OkStatus();
  }
  template <typename T>
  absl::Status value(std::vector<T>& out) {
    TF_RETURN_IF_ERROR(reader_.expect("["));
    out.clear();
    if (reader_.accept("]")) return absl::OkStatus();
    do {
      T entry{};
      TF_RETURN_IF_ERROR(value(entry));
      out.push_back(entry);
    } while (reader_.accept(","));
    return reader_.expect("]");
  }

  absl::Status constant_values(std::vector<Expr>& values, std::string& digest) {
    if (reader_.accept("sha256")) {
      TF_ASSIGN_OR_RETURN(digest, string());
      return absl::OkStatus();
    }
    if (reader_.peek().text == ")") return absl::OkStatus();
    do {
      TF_ASSIGN_OR_RETURN(Expr e, reader_.expr(scope_));
      values.push_back(e);
    } while (reader_.accept(","));
    return absl::OkStatus();
  }

  absl::StatusOr<BlobRef> data(const TensorType& type, const std::vector<Expr>& values,
                               const std::string& hex) {
    if (!hex.empty()) {
      TF_ASSIGN_OR_RETURN(Digest digest, Digest::from_hex(hex));
      BlobRef blob = blobs_ ? blobs_(digest) : nullptr;
      if (!blob) return absl::NotFoundError("the constant with SHA-256 " + hex + " is missing");
      return blob;
    }
    std::vector<double> floats;
    std::vector<int64_t> integers;
    for (const Expr& e : values) {
      if (auto* f = tensor::as<tensor::FloatImm>(e)) floats.push_back(f->value);
      if (auto i = tensor::as_int(e)) integers.push_back(*i);
    }
    const bool is_float = tensor::is_float(type.element);
    if ((is_float ? floats.size() : integers.size()) != values.size())
      return reader_.error("the constant's values are not of its element type");
    return std::make_shared<const Blob>(is_float ? write_floats(type.element, floats)
                                                 : write_integers(type.element, integers));
  }

  absl::StatusOr<TensorType> type() {
    TensorType type;
    TF_RETURN_IF_ERROR(value(type.element));
    TF_RETURN_IF_ERROR(value(type.extents));
    return type;
  }

  tensor::Reader& reader_;
  const BlobSource& blobs_;
  const int depth_;
  tensor::Scoped scope_;
  Graph graph_;
  std::map<std::string, NodeId> nodes_;
};

}  // namespace

absl::StatusOr<Graph> parse_graph(std::string_view text, const BlobSource& blobs) {
  tensor::Reader reader(text);
  TF_ASSIGN_OR_RETURN(Graph graph, Parser(reader, blobs, 0).parse());
  if (reader.peek().kind != TokenKind::kEnd) return reader.error("text after the graph's end");
  TF_RETURN_IF_ERROR(verify(graph));
  return graph;
}

}  // namespace tf::graph
