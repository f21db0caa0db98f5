#include <algorithm>
#include <functional>
#include <numeric>

#include "tests/bench/peers/onednn/primitives.h"

namespace tf::peers::onednn {
namespace {

struct Problem {
  int64_t m, n, k;
  memory::desc b;  // as it is given
  bool constant_b;
};

Primitive product(const Problem& p, const bench::Operands& operands, const Finish& finish, const Way& way) {
  const Types& t = way.types;
  const memory::dims a_dims{p.m, p.k}, b_dims{p.k, p.n}, y_dims{p.m, p.n};
  const auto plain = [](const memory::dims& dims, memory::data_type type) {
    return memory::desc(dims, type, memory::format_tag::ab);
  };
  const dnnl::matmul::primitive_desc chosen(
      dnnl::matmul::desc(plain(a_dims, t.x), p.constant_b ? any_order(b_dims, t.w) : plain(b_dims, t.w),
                         plain(y_dims, t.y)),
      finish.attributes(), engine());
  memory given(p.b, engine());
  std::copy(operands.inputs[1].begin(), operands.inputs[1].end(),
            static_cast<float*>(given.get_data_handle()));
  Primitive primitive{.name = "onednn" + way.suffix,
                      .note = chosen.impl_info_str(),
                      .tolerance = way.tolerance,
                      .primitive = dnnl::matmul(chosen),
                      .arguments = finish.arguments,
                      .result = y_dims};
  primitive.arguments[DNNL_ARG_SRC] = packed(operands.inputs[0], a_dims, chosen.src_desc());
  primitive.arguments[DNNL_ARG_WEIGHTS] = reordered(given, chosen.weights_desc());
  primitive.arguments[DNNL_ARG_DST] = memory(chosen.dst_desc(), engine());
  return primitive;
}

}  // namespace

void add_product(const bench::Gemm& gemm, const bench::Operands& operands, const Way& way,
                 std::vector<Contender>& contenders) {
  const Problem problem{gemm.m, gemm.n, gemm.k, row_major({gemm.k, gemm.n}), gemm.constant_b};
  try_add(contenders, [&] { return product(problem, operands, {}, way); });
}

void add_product(const Part& part, double tolerance, std::vector<Contender>& contenders) {
  const graph::Node& node = *part.kernel.find<graph::MatMul>();
  const auto& op = std::get<graph::MatMul>(node.op);
  const memory::dims b = part.dims(node.inputs[1]), y = part.kernel.network->shape(node.type);
  if (b.size() != 2 || op.transpose_a || part.values(node.inputs[0]).data() != part.operands.inputs[0].data())
    return;
  const int64_t n = y.back(), m = std::reduce(y.begin(), y.end() - 1, int64_t{1}, std::multiplies<>());
  const int64_t k = op.transpose_b ? b[1] : b[0];
  const Problem problem{.m = m,
                        .n = n,
                        .k = k,
                        .b = memory::desc({k, n}, memory::data_type::f32,
                                          op.transpose_b ? memory::format_tag::ba : memory::format_tag::ab),
                        .constant_b = graph::as<graph::Constant>(part.node(node.inputs[1])) != nullptr};
  // An operand of what follows is a matrix of all rows, or one row for all.
  const auto order = [&](const memory::dims& dims) {
    const int64_t rows = std::reduce(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>()) / dims.back();
    return row_major({rows, dims.back()});
  };
  const std::optional<Finish> finish = finish_of(part, part.kernel.group.nodes[0], {.order = order});
  if (!finish) return;
  try_add(contenders, [&] { return product(problem, part.operands, *finish, {.tolerance = tolerance}); });
}

}  // namespace tf::peers::onednn
