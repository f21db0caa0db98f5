#pragma once
// Owns: matrix statements as CUDA C: functions of inline PTX, and their calls. Does not know: kernels, other statements.

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/analysis/bounds.h"
#include "compiler/backends/gpu/dialect.h"
#include "compiler/backends/gpu/group_text.h"
#include "compiler/ir/stmt.h"

namespace tf::backends {

// The inline-PTX functions that kernels use. Each call returns a function's name, and text() contains it from
// then on.
class MatrixFunctions {
 public:
  std::string multiply(const tensor_units::TensorUnit& unit);
  // ldmatrix: fills `registers` registers of each lane, from 8 lines of 16 bytes per register.
  std::string load(int registers, bool transposed);
  // For units that read shared memory.
  std::string multiply(const GroupMultiply& group);
  std::string meet(const GroupMeeting& meeting);
  std::string text(const GpuDialect& dialect) const;

 private:
  std::set<const tensor_units::TensorUnit*> units_;
  std::set<std::pair<int, bool>> loads_;
  std::set<GroupMultiply> groups_;
  std::set<GroupMeeting> meetings_;
};

// The buffers of scope register that hold operands: several elements per register.
std::set<const ir::BufferNode*> factor_buffers(const ir::Stmt& body);
// The C type of a register of a matrix of that element type.
const char* register_type(tensor::Element element);

struct MatrixText {
  std::vector<std::string> lines;
  bool takes_next = false;  // the lines include the next statement
};

// The text of the statement `op`, and possibly of `next`, which follows it directly (or null): two tiles may
// be loaded together. `names` and `indices` are the texts of the buffers and indices of its tiles.
MatrixText matrix_text(const ir::MatrixOp& op, const ir::MatrixOp* next,
                       const std::vector<std::string>& names, const std::vector<std::string>& indices,
                       const analysis::RangeMap& ranges, const GpuDialect& dialect,
                       MatrixFunctions& functions);

}  // namespace tf::backends
