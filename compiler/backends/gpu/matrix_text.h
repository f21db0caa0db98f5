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

// The functions that kernels call, by what they use.
class MatrixFunctions {
 public:
  std::string multiply(const tensor_units::TensorUnit& unit);
  // Fills so many registers of each lane from as many times 8 lines of 16 bytes.
  std::string load(int registers, bool transposed);
  // Of units that read shared memory.
  std::string multiply(const GroupMultiply& group);
  std::string meet(const GroupMeeting& meeting);
  std::string text(const GpuDialect& dialect) const;

 private:
  std::set<const tensor_units::TensorUnit*> units_;
  std::set<std::pair<int, bool>> loads_;
  std::set<GroupMultiply> groups_;
  std::set<GroupMeeting> meetings_;
};

// The buffers of scope register that hold factors: several elements to a register.
std::set<const ir::BufferNode*> factor_buffers(const ir::Stmt& body);
// The C type of such a register, of an element's.
const char* register_type(tensor::Element element);

struct MatrixText {
  std::vector<std::string> lines;
  bool takes_next = false;  // the lines do what the next statement does, too
};

// The statement, and perhaps the next one (or null), which stands right behind it: two tiles may be loaded at once. `names`
// and `indices` are the texts of its tiles' buffers and places.
MatrixText matrix_text(const ir::MatrixOp& op, const ir::MatrixOp* next,
                       const std::vector<std::string>& names, const std::vector<std::string>& indices,
                       const analysis::RangeMap& ranges, const GpuDialect& dialect,
                       MatrixFunctions& functions);

}  // namespace tf::backends
