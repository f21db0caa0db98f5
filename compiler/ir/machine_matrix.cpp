// Statements of matrix instructions, run for the lanes of a warp, or of four, at once.
#include <array>
#include <bit>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "compiler/ir/machine_lanes.h"
#include "compiler/ir/machine_watch.h"

namespace tf::ir::machine {
namespace {

double read_number(Element element, const std::byte* p) {
  return with_lane(element, [&](auto lane) { return static_cast<double>(decltype(lane)::read(p)); });
}

void write_number(Element element, std::byte* p, double value) {
  with_lane(element, [&](auto lane) {
    using T = typename decltype(lane)::Lane;
    if constexpr (std::is_integral_v<T>)
      decltype(lane)::write(p, static_cast<T>(static_cast<int64_t>(value)));
    else
      decltype(lane)::write(p, static_cast<T>(value));
  });
}

// A tile of the statement, its elements read and written by the lanes that hold them.
class TileAccess {
 public:
  // `holders`: of memory, the map of the fragment that it is loaded into.
  TileAccess(const Node& node, size_t tile, std::span<Machine* const> lanes,
             const tensor_units::LaneMap& holders)
      : tile_(node.matrix->tiles[tile]),
        site_(lanes[0]->run->program->sites[static_cast<size_t>(node.sites[tile])]),
        lanes_(lanes),
        map_(holders) {}

  const tensor_units::LaneMap& map() const { return map_; }

  // One place for the whole warp.
  bool is_uniform() const {
    for (const int32_t slot : site_.indices) {
      for (Machine* m : lanes_) {
        if (*m->at<int64_t>(slot) == *lanes_[0]->at<int64_t>(slot)) continue;
        m->run->fail(absl::FailedPreconditionError(absl::StrCat(
            "lanes of a warp give different places of a tile of ", tile_.buffer->name, place_of(*m, site_))));
        return false;
      }
    }
    return true;
  }

  // Nothing where the place is illegal; `defined` becomes false where nobody wrote the element.
  double read(int row, int column, bool* defined) {
    const Place at = locate(row, column);
    if (at.offset < 0) return 0;
    if (at.lane->run->watch != nullptr && !watch_read(*at.lane, site_, *at.buffer, at.offset))
      *defined = false;
    return read_number(tile_.buffer->element, at.buffer->data + at.offset * bytes());
  }

  // Of an asynchronous multiplication: c, and a or b.
  double read_sum(int row, int column, bool* defined, Product& product) {
    const Place at = locate(row, column);
    if (at.offset < 0) return 0;
    if (at.lane->run->watch != nullptr && !watch_sum(*at.lane, site_, *at.buffer, at.offset, product))
      *defined = false;
    return read_number(tile_.buffer->element, at.buffer->data + at.offset * bytes());
  }
  double read_factor(int row, int column, bool* defined, Product& product) {
    const Place at = locate(row, column);
    if (at.offset < 0) return 0;
    if (at.lane->run->watch != nullptr && !watch_factor(lanes_, site_, *at.buffer, at.offset, product))
      *defined = false;
    return read_number(tile_.buffer->element, at.buffer->data + at.offset * bytes());
  }
  void write_sum(int row, int column, double value, bool defined) {
    const Place at = locate(row, column);
    if (at.offset < 0) return;
    if (at.lane->run->watch != nullptr) watch_result(*at.buffer, at.offset, defined);
    write_number(tile_.buffer->element, at.buffer->data + at.offset * bytes(), value);
  }
  // All of the buffer.
  void fence() {
    for (Machine* lane : lanes_)
      if (lane->run->watch != nullptr) fence_products(lane->buffers[static_cast<size_t>(site_.buffer_slot)]);
  }

  void write(int row, int column, double value, bool defined) {
    const Place at = locate(row, column);
    if (at.offset < 0) return;
    if (at.lane->run->watch != nullptr) watch_write(*at.lane, site_, *at.buffer, at.offset, defined);
    write_number(tile_.buffer->element, at.buffer->data + at.offset * bytes(), value);
  }

 private:
  struct Place {
    Machine* lane;
    const BufferState* buffer;
    int64_t offset;
  };

  int64_t bytes() const { return tensor::element_bytes(tile_.buffer->element); }

  Place locate(int row, int column) const {
    Machine* lane = lanes_[static_cast<size_t>(map_.lane_of(row, column))];
    const BufferState& buffer = lane->buffers[static_cast<size_t>(site_.buffer_slot)];
    std::array<int64_t, kMaxRank> index{};
    int64_t in_block = column;
    if (tile_.block_columns > 0) {
      index[0] = column / tile_.block_columns * tile_.next_block;
      in_block = column % tile_.block_columns;
    }
    for (size_t d = 0; d < site_.indices.size(); ++d) {
      index[d] += *lane->at<int64_t>(site_.indices[d]);
      if (tile_.buffer->scope != Scope::kRegister)
        index[d] += row * tile_.row_steps[d] + in_block * tile_.column_steps[d];
    }
    if (tile_.buffer->scope == Scope::kRegister) index[0] += map_.element_of(row, column);
    return {lane, &buffer,
            locate_indices(*lane, site_, *buffer.shape, index.data(), map_.lane_of(row, column))};
  }

  const MatrixTile& tile_;
  const Site& site_;
  const std::span<Machine* const> lanes_;
  const tensor_units::LaneMap& map_;
};

// As the instruction takes a factor.
double factor(double value, const tensor_units::TensorUnit& unit) {
  if (!unit.takes_tf32) return value;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(static_cast<float>(value)) & 0xffffe000u);
}

// Sums of bytes are exact here and wrap when they are written; f32 sums are rounded once, as no instruction promises.
void multiply(TileAccess& c, TileAccess& a, TileAccess& b, const tensor_units::TensorUnit& unit) {
  for (int i = 0; i < unit.m; ++i) {
    for (int j = 0; j < unit.n; ++j) {
      bool defined = true;
      double sum = c.read(i, j, &defined);
      for (int k = 0; k < unit.k; ++k)
        sum += factor(a.read(i, k, &defined), unit) * factor(b.read(k, j, &defined), unit);
      c.write(i, j, sum, defined);
    }
  }
}

// The asynchronous one, whose results nobody may see before they are waited for: they may as well be there at once.
void multiply_shared(TileAccess& c, TileAccess& a, TileAccess& b, const tensor_units::TensorUnit& unit,
                     Machine& first) {
  struct Number {
    double value = 0;
    bool defined = true;
  };
  const auto m = static_cast<size_t>(unit.m), n = static_cast<size_t>(unit.n),
             k = static_cast<size_t>(unit.k);
  std::vector<Number> left(m * k), right(k * n);
  Product product;
  const auto fill = [&](std::vector<Number>& numbers, TileAccess& tile, int rows, int columns) {
    Number* at = numbers.data();
    for (int row = 0; row < rows; ++row)
      for (int column = 0; column < columns && !first.run->failed; ++column, ++at)
        at->value = factor(tile.read_factor(row, column, &at->defined, product), unit);
  };
  fill(left, a, unit.m, unit.k);
  fill(right, b, unit.k, unit.n);
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j < n && !first.run->failed; ++j) {
      const int row = static_cast<int>(i), column = static_cast<int>(j);
      bool defined = true;
      double sum = c.read_sum(row, column, &defined, product);
      for (size_t t = 0; t < k; ++t) {
        sum += left[i * k + t].value * right[t * n + j].value;
        defined = defined && left[i * k + t].defined && right[t * n + j].defined;
      }
      c.write_sum(row, column, sum, defined);
    }
  }
  if (first.run->watch != nullptr) begin_product(first, std::move(product));
}

}  // namespace

void run_matrix_op(const Node& node, std::span<Machine* const> lanes) {
  const MatrixOp& op = *node.matrix;
  std::vector<TileAccess> tiles;
  for (size_t i = 0; i < op.tiles.size(); ++i) {
    const tensor_units::LaneMap* map = lane_map(op, i);
    tiles.emplace_back(node, i, lanes, map != nullptr ? *map : *lane_map(op, 0));
    if (!tiles.back().is_uniform()) return;
  }
  if (op.action == MatrixAction::kMultiply && op.unit->reads_shared)
    return multiply_shared(tiles[0], tiles[1], tiles[2], *op.unit, *lanes[0]);
  if (op.action == MatrixAction::kMultiply) return multiply(tiles[0], tiles[1], tiles[2], *op.unit);
  if (op.action == MatrixAction::kFence) return tiles[0].fence();
  if (op.action == MatrixAction::kWait) {
    if (lanes[0]->run->watch != nullptr) wait_for_products(lanes, op.groups_in_flight);
    return;
  }
  const tensor_units::LaneMap& map = tiles[0].map();
  for (int row = 0; row < map.rows && !lanes[0]->run->failed; ++row) {
    for (int column = 0; column < map.columns; ++column) {
      bool defined = true;
      const double value = op.action == MatrixAction::kZero ? 0 : tiles[1].read(row, column, &defined);
      tiles[0].write(row, column, value, defined);
    }
  }
}

}  // namespace tf::ir::machine
