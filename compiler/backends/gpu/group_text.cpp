#include "compiler/backends/gpu/group_text.h"

#include <bit>

#include "absl/strings/str_cat.h"
#include "compiler/ir/physical.h"

namespace tf::backends {
namespace {

using tensor::Element;
using tensor_units::SharedDescriptor;

constexpr int64_t kUnit = 16;  // bytes that descriptors count in

// "+f"(c[0]), "+f"(c[1])
std::string sums(Element element, int64_t count) {
  std::string text;
  for (int64_t i = 0; i < count; ++i)
    absl::StrAppend(&text, i == 0 ? "" : ", ", element == Element::kFloat32 ? "\"+f\"(c[" : "\"+r\"(c[", i,
                    "])");
  return text;
}

std::string head(const GpuDialect& dialect, const std::string& name, Element element) {
  return absl::StrCat(dialect.function, " void ", name, "(", value_type(dialect, element), "* c");
}

}  // namespace

std::string GroupMultiply::name() const {
  return absl::StrCat("tf_", std::string(unit->name), a_terms ? "_k" : "_m", b_terms ? "k" : "n");
}

std::string GroupMultiply::function(const GpuDialect& dialect) const {
  const int count = unit->c.elements();
  std::string registers;
  for (int i = 0; i < count; ++i) absl::StrAppend(&registers, i == 0 ? "" : ", ", "%", i);
  // Sums are added to; factors keep their signs; 16-bit ones may have lines of something else than terms.
  std::string how = "p";
  if (unit->c_element == Element::kFloat32) how += ", 1, 1";
  if (tensor::element_bytes(unit->a_element) == 2)
    absl::StrAppend(&how, a_terms ? ", 0" : ", 1", b_terms ? ", 0" : ", 1");
  return absl::StrCat(head(dialect, name(), unit->c_element),
                      ", unsigned long long a, unsigned long long b) {\n",
                      "  asm volatile(\"{ .reg .pred p; setp.eq.u32 p, 1, 1; ", std::string(unit->ptx), " {",
                      registers, "}, %", count, ", %", count + 1, ", ", how,
                      "; }\" : ", sums(unit->c_element, count), " : \"l\"(a), \"l\"(b));\n}\n");
}

std::string GroupMeeting::name() const {
  return absl::StrCat(groups < 0 ? "tf_fence_" : absl::StrCat("tf_wait_", groups, "_"),
                      std::string(tensor::element_name(element)), "x", registers);
}

std::string GroupMeeting::function(const GpuDialect& dialect) const {
  const std::string text =
      groups < 0
          ? "wgmma.fence.sync.aligned;"
          : absl::StrCat("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned ", groups, ";");
  return absl::StrCat(head(dialect, name(), element), ") {\n  asm volatile(\"", text,
                      "\" : ", sums(element, registers), " :: \"memory\");\n}\n");
}

std::string group_functions(const GpuDialect& dialect) {
  return absl::StrCat(dialect.function,
                      " unsigned long long tf_shared_tile(const void* place, unsigned long long how) {\n"
                      "  return how | ((unsigned)__cvta_generic_to_shared(place) & 0x3ffffu) / 16;\n}\n",
                      dialect.function,
                      " void tf_publish() {\n  asm volatile(\"fence.proxy.async.shared::cta;\" ::: "
                      "\"memory\");\n}\n");
}

std::optional<SharedDescriptor> descriptor_of(const ir::MatrixOp& op, size_t i) {
  const tensor_units::LaneMap& shape = i == 1 ? op.unit->a : op.unit->b;
  const auto tile = ir::shared_tile(op.tiles[i], shape.rows, shape.columns);
  return tile ? tensor_units::describe(*op.unit, i == 1, *tile) : std::nullopt;
}

std::string descriptor_text(const SharedDescriptor& how, Element element, const std::string& name,
                            const std::string& index) {
  const uint64_t bits = static_cast<uint64_t>(how.leading_bytes / kUnit) << 16 |
                        static_cast<uint64_t>(how.stride_bytes / kUnit) << 32 |
                        static_cast<uint64_t>(how.swizzle_code) << 62;
  const auto elements = static_cast<uint64_t>(kUnit / tensor::element_bytes(element));
  return absl::StrCat("tf_shared_tile(", name, ", 0x", absl::Hex(bits), "ull) + ((unsigned)(", index, ") >> ",
                      std::countr_zero(elements), ")");
}

std::string descriptor_text(const ir::MatrixOp& op, size_t i, const std::string& name,
                            const std::string& index) {
  return descriptor_text(*descriptor_of(op, i), op.tiles[i].buffer->element, name, index);
}

}  // namespace tf::backends
