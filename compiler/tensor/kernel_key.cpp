#include "compiler/tensor/kernel_key.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace tf::tensor {

bool KernelKey::operator==(const KernelKey& other) const {
  return same_kernel(*this, other) && reuse_distance_bytes == other.reuse_distance_bytes;
}

bool same_kernel(const KernelKey& a, const KernelKey& b) {
  return a.workload == b.workload && a.binding == b.binding && a.target == b.target &&
         a.threads == b.threads && join_layouts(a.in_layouts) == join_layouts(b.in_layouts) &&
         join_layouts(a.out_layouts) == join_layouts(b.out_layouts);
}

std::function<bool(uint64_t, uint64_t)> nearer_to(uint64_t reuse_distance_bytes) {
  const auto octaves = [](uint64_t bytes) {
    return std::log2(static_cast<double>(std::max<uint64_t>(bytes, 1)));
  };
  return [=, wanted = octaves(reuse_distance_bytes)](uint64_t a, uint64_t b) {
    const double to_a = std::abs(octaves(a) - wanted), to_b = std::abs(octaves(b) - wanted);
    return to_a != to_b ? to_a < to_b : a > b;
  };
}

std::string join_layouts(const std::vector<std::string>& layouts) {
  if (std::ranges::all_of(layouts, [](const std::string& layout) { return layout.empty(); })) return "";
  return absl::StrJoin(layouts, ";");
}

std::vector<std::string> split_layouts(std::string_view text) {
  if (text.empty()) return {};
  return absl::StrSplit(absl::string_view(text.data(), text.size()), ';');
}

std::string to_string(const KernelKey& key) {
  return absl::StrJoin(
      {key.workload.hex(), key.binding, join_layouts(key.in_layouts), join_layouts(key.out_layouts),
       key.target, absl::StrCat(key.threads), absl::StrCat(key.reuse_distance_bytes)},
      "|");
}

}  // namespace tf::tensor
