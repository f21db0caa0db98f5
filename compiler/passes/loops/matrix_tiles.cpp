#include "compiler/passes/loops/matrix_tiles.h"

#include "absl/strings/str_cat.h"
#include "compiler/analysis/simplify.h"

namespace tf::passes {

using ir::Expr;

ir::MatrixTile tile_at(const ir::Buffer& buffer, std::vector<Expr> indices, int row, int column) {
  ir::MatrixTile tile{buffer, std::move(indices), {}, {}};
  for (int d = 0; d < buffer->rank(); ++d) {
    tile.row_steps.push_back(d == row ? 1 : 0);
    tile.column_steps.push_back(d == column ? 1 : 0);
  }
  return tile;
}

ir::Stmt over_tiles(const std::vector<tensor::SymInt>& region, const tensor_units::LaneMap& map, int row,
                    int column, const std::function<ir::Stmt(std::vector<Expr>)>& make) {
  std::vector<ir::Var> vars;
  std::vector<Expr> indices, counts;
  for (int d = 0; d < static_cast<int>(region.size()); ++d) {
    const int64_t length = d == row ? map.rows : d == column ? map.columns : 1;
    vars.push_back(tensor::var(absl::StrCat("i", d)));
    indices.push_back(vars.back() * length);
    counts.push_back(
        analysis::simplify(tensor::floor_div(region[static_cast<size_t>(d)].expr(), length), {}));
  }
  ir::Stmt body = make(indices);
  for (size_t d = vars.size(); d-- > 0;)
    body = ir::make_for(vars[d], tensor::imm(0), counts[d], ir::ForKind::kUnrolled, body);
  return body;
}

}  // namespace tf::passes
