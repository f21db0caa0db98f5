#pragma once
// Owns: RandomModel, an ONNX model with the values of its inputs that a seed decides, and the draws that makers of nodes
// take from it. Does not know: what any operator means.

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/onnx/model_writer.h"

namespace tf::onnx {

using Shape = std::vector<int64_t>;

// A tensor of a random model. Element types are TensorProto.DataType.
struct RandomTensor {
  std::string name;
  int type = 1;
  Shape shape;
  std::string bytes;  // row-major
};

// What elements a tensor is filled with.
enum class Fill {
  kSmall,     // of both signs, a few units large
  kAny,       // kSmall with infinities, NaN, zeros of both signs, denormals; the ends of whole numbers
  kPositive,  // at least 0.1, or 1
  kUnit,      // within [-1, 1]
  kDistinct,  // no two alike, as far as the type has so many
};

class RandomModel {
 public:
  RandomModel(uint64_t seed, int opset);

  int opset() const { return opset_; }
  int64_t below(int64_t limit);  // [0, limit)
  int64_t between(int64_t first, int64_t last) { return first + below(last - first + 1); }
  bool one_in(int64_t n) { return below(n) == 0; }
  bool flip() { return one_in(2); }
  double real(double low, double high);
  template <typename T>
  const T& pick(const std::vector<T>& choices) {
    return choices[static_cast<size_t>(below(static_cast<int64_t>(choices.size())))];
  }
  std::string pick(std::initializer_list<const char*> choices) {
    return pick(std::vector<std::string>(choices.begin(), choices.end()));
  }
  // One of the letters f f32, h f16, d f64, b i8, B u8, s i16, S u16, i i32, I u32, l i64, L u64, ? bool, as a data type:
  // of two draws one is the first letter.
  int type(std::string_view letters);

  Shape shape(int64_t least_rank, int64_t most_rank, int64_t most_elements = 2000);
  int64_t extent(int64_t most = 17);
  // A shape that broadcasts to that one, of which it may leave out the first axes.
  Shape broadcast_to(const Shape& shape);
  Shape permuted(Shape values);
  // Some of [0, rank), in any order, negative or not.
  Shape some_axes(int64_t rank, int64_t least = 0);
  int64_t signed_axis(int64_t axis, int64_t rank) { return flip() ? axis : axis - rank; }

  // A new operand: mostly an input of the model, else an initializer; its name.
  std::string operand(int type, const Shape& shape, Fill fill = Fill::kSmall);
  // The same as an initializer, or with these whole numbers.
  std::string constant(int type, const Shape& shape, Fill fill = Fill::kSmall);
  std::string whole(int type, const Shape& shape, const Shape& values, bool known);
  std::string reals(int type, const Shape& shape, const std::vector<double>& values, bool known);
  // Axes, shapes, bounds: a row of i64 that is known, but for a few cases.
  std::string list(const Shape& values) {
    return whole(::onnx::TensorProto::INT64, {static_cast<int64_t>(values.size())}, values, !one_in(20));
  }
  std::string scalar(int type, double value) { return reals(type, {}, {value}, !one_in(8)); }

  // A node whose results are outputs of the model, unless a later node reads them.
  ::onnx::NodeProto& node(const std::string& op_type, const std::vector<std::string>& inputs, int outputs = 1,
                          const std::string& domain = "");
  // One more result of the node, its number `index`; those before it that it has not are left out.
  void more_results(::onnx::NodeProto& node, int index);
  // The names of the last node's results.
  const std::vector<std::string>& results() const { return results_; }
  std::string result() const { return results_.front(); }
  std::string fresh(const std::string& stem) { return stem + std::to_string(names_++); }
  void expose(const std::string& value) { exposed_.push_back(value); }  // as an output, whatever reads it
  // From now on nodes are of another graph, as a branch, whose nodes read initializers and inputs of the model; the graph
  // so far.
  ::onnx::GraphProto* enter(::onnx::GraphProto* graph);

  std::string bytes();  // of the model
  const std::vector<RandomTensor>& inputs() const { return inputs_; }

 private:
  std::string add(RandomTensor tensor, bool known);
  std::string random_bytes(int type, int64_t count, Fill fill);

  const int opset_;
  std::mt19937_64 random_;
  ModelWriter writer_;
  ::onnx::GraphProto* graph_;
  int names_ = 0;
  bool all_known_ = false;  // so that everything folds
  bool has_names_ = false;  // some extents of inputs have names instead of numbers
  std::vector<RandomTensor> inputs_;
  std::vector<std::string> results_, made_;
  std::vector<std::string> read_, exposed_;
};

inline int64_t count_of(const Shape& shape) {
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  return count;
}

// Bytes of one element, and of these numbers.
int64_t element_bytes(int type);
bool is_real(int type);
std::string encoded(int type, const std::vector<double>& values);

// One way to write an operator: draws its operands and attributes, and adds one node or a few.
struct RandomOperator {
  const char* name;
  int since;  // operator set
  void (*make)(RandomModel&);
};
using RandomOperators = std::vector<RandomOperator>;
RandomOperators element_wise_operators();
RandomOperators reduction_operators();
RandomOperators movement_operators();
RandomOperators indexing_operators();
RandomOperators window_operators();
RandomOperators layer_operators();
RandomOperators quantized_operators();
RandomOperators signal_operators();
RandomOperators microsoft_operators();
RandomOperators microsoft_byte_operators();
// Graphs of several operators: kernels that fuse, computations of shapes, branches and loops.
RandomOperators random_graphs();

// One operator or graph of all, or of those whose name is `only`.
struct RandomCase {
  std::string name;
  RandomModel model;
};
RandomCase random_case(uint64_t seed, const std::string& only = "");

}  // namespace tf::onnx
