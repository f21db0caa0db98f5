#include "compiler/graph/dynamic/program_numbers.h"

namespace tf::graph {

bool uses(const tensor::Expr& number, const tensor::Var& dim) {
  bool found = false;
  tensor::for_each(number, [&](const tensor::Expr& e) {
    found = found || e.get() == dim.get();
    return !found;
  });
  return found;
}

void for_each_number(const Program& program, const std::function<void(const tensor::Expr&)>& visit) {
  for_each_program(program, [&](const Program& each) {
    for (const Value& value : each.values) {
      for (const tensor::Expr& extent : each.graph.type(value.node).extents) visit(extent);
      for (const tensor::Expr& number : {value.size_of_run, value.offset_of_run})
        if (number) visit(number);
    }
    for (const Call& call : each.calls) {
      for (const tensor::Expr& number : call.numbers) visit(number);
      if (call.indices && call.indices->extent_of_run) visit(call.indices->extent_of_run);
      const auto* kernel = std::get_if<KernelCall>(&call.what);
      if (!kernel) continue;
      for (const tensor::Expr& number : kernel->dims) visit(number);
      for (const auto& [input, begin] : kernel->blocks)
        for (const tensor::Expr& number : begin) visit(number);
    }
  });
}

}  // namespace tf::graph
