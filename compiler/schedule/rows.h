#pragma once
// Owns: rows: workloads whose stages all run row by row, whatever reductions and element-wise stages there
// are (softmax, layer norm, the mean of a row), and their steps, with sizes as literals (the default
// schedule) or left open (the tuner's sketches). Does not know: register tiles.
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
// Over another axis the vectors are rows side by side, and nothing is folded.

#include <optional>
#include <vector>

#include "compiler/schedule/ports.h"
#include "compiler/schedule/step.h"
#include "compiler/tensor/workload.h"

namespace tf::schedule {

// What a stage is to a row.
struct RowStage {
  enum class Place : uint8_t { kInlined, kStored } place = Place::kStored;
  int vector_axis =
      -1;  // of the stage (reduce axes count on after the others); -1: one value a row, or no vectors
  bool reduces = false;
  bool folds = false;  // the vector axis is a reduce axis
};

struct Rows {
  std::vector<int> row_axes;  // of the output: what is not a row's own
  std::vector<RowStage> stages;
  bool across = false;  // vectors hold rows side by side: the output's vector axis is a row axis
};

// Set if the workload has reductions and one output, and every stage, seen from there, keeps to its row, so
// that all can be computed row by row without computing anything twice. Not where a register tile does
// better: where there is one reduction with an epilogue, and that reads more than one operand or one along
// which memory does not run.
std::optional<Rows> rows_of(const tensor::Workload& workload, const PortLayouts& ports);

// Sizes in elements: a vector of element-wise stages (and of rows side by side), and the partial results that
// a folded reduction keeps.
struct RowSizes {
  Size lanes = 16, partials = 64;
};
// What suits the workload, for vectors of `lanes` elements at most.
RowSizes default_row_sizes(const tensor::Workload& workload, const Rows& rows, int64_t lanes);

void append_rows(const tensor::Workload& workload, const Rows& rows, const RowSizes& sizes, bool parallel,
                 std::vector<Step>& steps);

}  // namespace tf::schedule
