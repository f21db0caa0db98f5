#include "compiler/backends/gpu/bulk_text.h"

#include <algorithm>
#include <bit>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/whole_division.h"

namespace tf::backends {
namespace {

constexpr int64_t kBarrierBytes = 8;

class AsyncStatements final : public ir::Visitor {
 public:
  bool boxes = false, pieces = false;
  int groups = 0;

 protected:
  bool enter(const ir::Expr&) override { return false; }
  bool enter(const ir::Stmt& stmt) override {
    if (const auto* copy = ir::as<ir::AsyncCopy>(stmt)) (copy->box.empty() ? pieces : boxes) = true;
    if (const auto* wait = ir::as<ir::AsyncWait>(stmt)) groups = std::max(groups, wait->groups_in_flight);
    return true;
  }
};

}  // namespace

// A barrier for each group in flight and for that which begins. Before the first iteration no thread waits for another, so one may
// be as many waits ahead as there are groups in flight, and must not come back to a barrier that another still looks at.
BulkText::BulkText(const ir::Stmt& kernel, int64_t first_byte)
    : first_byte_(round_up(first_byte, kBarrierBytes)) {
  AsyncStatements all;
  all(kernel);
  has_boxes_ = all.boxes;
  has_pieces_ = all.pieces;
  const auto groups = static_cast<unsigned>(all.groups);
  barriers_ = all.boxes ? std::bit_ceil(std::max(2 * groups, groups + 2)) : 0;
}

std::string BulkText::refusal(const GpuDialect& dialect, const target::Target& target) {
  if (dialect.bulk_copies != nullptr && target.has("tma")) return "";
  return absl::StrCat("a pipeline copies in bulk, which needs tma, and ", target.cpu,
                      " does not have that; leave `bulk` out");
}

int64_t BulkText::shared_bytes() const {
  return barriers_ * kBarrierBytes;
}

std::string BulkText::parameters() const {
  std::string text;
  for (size_t i = 0; i < maps_.size(); ++i)
    absl::StrAppend(&text, ", const __grid_constant__ tf_tensor_map tf_map_", i);
  return text;
}

std::string BulkText::beginning() const {
  if (!has_boxes_) return "";
  return absl::StrCat("  tf_bulk_copies<", barriers_, "> tf_bulk(shared_memory + ", first_byte_, ");\n");
}

std::string BulkText::copy(const ir::AsyncCopy& copy, const std::string& target,
                           const std::vector<std::string>& at, const std::vector<ir::Buffer>& params) {
  const auto param =
      std::ranges::find_if(params, [&](const ir::Buffer& p) { return p.same_as(copy.source); });
  TF_CHECK(param != params.end()) << "not a parameter: " << copy.source->name;
  const int64_t bytes = tensor::element_bytes(copy.source->element);
  TensorMap map{.buffer = static_cast<uint32_t>(param - params.begin()),
                .element_bytes = static_cast<uint32_t>(bytes),
                .extents = {},
                .box = {}};
  for (const ir::BoxAxis& axis : copy.box) {
    map.extents.push_back(axis.extent);
    map.box.push_back(axis.box);
  }
  auto found = std::ranges::find(maps_, map);
  if (found == maps_.end()) found = maps_.insert(maps_.end(), std::move(map));
  std::string text =
      absl::StrCat("tf_bulk.copy(", target, ", tf_map_", found - maps_.begin(), ", ", copy.elements * bytes);
  for (size_t d = at.size(); d-- > 0;) absl::StrAppend(&text, ", ", at[d]);
  return absl::StrCat(text, ");");
}

std::string BulkText::wait(int groups_in_flight) {
  return absl::StrCat("tf_bulk.wait(", groups_in_flight, ");");
}

}  // namespace tf::backends
