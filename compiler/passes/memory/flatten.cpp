#include <algorithm>
#include <map>

#include "base/check.h"
#include "compiler/analysis/simplifier.h"
#include "compiler/ir/physical.h"
#include "compiler/passes/passes.h"

namespace tf::passes {
namespace {

using ir::as;
using ir::Buffer;
using ir::Expr;
using ir::Stmt;

// How far loads reach into each buffer, in elements.
class ReachFinder final : public ir::Visitor {
 public:
  explicit ReachFinder(const ir::Function& function)
      : ranges_(analysis::ranges_of(function.dims)), simplifier_(ranges_) {}
  int64_t of(const ir::BufferNode* buffer) const {
    auto found = reach_.find(buffer);
    return found == reach_.end() ? 0 : found->second;
  }

 protected:
  bool enter(const Stmt& stmt) override {
    if (const auto* loop = as<ir::For>(stmt)) simplifier_.enter(*loop);
    if (const auto* copy = as<ir::AsyncCopy>(stmt); copy && copy->box.empty())
      note(*copy->source, copy->source_indices);
    return true;
  }
  bool enter(const Expr& expr) override {
    if (const auto* load = as<ir::Load>(expr)) note(*load->buffer, load->indices);
    return true;
  }

 private:
  void note(const ir::BufferNode& buffer, const std::vector<Expr>& indices) {
    const analysis::Interval range = simplifier_.values(ir::physical_offset(buffer, indices));
    int64_t& reach = reach_[&buffer];
    if (range.has_max()) reach = std::max(reach, range.max + 1);
  }

  analysis::RangeMap ranges_;
  analysis::Simplifier simplifier_;
  std::map<const ir::BufferNode*, int64_t> reach_;
};

class Flattener final : public ir::Rewriter {
 public:
  explicit Flattener(const ReachFinder& reach) : reach_(reach) {}

  Buffer param(const Buffer& buffer) {
    return flat_[buffer.get()] = one_dimensional(buffer, ir::physical_elements(*buffer));
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
          flat(copy->source),
          copy->box.empty() ? std::vector<Expr>{ir::physical_offset(*copy->source, copy->source_indices)}
                            : copy->source_indices,
          copy->elements, copy->predicate, copy->box);
    if (const auto* matrix = as<ir::MatrixOp>(out)) return flat(*matrix);
    if (const auto* fold = as<ir::LaneFold>(out))
      return ir::make_stmt<ir::LaneFold>(flat(fold->buffer),
                                         std::vector<Expr>{ir::physical_offset(*fold->buffer, fold->indices)},
                                         fold->combiner, fold->lanes);
    return out;
  }

 private:
  Stmt flat(const ir::MatrixOp& matrix) {
    std::vector<ir::MatrixTile> tiles;
    for (size_t i = 0; i < matrix.tiles.size(); ++i) {
      const ir::MatrixTile& tile = matrix.tiles[i];
      if (matrix.unit->reads_shared && i > 0) {
        const tensor_units::LaneMap& shape = i == 1 ? matrix.unit->a : matrix.unit->b;
        const auto shared = ir::shared_tile(tile, shape.rows, shape.columns);
        TF_CHECK(shared) << "a tile of " << tile.buffer->name << " has no constant steps";
        tiles.push_back({flat(tile.buffer),
                         {ir::physical_offset(*tile.buffer, tile.indices)},
                         {shared->row_step},
                         {shared->column_step},
                         shared->block_columns,
                         shared->next_block});
        continue;
      }
      const std::vector<int64_t> pitches = constant_pitches(*tile.buffer);
      int64_t row = 0, column = 0;
      for (size_t d = 0; d < pitches.size(); ++d) {
        row += pitches[d] * tile.row_steps[d];
        column += pitches[d] * tile.column_steps[d];
      }
      tiles.push_back(
          {flat(tile.buffer), {ir::physical_offset(*tile.buffer, tile.indices)}, {row}, {column}});
    }
    return ir::make_stmt<ir::MatrixOp>(matrix.unit, matrix.action, std::move(tiles), matrix.groups_in_flight);
  }

  // By how many elements a step along each axis moves, of a buffer whose layout has no blocks.
  static std::vector<int64_t> constant_pitches(const ir::BufferNode& buffer) {
    std::vector<int64_t> pitches(static_cast<size_t>(buffer.rank()));
    const std::vector<ir::PhysicalAxis> axes = ir::physical_axes(buffer);
    const std::vector<Expr> extents = ir::physical_extents(buffer);
    int64_t pitch = 1;
    for (size_t i = axes.size(); i-- > 0;) {
      TF_CHECK(axes[i].divisor == 1 && axes[i].modulus == 0)
          << buffer.name << " of tiles has a blocked layout";
      pitches[static_cast<size_t>(axes[i].axis)] = pitch;
      pitch *= tensor::as_int(extents[i]).value_or(0);
    }
    return pitches;
  }

  static Buffer one_dimensional(const Buffer& buffer, const Expr& elements) {
    return tensor::buffer(buffer->name, buffer->element, {elements}, buffer->scope,
                          {.axes = {}, .swizzle = buffer->layout.swizzle});
  }

  Buffer flat(const Buffer& buffer) {
    auto [entry, inserted] = flat_.try_emplace(buffer.get());
    if (!inserted) return entry->second;
    const Expr elements = ir::physical_elements(*buffer);
    const int64_t stored = tensor::as_int(elements).value_or(0);
    const int64_t extra = std::clamp<int64_t>(reach_.of(buffer.get()) - stored, 0, kSlackElements);
    return entry->second = one_dimensional(buffer, elements + extra);
  }

  const ReachFinder& reach_;
  std::map<const ir::BufferNode*, Buffer> flat_;
};

}  // namespace

ir::Function flatten(const ir::Function& function) {
  ReachFinder reach(function);
  reach(function.body);
  Flattener flattener(reach);
  ir::Function out = function;
  for (Buffer& param : out.params) param = flattener.param(param);
  out.body = flattener(function.body);
  return out;
}

}  // namespace tf::passes
