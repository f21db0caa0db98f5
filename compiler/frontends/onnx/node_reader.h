#pragma once
// Owns: NodeReader, one ONNX node as the rules of rules/*.cpp see it: checked access to its operands and
// attributes, and ways to append graph nodes for it. Does not know: what any operator means.

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/frontends/onnx/external_data.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/host_tensor.h"

namespace onnx {
class NodeProto;
class AttributeProto;
class TensorProto;
}  // namespace onnx

namespace tf::onnx {

using graph::NodeId;

// What DequantizeLinear was given: scale * (values - zero), scales and zero points along `axis` if several.
struct Dequantized {
  NodeId values{}, scale{};
  std::optional<NodeId> zero;
  int64_t axis = 0;
};

// A sequence, or an optional, of a length that is known while importing: the values that it consists of.
struct ValueList {
  enum class Kind : uint8_t { kSequence, kOptionalTensor, kOptionalSequence };
  Kind kind = Kind::kSequence;
  std::vector<NodeId> elements;  // of an optional that holds a tensor, this one
  bool holds = true;             // of an optional: whether it holds something

  bool is_optional() const { return kind != Kind::kSequence; }
};
using Value = std::variant<NodeId, ValueList>;

// What a model's graph and those within it share.
struct ImportShared {
  explicit ImportShared(DataFolders folders) : external(std::move(folders)) {}
  int opset = 0;
  ExternalData external;
  int64_t makeable_bytes = 0;  // that constants which the file describes instead of holding may still take
  tensor::Binding found;       // ImportOptions::found
  // That were read of graphs within nodes, again for each iteration that is unrolled.
  int64_t inner_nodes = 0;

  // A tensor of the model, read once: bodies that are read again, as of a loop that is unrolled, share its bytes.
  absl::StatusOr<graph::HostTensor> tensor(const ::onnx::TensorProto& proto);
  std::map<const ::onnx::TensorProto*, graph::HostTensor> tensors;
};

// A graph while it is read: the model's, or a region's, whose nodes may read what graphs around give.
struct ImportState {
  explicit ImportState(ImportShared& all) : shared(all) {}
  explicit ImportState(ImportState& around);

  // The value of that name, if there is one: one of a graph around becomes an input of this one, or a constant.
  std::optional<NodeId> find(const std::string& name);
  // The same of a list.
  std::optional<ValueList> find_list(const std::string& name);

  // A name of the graph's text form that no dimension has yet.
  std::string new_dimension_name(std::string_view name) const;

  graph::Graph graph;
  std::map<std::string, NodeId> values;       // by ONNX value name
  std::map<std::string, ValueList> lists;     // by names that are not among the values
  std::map<NodeId, Dequantized> dequantized;  // by the node that gives the real values
  // What a run finds (graph/found.h): nodes whose extents depend on it, and those whose values are such sizes.
  std::set<NodeId> sized, sizes;
  std::set<NodeId> four_bits;  // the nodes of i8 and u8 that are int4 and uint4 in the model
  std::map<const ::onnx::TensorProto*, NodeId> initializers;
  ImportShared& shared;
  ImportState* outer = nullptr;
  std::vector<NodeId> captured;  // nodes of `outer`, in the order of the inputs that stand for them

 private:
  NodeId capture(NodeId around, const std::string& name);
};

// A region, and what it takes from the graph around: its last inputs.
struct ImportedRegion {
  graph::Graph graph;
  std::vector<NodeId> captured;
};

// What a region's own input is: a constant if it has data.
struct RegionInput {
  graph::TensorType type;
  graph::BlobRef constant;
};

class NodeReader {
 public:
  NodeReader(const ::onnx::NodeProto& node, ImportState& state) : node_(node), state_(state) {}

  int opset() const { return state_.shared.opset; }
  graph::Graph& graph() { return state_.graph; }
  bool in_region() const { return state_.outer != nullptr; }
  std::string name() const;  // the node's, or its first output's
  std::string op_type() const;

  // Operands. A missing one (left out, or an empty name) is an error in input() and false in has().
  int input_count() const;
  bool has(int i) const;
  absl::StatusOr<NodeId> input(int i) const;
  // All operands up to the last that is there; INVALID_ARGUMENT if one before it is missing.
  absl::StatusOr<std::vector<NodeId>> inputs() const;
  // Operand i, if that is a list; whether it is one.
  absl::StatusOr<ValueList> list(int i) const;
  bool is_list(int i) const;
  absl::StatusOr<Value> value(int i) const;
  // Operand i as whole numbers or floats known now; `what` is its meaning, for the error.
  absl::StatusOr<std::vector<int64_t>> constant_ints(int i, std::string_view what) const;
  absl::StatusOr<std::vector<double>> constant_floats(int i, std::string_view what) const;
  int output_count() const;
  bool has_output(int i) const;  // named, so that something may read it

  // Attributes; the default where absent, INVALID_ARGUMENT where of another type.
  bool has_attribute(std::string_view name) const;
  absl::StatusOr<int64_t> int_attribute(std::string_view name, int64_t otherwise) const;
  absl::StatusOr<double> float_attribute(std::string_view name, double otherwise) const;
  absl::StatusOr<std::string> string_attribute(std::string_view name, std::string_view otherwise) const;
  absl::StatusOr<std::vector<int64_t>> ints_attribute(std::string_view name,
                                                      std::vector<int64_t> otherwise) const;
  absl::StatusOr<std::vector<double>> floats_attribute(std::string_view name) const;
  absl::StatusOr<std::vector<std::string>> strings_attribute(std::string_view name) const;
  const ::onnx::AttributeProto* find_attribute(std::string_view name) const;
  absl::StatusOr<graph::HostTensor> tensor(const ::onnx::TensorProto& proto) const;  // of an attribute

  // A possibly negative axis as one of [0, rank); INVALID_ARGUMENT otherwise.
  absl::StatusOr<int64_t> axis(int64_t axis, int rank) const;
  absl::StatusOr<std::vector<int64_t>> axes(std::vector<int64_t> axes, int rank) const;

  // Appends a graph node named like this one, folded at once if it is shape arithmetic on constants.
  absl::StatusOr<NodeId> emit(graph::Op op, std::vector<NodeId> inputs);
  // Result number `index` of a node with several.
  absl::StatusOr<NodeId> result(NodeId node, int index);
  // A new named dimension, which this node finds, where it can find `most`. UNIMPLEMENTED in a branch or a loop.
  absl::StatusOr<tensor::Var> found_dimension(int64_t most);
  // Whether an extent of the node depends on what a run finds; whether its values are numbers of such sizes.
  bool is_sized(NodeId id) const { return state_.sized.contains(id); }
  bool holds_sizes(NodeId id) const { return state_.sizes.contains(id); }
  void set_holds_sizes(NodeId id) { state_.sizes.insert(id); }
  // As emit, of a node whose extents are such numbers: it is not folded, as values of constants then would follow from them.
  absl::StatusOr<NodeId> emit_sized(graph::Op op, std::vector<NodeId> inputs);
  // The graph in an attribute as a region with these inputs, or as nodes of this graph on these values: its outputs.
  absl::StatusOr<ImportedRegion> region(std::string_view attribute, const std::vector<RegionInput>& inputs);
  absl::StatusOr<std::vector<Value>> inlined(std::string_view attribute, const std::vector<Value>& inputs);
  // The declared rank of an input of the graph in an attribute; -1 if it says none.
  absl::StatusOr<int> region_input_rank(std::string_view attribute, int input) const;
  // The operand converted to that element type, or itself if it has it.
  absl::StatusOr<NodeId> cast_to(tensor::Element element, NodeId x);
  // A half as f32, in which halves are summed; others as they are.
  absl::StatusOr<NodeId> widened(NodeId x);
  // A constant of that element type and shape.
  NodeId ints(const std::vector<int64_t>& values);
  NodeId scalar(double value, tensor::Element element);
  const graph::TensorType& type(NodeId id) const { return state_.graph.type(id); }
  int rank(NodeId id) const { return type(id).rank(); }

  // Counts the bytes of a constant that is made, not read; RESOURCE_EXHAUSTED beyond
  // ImportOptions::most_made_bytes.
  absl::Status count_made(int64_t bytes);

  // Whether its elements are int4 or uint4.
  bool has_four_bits(NodeId id) const { return state_.four_bits.contains(id); }
  void set_four_bits(NodeId id) { state_.four_bits.insert(id); }

  // How the real values came about, if by DequantizeLinear; null otherwise.
  const Dequantized* find_dequantized(NodeId id) const;
  void set_dequantized(NodeId id, Dequantized from) { state_.dequantized[id] = from; }

  // Says that output i is that node; rules with one output return it instead.
  void set_output(int i, NodeId id);
  void set_output(int i, const Value& value);

  absl::Status invalid(std::string_view message) const;
  absl::Status unsupported(std::string_view message) const;
  // What the graph says of a node that stands for this one, as an error of this one.
  absl::Status error_of(const absl::Status& status) const;

 private:
  const ::onnx::NodeProto& node_;
  ImportState& state_;
};

// What one operator type means: appends nodes and returns the first output's.
using Rule = absl::StatusOr<NodeId> (*)(NodeReader&);
struct NamedRule {
  const char* op_type;  // behind its domain and a dot, if that is not ai.onnx
  Rule rule;
};
// The same of an operator that may take or give lists: it sets all outputs itself.
using ListRule = absl::Status (*)(NodeReader&);
struct NamedListRule {
  const char* op_type;
  ListRule rule;
};
std::span<const NamedListRule> control_list_rules();  // branches and loops
std::span<const NamedListRule> sequence_rules();      // sequences and optionals; of Identity, those of a list
// The tables of rules/*.cpp, one for each subject.
std::span<const NamedRule> accumulation_rules();  // sums and products along an axis, determinants
std::span<const NamedRule> activation_rules();
std::span<const NamedRule> arithmetic_rules();  // element-wise
std::span<const NamedRule> attention_rules();
std::span<const NamedRule> bit_rules();             // signs, remainders, bits
std::span<const NamedRule> constant_rules();        // constants and questions about shapes
std::span<const NamedRule> conv_transpose_rules();  // windows that are summed where they overlap
std::span<const NamedRule> detection_rules();       // regions, unpooling
std::span<const NamedRule> einsum_rules();
std::span<const NamedRule> loss_rules();
std::span<const NamedRule> microsoft_attention_rules();  // of domain com.microsoft
std::span<const NamedRule> microsoft_few_bits_rules();   // of domain com.microsoft
std::span<const NamedRule> microsoft_layer_rules();      // of domain com.microsoft
std::span<const NamedRule> microsoft_product_rules();    // of domain com.microsoft
std::span<const NamedRule> microsoft_quantized_rules();  // of domain com.microsoft
std::span<const NamedRule> movement_rules();             // patterns, masks and indices
std::span<const NamedRule> network_rules();              // convolution, matrix products, …
std::span<const NamedRule> ngram_rules();
std::span<const NamedRule> normalization_rules();
std::span<const NamedRule> padding_rules();
std::span<const NamedRule> pooling_rules();
std::span<const NamedRule> quantized_rules();  // integers with scales and zero points
std::span<const NamedRule> random_rules();
std::span<const NamedRule> recurrent_rules();  // RNN, GRU, LSTM
std::span<const NamedRule> reduction_rules();  // also positions of extremes
std::span<const NamedRule> resize_rules();
std::span<const NamedRule> sampling_rules();  // elements at computed places
std::span<const NamedRule> scan_rules();
std::span<const NamedRule> scatter_rules();    // updates at places
std::span<const NamedRule> selection_rules();  // sorting and selecting
std::span<const NamedRule> shape_rules();      // what moves elements
std::span<const NamedRule> signal_rules();     // windows and Fourier transforms
std::span<const NamedRule> trigonometry_rules();

// A Conv, MatMul or Gemm's product of dequantized operands as a product of integers, scaled afterwards;
// nothing if it is not one, or if weights, zero points or scales are not such that integers can stand for
// them (rules/quantized.cpp). Its sums are exact: a result may differ in its last bits from a sum of real
// products, and so by one after it is quantized.
absl::StatusOr<std::optional<NodeId>> conv_of_dequantized(NodeReader& node);
absl::StatusOr<std::optional<NodeId>> matmul_of_dequantized(NodeReader& node, const graph::MatMul& op);

// The body of a loop (graph::Loop) from one that does not read the iteration (rules/flow/scan.cpp).
graph::Region with_iteration(const graph::Graph& body);

// The product of extents, constants gathered into one factor.
tensor::Expr product(std::span<const tensor::Expr> extents);

}  // namespace tf::onnx
