#pragma once
// Owns: what a kernel's text has of copies of boxes, which a copy engine makes. Does not know: the other statements, how a dialect
// has such copies done.

#include <string>
#include <vector>

#include "compiler/backends/backend.h"
#include "compiler/backends/gpu/dialect.h"
#include "compiler/ir/stmt.h"
#include "compiler/target/target.h"

namespace tf::backends {

// Of one kernel. Nothing is printed where it has none.
class BulkText {
 public:
  BulkText() = default;
  // Its barriers stand in shared memory from that byte on.
  BulkText(const ir::Stmt& kernel, int64_t first_byte);

  // Why there are no such copies for the target; empty: there are.
  static std::string refusal(const GpuDialect& dialect, const target::Target& target);

  bool has_boxes() const { return has_boxes_; }
  bool has_pieces() const { return has_pieces_; }  // that threads copy asynchronously
  int64_t shared_bytes() const;

  // Behind the kernel's others.
  std::string parameters() const;
  const std::vector<TensorMap>& tensor_maps() const { return maps_; }
  std::string beginning() const;
  // The statement: to that place, from there on, an expression an axis, of one of the function's parameters.
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
