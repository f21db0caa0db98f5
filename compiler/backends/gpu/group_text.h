#pragma once
// Owns: matrix instructions of four warps that read shared memory, as inline PTX: functions and descriptors. Does not know:
// kernels, other matrix instructions.

#include <optional>
#include <string>
#include <tuple>

#include "compiler/backends/gpu/dialect.h"
#include "compiler/ir/stmt.h"

namespace tf::backends {

// An instruction, and whether each factor has lines of terms.
struct GroupMultiply {
  const tensor_units::TensorUnit* unit = nullptr;
  bool a_terms = true, b_terms = true;
  bool operator<(const GroupMultiply& other) const {
    return std::tie(unit, a_terms, b_terms) < std::tie(other.unit, other.a_terms, other.b_terms);
  }
  std::string name() const;
  std::string function(const GpuDialect& dialect) const;
};

// A fence before multiplications and a wait behind them, of all registers of the sums: what else is done with these stays on
// its side.
struct GroupMeeting {
  tensor::Element element = tensor::Element::kFloat32;
  int64_t registers = 0;
  int groups = -1;  // that may be in flight; -1: a fence
  bool operator<(const GroupMeeting& other) const {
    return std::tie(element, registers, groups) < std::tie(other.element, other.registers, other.groups);
  }
  std::string name() const;
  std::string function(const GpuDialect& dialect) const;
};

// tf_shared_tile(place, how): the descriptor; tf_publish().
std::string group_functions(const GpuDialect& dialect);

// How the flat tile number `i` of a multiplication lies, as the unit is told; nothing if it cannot be.
std::optional<tensor_units::SharedDescriptor> descriptor_of(const ir::MatrixOp& op, size_t i);
// A tile that starts at that place of the buffer's elements.
std::string descriptor_text(const tensor_units::SharedDescriptor& how, tensor::Element element,
                            const std::string& name, const std::string& index);
// Of the tile: tf_shared_tile of its buffer, moved by its place in it.
std::string descriptor_text(const ir::MatrixOp& op, size_t i, const std::string& name,
                            const std::string& index);

}  // namespace tf::backends
