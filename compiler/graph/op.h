#pragma once
// Owns: the closed set of graph operators, each a struct of its attributes, and the reflection over
// attributes that printing, parsing and equality share. Does not know: how an operator is computed
// (compiler/ops, which has the same kinds) or where it came from (compiler/frontends).
//
// An operator has one result unless its comment names several. Operands are listed in each struct's comment;
// those in [] are optional and may be left out from the end. Element-wise operators broadcast like ONNX and NumPy.
// Axes are never negative.

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "compiler/graph/blob.h"
#include "compiler/ops/kind.h"
#include "compiler/tensor/expr.h"

namespace tf::graph {

struct Graph;
// A graph that an operator runs. Its inputs are given by the operator, in order, and it reads nothing else. Never null.
using Region = std::shared_ptr<const Graph>;

struct Input {};  // (): what the user gives; the node's type says what

struct Constant {  // ()
  BlobRef data;
};

// (x [N, C, spatial…], w [M, C / groups, kernel…], [bias [M]]): cross-correlation over one to three spatial
// axes. Bytes, of which x and w may be of different signedness, give i32, here and in MatMul.
struct Conv {
  std::vector<int64_t> strides, dilations, pads_begin, pads_end;
  int64_t groups = 1;
};

// (a […, M, K], b […, K, N]): batched matrix product; transpose_* says that an operand's last two axes are
// stored the other way round.
struct MatMul {
  bool transpose_a = false;
  bool transpose_b = false;
};

// (x [N, C, spatial…]): padding never wins a maximum, and is counted in an average only if count_include_pad.
// kMaxIndex gives the places of the maxima in all of x, row-major, as i64.
enum class PoolKind : uint8_t { kMax, kAverage, kMaxIndex };
struct Pool {
  PoolKind kind = PoolKind::kMax;
  std::vector<int64_t> kernel, strides, dilations, pads_begin, pads_end;
  bool count_include_pad = false;
};

// (x): folds the axes; they stay with extent 1 if keep_dims.
using ops::ReduceKind;
struct Reduce {
  ReduceKind kind = ReduceKind::kSum;
  std::vector<int64_t> axes;
  bool keep_dims = true;
};

// (x [N, C, …]): x / (bias + alpha / size * Σ x²) ^ beta over `size` neighbouring channels.
struct Lrn {
  int64_t size = 1;
  double alpha = 1e-4, beta = 0.75, bias = 1.0;
};

struct Softmax {  // (x)
  int64_t axis = 0;
  bool log = false;
};

// (x [N, C, …], scale [C], bias [C], mean [C], variance [C]): inference form.
struct BatchNorm {
  double epsilon = 1e-5;
};

using ops::UnaryKind;
struct Unary {  // (x)
  UnaryKind kind = UnaryKind::kRelu;
};

struct LeakyRelu {  // (x): alpha * x below zero
  double alpha = 0.01;
};

struct Clip {  // (x): min(max(x, low), high)
  double low = 0, high = 0;
};

using ops::BinaryKind;
struct Binary {  // (a, b)
  BinaryKind kind = BinaryKind::kAdd;
};

struct Where {};  // (condition bool, if_true, if_false)

struct Cast {  // (x)
  tensor::Element element = tensor::Element::kFloat32;
};

struct Concat {  // (x…)
  int64_t axis = 0;
};

struct Reshape {  // (x): the same elements in row-major order
  std::vector<tensor::Expr> extents;
};

struct Expand {  // (x): broadcast to the extents
  std::vector<tensor::Expr> extents;
};

struct Transpose {  // (x): result axis i is x's axis perm[i]
  std::vector<int64_t> perm;
};

// (x): along axes[k], result element i is x's element starts[k] + i * steps[k]; sizes[k] elements. A step may
// be negative; the other axes are whole.
struct Slice {
  std::vector<int64_t> axes, starts, sizes, steps;
};

struct Pad {  // (x): `value` around x; begin and end have one entry an axis
  std::vector<int64_t> begin, end;
  double value = 0;
};

struct Gather {  // (data, indices i32 or i64): negative indices count from the end
  int64_t axis = 0;
};

// (x, for each axis: indices i32 [taps, extent][, weights of that shape, if weighted]): y[…, o, …] is the sum of
// x[…, indices[t, o], …] * weights[t, o] over the taps of all axes. Weights are f64 for f64, else f32.
struct Resample {
  std::vector<int64_t> axes;
  bool weighted = false;
};

// (x [N, groups * B * M, spatial…]) → [N, groups * M, sizes…]: B, the product of the blocks, channels become neighbours
// along the spatial axes, of which `begin` elements are left out (ops::depth_to_space).
struct DepthToSpace {
  int64_t groups = 1;
  std::vector<int64_t> blocks, begin, sizes;
};

// (x [N, C, S], batches [R], places [T, R, P][, weights [T, R, P]]) → [R, C, P]: the sum, or the greatest, over t of
// x[batches[r], c, places[t, r, p]] * weights[t, r, p]; a negative place reads 0. Indices are i32 or i64, weights f64 for
// f64, else f32.
struct Sample {
  bool greatest = false;
};

// (x): of a node with several results, the one of that number, from 1 on; reading the node itself reads number 0.
struct Result {
  int64_t index = 1;
};

// --- Computed by a host function of the runtime, not by a kernel.

// (x): the k largest or smallest along the axis, in order, the first of equals first; a NaN counts as the largest.
// Results: values, indices i64.
struct TopK {
  int64_t axis = 0, k = 1;
  bool largest = true;
};

enum class ScatterKind : uint8_t { kPut, kAdd, kMul, kMin, kMax };

// (data, indices i32 or i64, updates): the data, where updates go to the places that indices name along the axis, in their
// order. Negative indices count from the end.
struct ScatterElements {
  ScatterKind kind = ScatterKind::kPut;
  int64_t axis = 0;
};

// (data, indices i64 [..., d], updates): the same for slices of the data, which d indices name in its first axes.
struct ScatterSlices {
  ScatterKind kind = ScatterKind::kPut;
};

// (x): sums, or products, along the axis up to each element, with or without it, from the axis's start or its end.
struct CumulativeSum {
  int64_t axis = 0;
  bool exclusive = false, reverse = false, product = false;
};

// (x): the same bits as an element of as many bytes.
struct BitCast {
  tensor::Element element = tensor::Element::kInt32;
};

// (x [..., n, n])
struct Determinant {};

// (x, indices i64): of these extents, 0 but for the elements of x, at the row-major places that indices name.
struct MaxUnpool {
  std::vector<tensor::Expr> extents;
};

// (x [n, channels, height, width], regions [r, 4], i64 [r]: which of n): height * width bins of each region, as ONNX's
// RoiAlign.
struct RoiAlign {
  int64_t height = 1, width = 1;
  bool maximum = false, half_pixel = true;
  int64_t sampling_ratio = 0;
  double scale = 1;
};

enum class RandomKind : uint8_t { kUniform, kNormal };

// Random numbers are a function of the seed, the operand `run` (i64, of one element) and their place.

// (run): uniform from `first` to `second`, or normal with mean `first` and standard deviation `second`.
struct Random {
  RandomKind kind = RandomKind::kUniform;
  int64_t seed = 0;
  double first = 0, second = 1;
  tensor::Element element = tensor::Element::kFloat32;
  std::vector<tensor::Expr> extents;
};

// (probabilities, run): 1 with the probability, else 0.
struct Bernoulli {
  int64_t seed = 0;
  tensor::Element element = tensor::Element::kFloat32;
};

// (weights [batch, classes], run): `samples` of the classes, drawn in proportion to their weights; i32 or i64.
struct Multinomial {
  int64_t seed = 0, samples = 1;
  tensor::Element element = tensor::Element::kInt32;
};

// How many elements these find depends on their operands' values. `found` is a named dimension of the graph, whose value
// in the binding is an assumption (graph/found.h); the last result, a single i64, is the number in a run.

// (x): the places of elements that are not 0, in row-major order. Results: i64 [rank, found], i64.
struct NonZero {
  tensor::Expr found;
};

// (x): each different element once, or each different slice along the axis (-1: elements), sorted, or by first place.
// Results: these; the first place of each, i64 [found]; for each of x its number among them, i64; how often each occurs,
// i64 [found]; i64.
struct Unique {
  int64_t axis = -1;
  bool sorted = true;
  tensor::Expr found;
};

// (boxes f32 [batches, n, 4], scores f32 [batches, classes, n], most of a class i64, overlap threshold f32, score
// threshold f32, which counts if `scored`): batch, class and box of what is selected, as ONNX's NonMaxSuppression. Results:
// i64 [found, 3], i64.
struct NonMaxSuppression {
  bool centered = false, scored = false;
  tensor::Expr found;
};

// --- Control flow.

// (condition bool of one element, x…): runs one of the two on x…. Their results have the same types.
struct If {
  Region then_branch, else_branch;
};

// (trips i64 of one element, [condition bool of one element, if conditional], carried…, scanned…, captured…): runs the
// body `trips` times, as long as the condition holds.
//   body(iteration i64, carried…, slices…, captured…) → ([condition], carried…, slices…)
// An iteration reads the carried values that the one before it gave, and the scanned operands' slices along axis 0.
// Results: the last carried values, then every iteration's slices, joined along a new axis 0. `backward` has an entry
// for each scanned operand, then for each joined result: not 0 for one that goes from its last slice to its first.
struct Loop {
  Region body;
  int64_t carried = 0, scanned = 0;
  bool conditional = false;
  std::vector<int64_t> backward;
};

using Op = std::variant<Input, Constant, Conv, MatMul, Pool, Reduce, Lrn, Softmax, BatchNorm, Unary,
                        LeakyRelu, Clip, Binary, Where, Cast, Concat, Reshape, Expand, Transpose, Slice, Pad,
                        Gather, Resample, DepthToSpace, Sample, Result, TopK, If, Loop, ScatterElements,
                        ScatterSlices, CumulativeSum, Determinant, MaxUnpool, RoiAlign, Random, Bernoulli,
                        Multinomial, BitCast, NonZero, Unique, NonMaxSuppression>;

template <typename O>
constexpr bool finds_elements =
    std::is_same_v<O, NonZero> || std::is_same_v<O, Unique> || std::is_same_v<O, NonMaxSuppression>;

// Those that the runtime computes by a host function.
template <typename O>
constexpr bool is_host_operator =
    std::is_same_v<O, TopK> || std::is_same_v<O, ScatterElements> || std::is_same_v<O, ScatterSlices> ||
    std::is_same_v<O, CumulativeSum> || std::is_same_v<O, Determinant> || std::is_same_v<O, MaxUnpool> ||
    std::is_same_v<O, RoiAlign> || std::is_same_v<O, Random> || std::is_same_v<O, Bernoulli> ||
    std::is_same_v<O, Multinomial> || std::is_same_v<O, BitCast> || finds_elements<O>;

// "conv", "max_pool", "relu", … : the text form's operator names; kinds have a name each.
std::string op_name(const Op& op);
// The operator of that name with its default attributes; false if there is none.
bool op_from_name(std::string_view name, Op* out);

// Least and greatest number of operands (greatest -1: no limit).
struct Arity {
  int least = 0, greatest = 0;
};
Arity op_arity(const Op& op);

// Calls v("name", member) for every attribute in the text form's order. Kinds are part of the operator's
// name, and a constant's data is printed on its own, so neither is visited.
template <typename O, typename V>
void visit_attributes(O& op, V&& v) {
  using T = std::remove_const_t<O>;
  if constexpr (std::is_same_v<T, Conv>) {
    v("strides", op.strides), v("dilations", op.dilations), v("pads_begin", op.pads_begin);
    v("pads_end", op.pads_end), v("groups", op.groups);
  } else if constexpr (std::is_same_v<T, MatMul>) {
    v("transpose_a", op.transpose_a), v("transpose_b", op.transpose_b);
  } else if constexpr (std::is_same_v<T, Pool>) {
    v("kernel", op.kernel), v("strides", op.strides), v("dilations", op.dilations),
        v("pads_begin", op.pads_begin);
    v("pads_end", op.pads_end), v("count_include_pad", op.count_include_pad);
  } else if constexpr (std::is_same_v<T, Reduce>) {
    v("axes", op.axes), v("keep_dims", op.keep_dims);
  } else if constexpr (std::is_same_v<T, Lrn>) {
    v("size", op.size), v("alpha", op.alpha), v("beta", op.beta), v("bias", op.bias);
  } else if constexpr (std::is_same_v<T, Softmax>) {
    v("axis", op.axis), v("log", op.log);
  } else if constexpr (std::is_same_v<T, BatchNorm>) {
    v("epsilon", op.epsilon);
  } else if constexpr (std::is_same_v<T, LeakyRelu>) {
    v("alpha", op.alpha);
  } else if constexpr (std::is_same_v<T, Clip>) {
    v("low", op.low), v("high", op.high);
  } else if constexpr (std::is_same_v<T, Cast> || std::is_same_v<T, BitCast>) {
    v("element", op.element);
  } else if constexpr (std::is_same_v<T, Concat> || std::is_same_v<T, Gather>) {
    v("axis", op.axis);
  } else if constexpr (std::is_same_v<T, Reshape> || std::is_same_v<T, Expand>) {
    v("extents", op.extents);
  } else if constexpr (std::is_same_v<T, Transpose>) {
    v("perm", op.perm);
  } else if constexpr (std::is_same_v<T, Slice>) {
    v("axes", op.axes), v("starts", op.starts), v("sizes", op.sizes), v("steps", op.steps);
  } else if constexpr (std::is_same_v<T, Pad>) {
    v("begin", op.begin), v("end", op.end), v("value", op.value);
  } else if constexpr (std::is_same_v<T, Resample>) {
    v("axes", op.axes), v("weighted", op.weighted);
  } else if constexpr (std::is_same_v<T, DepthToSpace>) {
    v("groups", op.groups), v("blocks", op.blocks), v("begin", op.begin), v("sizes", op.sizes);
  } else if constexpr (std::is_same_v<T, Sample>) {
    v("greatest", op.greatest);
  } else if constexpr (std::is_same_v<T, Result>) {
    v("index", op.index);
  } else if constexpr (std::is_same_v<T, TopK>) {
    v("axis", op.axis), v("k", op.k), v("largest", op.largest);
  } else if constexpr (std::is_same_v<T, If>) {
    v("then", op.then_branch), v("else", op.else_branch);
  } else if constexpr (std::is_same_v<T, Loop>) {
    v("carried", op.carried), v("scanned", op.scanned), v("conditional", op.conditional);
    v("backward", op.backward), v("body", op.body);
  } else if constexpr (std::is_same_v<T, ScatterElements>) {
    v("axis", op.axis);
  } else if constexpr (std::is_same_v<T, CumulativeSum>) {
    v("axis", op.axis), v("exclusive", op.exclusive), v("reverse", op.reverse);
    v("product", op.product);
  } else if constexpr (std::is_same_v<T, MaxUnpool>) {
    v("extents", op.extents);
  } else if constexpr (std::is_same_v<T, RoiAlign>) {
    v("height", op.height), v("width", op.width), v("maximum", op.maximum), v("half_pixel", op.half_pixel);
    v("sampling_ratio", op.sampling_ratio), v("scale", op.scale);
  } else if constexpr (std::is_same_v<T, Random>) {
    v("seed", op.seed), v("first", op.first), v("second", op.second), v("element", op.element);
    v("extents", op.extents);
  } else if constexpr (std::is_same_v<T, Bernoulli>) {
    v("seed", op.seed), v("element", op.element);
  } else if constexpr (std::is_same_v<T, Multinomial>) {
    v("seed", op.seed), v("samples", op.samples), v("element", op.element);
  } else if constexpr (std::is_same_v<T, NonZero>) {
    v("found", op.found);
  } else if constexpr (std::is_same_v<T, Unique>) {
    v("axis", op.axis), v("sorted", op.sorted), v("found", op.found);
  } else if constexpr (std::is_same_v<T, NonMaxSuppression>) {
    v("centered", op.centered), v("scored", op.scored), v("found", op.found);
  } else {
    static_assert(std::is_same_v<T, Input> || std::is_same_v<T, Constant> || std::is_same_v<T, Unary> ||
                  std::is_same_v<T, Binary> || std::is_same_v<T, Where> || std::is_same_v<T, ScatterSlices> ||
                  std::is_same_v<T, Determinant>);
  }
}

// True for operators whose result element depends on the operands' elements at the same (broadcast) place
// only.
bool is_elementwise(const Op& op);
// True for operators that the runtime computes by a host function.
bool is_host_function(const Op& op);
// The regions that the operator runs, in the order of its attributes.
std::vector<Region> regions(const Op& op);

}  // namespace tf::graph
