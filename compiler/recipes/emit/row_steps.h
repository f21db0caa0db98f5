#pragma once
// Owns: the steps of a workload that runs row by row, with sizes as literals (the default schedule) or left
// open (the tuner's sketches). Does not know: which workloads do (rows.h).
//
// Softmax over the axis along which memory runs (t0 maximum, t1 exponentials, t2 sum, t3 result), vectors of
// 16, lanes of reductions 32; a row stays in the first cache from its maximum to its result:
//
//   parallel for i0
//     allocate t0.rf[32], t0[1], t1[1, 128], t2.rf[32], t2[1]
//     for r0.0 in 4                               partial maxima, a lane each
//       vector for i0 in 32: t0.rf[i0] = max(t0.rf[i0], p0[…, r0.0*32 + i0])
//     folded for r0 in 32: t0 = max(t0, t0.rf[r0])
//     for i1.0 in 8, vector for i1.1 in 16: t1[…] = exp(p0[…] - t0)
//     …                                           the sum likewise
//     for i1.0 in 8, vector for i1.1 in 16: t3[…] = t1[…] / t2
//
// Where rows are only folded, several are at once (a matrix by a vector, rows in blocks of 8):
//
//   for i0.0 in 512
//     for r0.0 in 256, unrolled for i1 in 8
//       vector for i0 in 16: t0.rf[i0, i1] += p0[…, r0.0*16 + i0] * p1[…]
//     unrolled for i0.1 in 8, folded for r0 in 16: t0[…] += t0.rf[r0, i0.1]
//
// Over another axis the vectors are rows side by side, and nothing is folded.

#include <string>
#include <vector>

#include "compiler/recipes/shape/rows.h"
#include "compiler/recipes/steps.h"

namespace tf::recipes {

void append_rows(const tensor::Workload& workload, const Rows& rows, const RowSizes& sizes, bool parallel,
                 Steps& steps);

// The same piece by piece, for rows that are part of something larger. Everything refers to its arguments.
class RowSteps {
 public:
  RowSteps(const tensor::Workload& workload, const Rows& rows, const RowSizes& sizes, Steps& steps)
      : workload_(workload), rows_(rows), sizes_(sizes), steps_(steps) {}

  // Before anything is placed: what is inlined, and partial results as stages of their own.
  void prepare();
  // The loops of the last stage; returns the one over rows, or nothing if there is one row only.
  std::string shape_output(bool parallel);
  // The last stage's loops where it is placed itself: row by row, over more than one row.
  void shape_block() { shape_stage(workload_.stages.size() - 1); }
  // Computes all but the last stage (and a product) inside the last one's loop.
  void place(const std::string& loop);
  // The loops of one stage that is placed, over one row or vector of rows.
  void shape(size_t stage);

 private:
  bool is_placed(size_t s) const {
    return rows_.stages[s].place == RowStage::Place::kStored && !rows_.stages[s].product;
  }
  const tensor::Stage& stage(size_t s) const { return workload_.stages[s]; }
  int64_t fold_extent(size_t s) const;
  bool is_factored(size_t s) const;
  bool in_blocks() const;
  void unroll_rows(const std::string& stage, int first, int count);
  tensor::Scope scope(size_t s) const;
  void factor(size_t s);
  int output_reduces() const;
  void shape_stage(size_t s);
  void shape_short_fold(size_t s);

  const tensor::Workload& workload_;
  const Rows& rows_;
  const RowSizes& sizes_;
  Steps& steps_;
};

}  // namespace tf::recipes
