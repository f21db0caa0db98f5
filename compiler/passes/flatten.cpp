#include "compiler/passes/flatten.h"

#include <map>

#include "compiler/ir/physical.h"

namespace tf::passes {
namespace {

using ir::as;
using ir::Buffer;
using ir::Expr;
using ir::Stmt;

class Flattener final : public ir::Rewriter {
 public:
  Buffer flat(const Buffer& buffer) {
    auto [entry, inserted] = flat_.try_emplace(buffer.get());
    if (inserted)
      entry->second =
          tensor::buffer(buffer->name, buffer->element, {ir::physical_elements(*buffer)}, buffer->scope);
    return entry->second;
  }

 protected:
  Expr rewrite(const Expr& expr) override {
    Expr out = recurse(expr);
    const auto* load = as<ir::Load>(out);
    if (!load) return out;
    return tensor::load(flat(load->buffer), {ir::physical_offset(*load->buffer, load->indices)},
                        load->predicate);
  }

  Stmt rewrite(const Stmt& stmt) override {
    Stmt out = recurse(stmt);
    if (const auto* store = as<ir::Store>(out))
      return ir::store(flat(store->buffer), {ir::physical_offset(*store->buffer, store->indices)},
                       store->value, store->predicate);
    if (const auto* allocate = as<ir::Allocate>(out))
      return ir::make_stmt<ir::Allocate>(flat(allocate->buffer), allocate->body);
    if (const auto* copy = as<ir::AsyncCopy>(out))
      return ir::make_stmt<ir::AsyncCopy>(
          flat(copy->target), std::vector<Expr>{ir::physical_offset(*copy->target, copy->target_indices)},
          flat(copy->source), std::vector<Expr>{ir::physical_offset(*copy->source, copy->source_indices)},
          copy->elements);
    return out;
  }

 private:
  std::map<const ir::BufferNode*, Buffer> flat_;
};

}  // namespace

ir::Function flatten(const ir::Function& function) {
  Flattener flattener;
  ir::Function out = function;
  for (Buffer& param : out.params) param = flattener.flat(param);
  out.body = flattener(function.body);
  return out;
}

}  // namespace tf::passes
