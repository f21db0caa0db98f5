#include "tests/bench/peers/onednn/engine.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace tf::peers::onednn {
namespace {

dnnl::stream& stream() {
  static dnnl::stream one(engine());
  return one;
}

}  // namespace

dnnl::engine& engine() {
  static dnnl::engine one{dnnl::engine::kind::cpu, 0};
  return one;
}

memory::desc row_major(const memory::dims& dims) {
  memory::dims strides(dims.size(), 1);
  for (size_t axis = dims.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * dims[axis];
  return {dims, memory::data_type::f32, strides};
}

memory::desc feature_map(const memory::dims& dims) {
  if (dims.size() == 4 && dims[1] % 16 == 0)
    return {dims, memory::data_type::f32, memory::format_tag::nChw16c};
  return row_major(dims);
}

memory::desc any_order(const memory::dims& dims, memory::data_type type) {
  return {dims, type, memory::format_tag::any};
}

memory packed(std::span<const float> values, const memory::dims& dims, const memory::desc& wanted) {
  memory plain(row_major(dims), engine());
  std::copy(values.begin(), values.end(), static_cast<float*>(plain.get_data_handle()));
  return reordered(plain, wanted);
}

memory reordered(memory values, const memory::desc& wanted) {
  if (wanted == values.get_desc()) return values;
  memory out(wanted, engine());
  dnnl::reorder(values, out).execute(stream(), values, out);
  stream().wait();
  return out;
}

Contender contender(Primitive p) {
  const memory y = p.arguments.at(DNNL_ARG_DST);
  return {.name = std::move(p.name),
          .note = std::move(p.note),
          .tolerance = p.tolerance,
          .run =
              [primitive = std::move(p.primitive), arguments = std::move(p.arguments)] {
                primitive.execute(stream(), arguments);
                stream().wait();
              },
          .read_out =
              [y, dims = std::move(p.result)](std::span<float> out) {
                memory plain(row_major(dims), engine(), out.data());
                memory from = y;
                dnnl::reorder(from, plain).execute(stream(), from, plain);
                stream().wait();
              }};
}

void report(const dnnl::error& error) {
  if (error.status != dnnl_unimplemented) std::fprintf(stderr, "peers_bench: onednn: %s\n", error.what());
}

}  // namespace tf::peers::onednn
