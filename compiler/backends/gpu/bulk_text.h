#pragma once
// Owns: the text of copies of boxes, which a GPU's copy engine (TMA) makes. Does not know: other statements,
// how a dialect implements such copies.

#include <string>
#include <vector>

#include "compiler/backends/backend.h"
#include "compiler/backends/gpu/dialect.h"
#include "compiler/ir/stmt.h"
#include "compiler/target/target.h"

namespace tf::backends {

// The box copies of one kernel. All texts are empty if it has none.
class BulkText {
 public:
  BulkText() = default;
  // `first_byte`: where the barriers start in shared memory.
  BulkText(const ir::Stmt& kernel, int64_t first_byte);

  // Why the target does not support such copies; empty if it does.
  static std::string refusal(const GpuDialect& dialect, const target::Target& target);

  bool has_boxes() const { return has_boxes_; }
  bool has_pieces() const { return has_pieces_; }  // asynchronous copies by threads
  int64_t shared_bytes() const;

  // The tensor maps, which follow the kernel's other parameters.
  std::string parameters() const;
  const std::vector<TensorMap>& tensor_maps() const { return maps_; }
  std::string beginning() const;
  // The statement that copies a box of one of `params` to `target`. `at` is the start of the box, one text
  // per axis.
  std::string copy(const ir::AsyncCopy& copy, const std::string& target, const std::vector<std::string>& at,
                   const std::vector<ir::Buffer>& params);
  static std::string wait(int groups_in_flight);

 private:
  bool has_boxes_ = false, has_pieces_ = false;
  unsigned barriers_ = 0;
  int64_t first_byte_ = 0;
  std::vector<TensorMap> maps_;
};

}  // namespace tf::backends
