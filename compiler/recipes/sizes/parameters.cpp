#include "compiler/recipes/sizes/parameters.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/whole_division.h"

namespace tf::recipes {
namespace {

// Tiles worth trying as the product of the inner factors: divisors, and lengths whose rounded-up cover of the
// extent wastes at most an eighth.
std::vector<int64_t> covering_tiles(int64_t extent, int64_t limit) {
  constexpr int64_t kFewDivisors = 6;
  std::vector<int64_t> divisors, loose;
  for (int64_t tile = 1; tile <= std::min(extent, limit); ++tile) {
    if (extent % tile == 0) {
      divisors.push_back(tile);
      continue;
    }
    const int64_t covered = round_up(extent, tile);
    if ((covered - extent) * 8 <= extent) loose.push_back(tile);
  }
  if (static_cast<int64_t>(divisors.size()) < kFewDivisors)
    divisors.insert(divisors.end(), loose.begin(), loose.end());
  return divisors;
}

void factorize(int64_t product, int parts, int64_t max_innermost, std::vector<int64_t>& prefix,
               std::set<std::vector<int64_t>>& out) {
  if (parts == 1) {
    if (product > max_innermost) return;
    prefix.push_back(product);
    out.insert(prefix);
    prefix.pop_back();
    return;
  }
  for (int64_t factor = 1; factor <= product; ++factor) {
    if (product % factor != 0) continue;
    prefix.push_back(factor);
    factorize(product / factor, parts - 1, max_innermost, prefix, out);
    prefix.pop_back();
  }
}

}  // namespace

Parameter tile_parameter(std::string name, int64_t extent, const TileParameterOptions& options) {
  std::set<std::vector<int64_t>> tuples;
  std::vector<int64_t> prefix;
  tuples.insert(std::vector<int64_t>(static_cast<size_t>(options.parts), 1));
  for (int64_t tile : covering_tiles(extent, options.max_inner_product)) {
    if (tuples.size() >= options.max_choices) break;
    factorize(tile, options.parts, options.max_innermost, prefix, tuples);
  }
  return Parameter{std::move(name), {tuples.begin(), tuples.end()}};
}

Parameter scalar_parameter(std::string name, std::vector<int64_t> values) {
  Parameter parameter{std::move(name), {}};
  for (int64_t value : values) parameter.choices.push_back({value});
  return parameter;
}

}  // namespace tf::recipes
