#include "compiler/passes/memory/own_fragments.h"

#include <algorithm>
#include <map>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "compiler/analysis/simplifier.h"
#include "compiler/analysis/simplify.h"
#include "compiler/ir/physical.h"
#include "compiler/passes/passes.h"

namespace tf::passes {
namespace {

using ir::as;
using ir::Buffer;
using ir::Expr;
using ir::Stmt;
using tensor_units::Digit;
using tensor_units::LaneMap;

// How a fragment is made of tiles.
struct Tiling {
  const LaneMap* map = nullptr;
  size_t row = 0, column = 0;  // dimensions
  bool is_sum = false;
};
using Tilings = std::map<const ir::BufferNode*, Tiling>;

std::optional<size_t> dimension_of(const std::vector<int64_t>& steps) {
  const auto one = std::ranges::find(steps, 1);
  if (one == steps.end() || std::ranges::count(steps, 0) + 1 != static_cast<std::ptrdiff_t>(steps.size()))
    return std::nullopt;
  return static_cast<size_t>(one - steps.begin());
}

absl::Status refuse(const Buffer& buffer, const char* why) {
  return absl::FailedPreconditionError(absl::StrCat("fragment ", buffer->name, " ", why));
}

bool has_whole_tiles(const Buffer& buffer, const Tiling& tiling) {
  const auto is_whole = [&](size_t d, int64_t length) {
    const auto extent = tensor::as_int(buffer->extents[d]);
    return extent && *extent % length == 0;
  };
  return tiling.row != tiling.column && is_whole(tiling.row, tiling.map->rows) &&
         is_whole(tiling.column, tiling.map->columns) && buffer->layout.is_row_major();
}

// What matrix statements say about fragments.
class TilingFinder final : public ir::Visitor {
 public:
  Tilings tilings;
  absl::Status status;

 protected:
  bool enter(const Expr&) override { return false; }
  bool enter(const Stmt& stmt) override {
    const auto* op = as<ir::MatrixOp>(stmt);
    for (size_t i = 0; op && i < op->tiles.size(); ++i) add(*op, i);
    return status.ok();
  }

 private:
  void add(const ir::MatrixOp& op, size_t i) {
    const ir::MatrixTile& tile = op.tiles[i];
    const LaneMap* map = ir::lane_map(op, i);
    if (map == nullptr) {
      if (op.unit->reads_shared) return;  // the other checker's
      if (std::ranges::any_of(tile.buffer->layout.axes, [](const auto& axis) { return axis.block > 0; }) ||
          tile.buffer->layout.swizzle)
        status = absl::FailedPreconditionError(absl::StrCat(
            "tiles of ", tile.buffer->name, " are loaded from a layout with blocks or a swizzle"));
      return;
    }
    if (tile.buffer->scope != ir::Scope::kFragment) return;
    const auto row = dimension_of(tile.row_steps), column = dimension_of(tile.column_steps);
    const Tiling tiling{map, row.value_or(0), column.value_or(0), map == &op.unit->c};
    const auto [found, is_new] = tilings.try_emplace(tile.buffer.get(), tiling);
    if (!row || !column || found->second.map != map || found->second.row != *row ||
        found->second.column != *column)
      status = refuse(tile.buffer, "has tiles of more than one kind");
    else if (is_new && !has_whole_tiles(tile.buffer, tiling))
      status = refuse(tile.buffer, "has parts of tiles");
  }
};

// What the digits of a lane or of an element's number are, of a row and a column.
Expr holder(const Tiling& tiling, const Expr& row, const Expr& column, Digit::Source source) {
  Expr sum = tensor::imm(0);
  const auto add = [&](const std::vector<Digit>& digits, const Expr& at) {
    for (const Digit& d : digits)
      if (d.source == source)
        sum = sum + tensor::floor_mod(tensor::floor_div(at, d.step), d.count) * d.divisor;
  };
  add(tiling.map->row, row);
  add(tiling.map->column, column);
  return sum;
}

class OwnershipChecker final : public ir::Visitor {
 public:
  OwnershipChecker(const Tilings& tilings, const analysis::RangeMap& ranges)
      : tilings_(tilings), ranges_(ranges) {}
  absl::Status status;

 protected:
  bool enter(const Stmt& stmt) override {
    if (const auto* loop = as<ir::For>(stmt)) {
      ranges_[loop->var.get()] = analysis::iterations(*loop, ranges_, {});
      if (loop->for_kind == ir::ForKind::kThreadX) lane_ = loop->var;
    }
    const auto* op = as<ir::MatrixOp>(stmt);
    if (op && op->unit->reads_shared && op->action == ir::MatrixAction::kMultiply)
      for (size_t i = 1; i < op->tiles.size(); ++i) check_factor(*op, i);
    const auto* store = as<ir::Store>(stmt);
    if (store && store->buffer->scope == ir::Scope::kFragment)
      status = refuse(store->buffer, "is stored to; only matrix statements write it");
    if (const auto* allocate = as<ir::Allocate>(stmt); allocate &&
                                                       allocate->buffer->scope == ir::Scope::kFragment &&
                                                       !tilings_.contains(allocate->buffer.get()))
      status = refuse(allocate->buffer, "belongs to no matrix instruction: add a `tensorize` step");
    return status.ok();
  }
  bool enter(const Expr& expr) override {
    const auto* load = as<ir::Load>(expr);
    if (load && load->buffer->scope == ir::Scope::kFragment) check(*load);
    return status.ok() && !tilings_.empty();
  }

 private:
  // Whether the unit can read it, which knows nothing of tiles that start in the midst of a pattern.
  void check_factor(const ir::MatrixOp& op, size_t i) {
    const ir::MatrixTile& tile = op.tiles[i];
    const LaneMap& shape = i == 1 ? op.unit->a : op.unit->b;
    const auto place = ir::shared_tile(tile, shape.rows, shape.columns);
    const auto descriptor = place ? tensor_units::describe(*op.unit, i == 1, *place) : std::nullopt;
    if (!descriptor)
      status = absl::FailedPreconditionError(
          absl::StrCat(std::string(op.unit->name), " cannot read tiles of ", tile.buffer->name,
                       " from the layout '", tile.buffer->layout.text(), "'"));
    // Lines in groups of eight, pieces of a line as a whole.
    const bool are_columns = (i == 1) == (descriptor && descriptor->has_lines_of_terms);
    const int64_t line =
        descriptor ? descriptor->stride_bytes / 8 / tensor::element_bytes(tile.buffer->element) : 1;
    for (size_t d = 0; d < tile.indices.size() && status.ok(); ++d) {
      const bool in_line = (are_columns ? tile.column_steps : tile.row_steps)[d] == 1;
      if (!in_line && tile.row_steps[d] + tile.column_steps[d] == 0) continue;
      const int64_t whole = in_line ? std::min<int64_t>(line, are_columns ? shape.columns : shape.rows) : 8;
      if (tensor::as_int(analysis::simplify(tensor::floor_mod(tile.indices[d], whole), ranges_)) != 0)
        status = absl::FailedPreconditionError(absl::StrCat("tiles of ", tile.buffer->name, " start within ",
                                                            whole, " elements that ",
                                                            std::string(op.unit->name), " reads at once"));
    }
  }

  // For each lane apart: then all is numbers but the places of tiles.
  void check(const ir::Load& load) {
    const Tiling& tiling = tilings_.at(load.buffer.get());
    if (!tiling.is_sum) status = refuse(load.buffer, "is a factor's; only matrix statements read it");
    const Expr held = holder(tiling, load.indices[tiling.row], load.indices[tiling.column], Digit::kLane);
    for (int lane = 0; lane < tiling.map->lanes && status.ok(); ++lane) {
      const Expr value = lane_ ? tensor::substitute(held, {{lane_.get(), tensor::imm(lane)}}) : held;
      if (tensor::as_int(analysis::simplify(value, ranges_)) != lane)
        status =
            refuse(load.buffer,
                   "is read by lanes that do not hold what they read; give its reader loops by the lane map");
    }
  }

  const Tilings& tilings_;
  analysis::RangeMap ranges_;
  ir::Var lane_;
};

class Owner final : public ir::Rewriter {
 public:
  explicit Owner(const Tilings& tilings) : tilings_(tilings) {}

 protected:
  Stmt rewrite(const Stmt& stmt) override {
    Stmt out = recurse(stmt);
    if (const auto* allocate = as<ir::Allocate>(out); allocate && tilings_.contains(allocate->buffer.get()))
      return ir::make_stmt<ir::Allocate>(own(allocate->buffer), allocate->body);
    const auto* op = as<ir::MatrixOp>(out);
    if (!op) return out;
    std::vector<ir::MatrixTile> tiles = op->tiles;
    for (ir::MatrixTile& tile : tiles)
      if (tilings_.contains(tile.buffer.get()))
        tile = {own(tile.buffer), {first_register(*tile.buffer, tile.indices)}, {0}, {0}};
    return ir::make_stmt<ir::MatrixOp>(op->unit, op->action, std::move(tiles), op->groups_in_flight);
  }

  Expr rewrite(const Expr& expr) override {
    Expr out = recurse(expr);
    const auto* load = as<ir::Load>(out);
    if (!load || !tilings_.contains(load->buffer.get())) return out;
    const Tiling& tiling = tilings_.at(load->buffer.get());
    return tensor::load(
        own(load->buffer),
        {first_register(*load->buffer, load->indices) +
         holder(tiling, load->indices[tiling.row], load->indices[tiling.column], Digit::kElement)},
        load->predicate);
  }

 private:
  // Of the tile that the element is in.
  Expr first_register(const ir::BufferNode& buffer, const std::vector<Expr>& indices) const {
    const Tiling& tiling = tilings_.at(&buffer);
    Expr number = tensor::imm(0);
    for (size_t d = 0; d < indices.size(); ++d) {
      const int64_t length = length_of(tiling, d);
      number = number * (tensor::as_int(buffer.extents[d]).value() / length) +
               tensor::floor_div(indices[d], length);
    }
    return number * tiling.map->elements();
  }

  static int64_t length_of(const Tiling& tiling, size_t d) {
    return d == tiling.row ? tiling.map->rows : d == tiling.column ? tiling.map->columns : 1;
  }

  Buffer own(const Buffer& buffer) {
    Buffer& owned = owned_[buffer.get()];
    if (owned) return owned;
    int64_t elements = 1;
    for (const Expr& extent : buffer->extents) elements *= tensor::as_int(extent).value();
    return owned = tensor::buffer(buffer->name, buffer->element,
                                  {tensor::imm(elements / tilings_.at(buffer.get()).map->lanes)},
                                  ir::Scope::kRegister);
  }

  const Tilings& tilings_;
  std::map<const ir::BufferNode*, Buffer> owned_;
};

}  // namespace

absl::Status check_fragments(const ir::Function& function) {
  TilingFinder finder;
  finder(function.body);
  if (!finder.status.ok()) return finder.status;
  OwnershipChecker checker(finder.tilings, analysis::ranges_of(function.dims));
  checker(function.body);
  return checker.status;
}

ir::Function own_fragments(const ir::Function& function) {
  TilingFinder finder;
  finder(function.body);
  TF_CHECK(finder.status.ok()) << finder.status.message();
  if (finder.tilings.empty()) return function;
  ir::Function out = function;
  out.body = Owner(finder.tilings)(function.body);
  return out;
}

}  // namespace tf::passes
