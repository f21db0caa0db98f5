#pragma once
// Owns: matrix instructions of four warps that read shared memory (wgmma), as inline PTX: functions and
// descriptors. Does not know: kernels, other matrix instructions.

#include <optional>
#include <string>
#include <tuple>

#include "compiler/backends/gpu/dialect.h"
#include "compiler/ir/stmt.h"

namespace tf::backends {

// An instruction, and whether the lines of each operand run along the terms.
struct GroupMultiply {
  const tensor_units::TensorUnit* unit = nullptr;
  bool a_terms = true, b_terms = true;
  bool operator<(const GroupMultiply& other) const {
    return std::tie(unit, a_terms, b_terms) < std::tie(other.unit, other.a_terms, other.b_terms);
  }
  std::string name() const;
  std::string function(const GpuDialect& dialect) const;
};

// A fence before multiplications, or a wait after them. It names all registers of the sums, so other accesses
// to these are not moved across it.
struct GroupMeeting {
  tensor::Element element = tensor::Element::kFloat32;
  int64_t registers = 0;
  int groups = -1;  // a wait: how many may remain in flight; -1: a fence
  bool operator<(const GroupMeeting& other) const {
    return std::tie(element, registers, groups) < std::tie(other.element, other.registers, other.groups);
  }
  std::string name() const;
  std::string function(const GpuDialect& dialect) const;
};

// Defines tf_shared_tile(place, how), which makes a descriptor, and tf_publish().
std::string group_functions(const GpuDialect& dialect);

// The layout of tile number `i` of a multiplication in shared memory, as a descriptor states it; empty if a
// descriptor cannot express it.
std::optional<tensor_units::SharedDescriptor> descriptor_of(const ir::MatrixOp& op, size_t i);
// The descriptor of a tile that starts at element `index` of the buffer `name`.
std::string descriptor_text(const tensor_units::SharedDescriptor& how, tensor::Element element,
                            const std::string& name, const std::string& index);
// The descriptor of tile number `i`: tf_shared_tile of its buffer, advanced to the tile.
std::string descriptor_text(const ir::MatrixOp& op, size_t i, const std::string& name,
                            const std::string& index);

}  // namespace tf::backends
