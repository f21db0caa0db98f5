#pragma once
// Owns: where a schedule's tensors are stored, and expressions over the workload's tensors as expressions over their storage. Does
// not know: loops.

#include <map>
#include <vector>

#include "compiler/ir/stmt.h"
#include "compiler/passes/loops/temporary_shapes.h"
#include "compiler/schedule/schedule.h"

namespace tf::passes {

// Where a tensor of the workload is stored, and which part of it; of a ring of tiles, in which one.
struct Storage {
  ir::Buffer buffer;
  std::vector<ir::Expr> origin;
  ir::Expr tile;  // null: there is one

  std::vector<ir::Expr> at(std::vector<ir::Expr> indices) const;
};

class StageStorage {
 public:
  // Of all temporaries.
  StageStorage(const schedule::StateData& data, const TemporaryShapes& shapes);
  // All of an input's or an output's tensor.
  void add_param(const ir::Buffer& tensor, const ir::Buffer& param);

  const Storage& of(const ir::BufferNode* tensor) const { return places_.at(tensor); }
  // Of the stage's output.
  const Storage& of(const schedule::StageState& stage) const { return of(stage.stage.output.get()); }

  // Loads of the workload's tensors become loads of their storage.
  ir::Expr with_storage(const ir::Expr& body) const;
  // The value of the stage where its loops stand: of a reduction, the term.
  ir::Expr value_of(const schedule::StageState& stage) const;

 private:
  std::map<const ir::BufferNode*, Storage> places_;
};

// The element that the stage's loops stand at, counted from its region's origin.
std::vector<ir::Expr> local_indices(const schedule::StageState& stage);

}  // namespace tf::passes
