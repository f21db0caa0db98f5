#include "compiler/tensor_units/lane_map.h"

namespace tf::tensor_units {
namespace {

int coordinate(const std::vector<Digit>& digits, int lane, int element) {
  int sum = 0;
  for (const Digit& d : digits)
    sum += (d.source == Digit::kLane ? lane : element) / d.divisor % d.count * d.step;
  return sum;
}

int holder(const std::vector<Digit>& digits, int coordinate, Digit::Source source) {
  int sum = 0;
  for (const Digit& d : digits)
    if (d.source == source) sum += coordinate / d.step % d.count * d.divisor;
  return sum;
}

}  // namespace

int LaneMap::row_of(int lane, int element) const {
  return coordinate(row, lane, element);
}
int LaneMap::column_of(int lane, int element) const {
  return coordinate(column, lane, element);
}
int LaneMap::lane_of(int r, int c) const {
  return holder(row, r, Digit::kLane) + holder(column, c, Digit::kLane);
}
int LaneMap::element_of(int r, int c) const {
  return holder(row, r, Digit::kElement) + holder(column, c, Digit::kElement);
}

}  // namespace tf::tensor_units
