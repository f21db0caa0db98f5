#include "compiler/graph/op.h"

namespace tf::graph {
namespace {

constexpr std::array<std::string_view, 3> kPoolNames = {"max_pool", "average_pool", "max_pool_index"};
constexpr std::array<std::string_view, 5> kScatterElementsNames = {
    "scatter_elements", "scatter_elements_add", "scatter_elements_mul", "scatter_elements_min",
    "scatter_elements_max"};
constexpr std::array<std::string_view, 5> kScatterSlicesNames = {
    "scatter_slices", "scatter_slices_add", "scatter_slices_mul", "scatter_slices_min", "scatter_slices_max"};
constexpr std::array<std::string_view, 2> kRandomNames = {"random_uniform", "random_normal"};

// In the order of Op. The names of operators with kinds are those of their kinds.
struct Plain {
  std::string_view name;
  Arity arity;
};
constexpr Plain kPlain[] = {{"input", {0, 0}},
                            {"constant", {0, 0}},
                            {"conv", {2, 3}},
                            {"matmul", {2, 2}},
                            {"", {1, 1}},
                            {"", {1, 1}},
                            {"lrn", {1, 1}},
                            {"softmax", {1, 1}},
                            {"batch_norm", {5, 5}},
                            {"", {1, 1}},
                            {"leaky_relu", {1, 1}},
                            {"clip", {1, 1}},
                            {"", {2, 2}},
                            {"where", {3, 3}},
                            {"cast", {1, 1}},
                            {"concat", {1, -1}},
                            {"reshape", {1, 1}},
                            {"expand", {1, 1}},
                            {"transpose", {1, 1}},
                            {"slice", {1, 1}},
                            {"pad", {1, 1}},
                            {"gather", {2, 2}},
                            {"resample", {2, 7}},
                            {"depth_to_space", {1, 1}},
                            {"sample", {3, 4}},
                            {"result", {1, 1}},
                            {"topk", {1, 1}},
                            {"if", {1, -1}},
                            {"loop", {1, -1}},
                            {"", {3, 3}},
                            {"", {3, 3}},
                            {"cumulative_sum", {1, 1}},
                            {"determinant", {1, 1}},
                            {"max_unpool", {2, 2}},
                            {"roi_align", {3, 3}},
                            {"", {1, 1}},
                            {"bernoulli", {2, 2}},
                            {"multinomial", {2, 2}},
                            {"bit_cast", {1, 1}},
                            {"nonzero", {1, 1}},
                            {"unique", {1, 1}},
                            {"non_max_suppression", {5, 5}}};
static_assert(std::size(kPlain) == std::variant_size_v<Op>);

std::string_view name_of(const Op& op) {
  if (const auto* pool = std::get_if<Pool>(&op)) return kPoolNames[static_cast<size_t>(pool->kind)];
  if (const auto* reduce = std::get_if<Reduce>(&op)) return ops::name_of(reduce->kind);
  if (const auto* unary = std::get_if<Unary>(&op)) return ops::name_of(unary->kind);
  if (const auto* binary = std::get_if<Binary>(&op)) return ops::name_of(binary->kind);
  if (const auto* scatter = std::get_if<ScatterElements>(&op))
    return kScatterElementsNames[static_cast<size_t>(scatter->kind)];
  if (const auto* scatter = std::get_if<ScatterSlices>(&op))
    return kScatterSlicesNames[static_cast<size_t>(scatter->kind)];
  if (const auto* random = std::get_if<Random>(&op)) return kRandomNames[static_cast<size_t>(random->kind)];
  return kPlain[op.index()].name;
}

// Every operator once; kinds give one each.
std::vector<Op> all_ops() {
  std::vector<Op> all = {Input{},         Constant{},    Conv{},      MatMul{},   Lrn{},
                         Softmax{},       BatchNorm{},   LeakyRelu{}, Clip{},     Where{},
                         Cast{},          Concat{},      Reshape{},   Expand{},   Transpose{},
                         Slice{},         Pad{},         Gather{},    Resample{}, DepthToSpace{},
                         Sample{},        Result{},      TopK{},      If{},       Loop{},
                         CumulativeSum{}, Determinant{}, MaxUnpool{}, RoiAlign{}, Bernoulli{},
                         Multinomial{},   BitCast{},     NonZero{},   Unique{},   NonMaxSuppression{}};
  for (size_t i = 0; i < kPoolNames.size(); ++i) all.push_back(Pool{.kind = static_cast<PoolKind>(i)});
  for (size_t i = 0; i < kScatterElementsNames.size(); ++i) {
    all.push_back(ScatterElements{.kind = static_cast<ScatterKind>(i)});
    all.push_back(ScatterSlices{.kind = static_cast<ScatterKind>(i)});
  }
  for (size_t i = 0; i < kRandomNames.size(); ++i) all.push_back(Random{.kind = static_cast<RandomKind>(i)});
  for (size_t i = 0; i < ops::kReduceNames.size(); ++i)
    all.push_back(Reduce{.kind = static_cast<ReduceKind>(i)});
  for (size_t i = 0; i < ops::kUnaryNames.size(); ++i) all.push_back(Unary{static_cast<UnaryKind>(i)});
  for (size_t i = 0; i < ops::kBinaryNames.size(); ++i) all.push_back(Binary{static_cast<BinaryKind>(i)});
  return all;
}

}  // namespace

std::string op_name(const Op& op) {
  return std::string(name_of(op));
}

Arity op_arity(const Op& op) {
  return kPlain[op.index()].arity;
}

bool op_from_name(std::string_view name, Op* out) {
  static const std::vector<Op> kAll = all_ops();
  for (const Op& op : kAll) {
    if (name_of(op) == name) {
      *out = op;
      return true;
    }
  }
  return false;
}

bool is_elementwise(const Op& op) {
  return std::visit(
      []<typename T>(const T&) {
        return std::is_same_v<T, Unary> || std::is_same_v<T, Binary> || std::is_same_v<T, LeakyRelu> ||
               std::is_same_v<T, Clip> || std::is_same_v<T, Where> || std::is_same_v<T, Cast> ||
               std::is_same_v<T, BatchNorm>;
      },
      op);
}

bool is_host_function(const Op& op) {
  return std::visit([]<typename O>(const O&) { return is_host_operator<O>; }, op);
}

std::vector<Region> regions(const Op& op) {
  if (const auto* branch = std::get_if<If>(&op)) return {branch->then_branch, branch->else_branch};
  if (const auto* loop = std::get_if<Loop>(&op)) return {loop->body};
  return {};
}

}  // namespace tf::graph
