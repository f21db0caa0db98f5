#pragma once
// Owns: rows: workloads whose stages all run row by row, whatever reductions and element-wise stages there
// are (softmax, layer norm, the mean of a row, a matrix by a vector), and their steps, with sizes as literals
// (the default schedule) or left open (the tuner's sketches). Does not know: register tiles.

#include <optional>
#include <vector>

#include "compiler/recipes/steps.h"
#include "compiler/tensor/kernel_spec.h"
#include "compiler/tensor/workload.h"

namespace tf::recipes {

// What a stage is to a row.
struct RowStage {
  enum class Place : uint8_t { kInlined, kStored } place = Place::kStored;
  int vector_axis =
      -1;  // of the stage (reduce axes count on after the others); -1: one value a row, or no vectors
  bool reduces = false;
  bool folds = false;    // the vector axis is a reduce axis
  bool product = false;  // reduces, and gives a whole row: a matrix product
};

struct Rows {
  std::vector<int> row_axes;  // of the output: what is not a row's own
  std::vector<RowStage> stages;
  bool across = false;  // vectors hold rows side by side: the output's vector axis is a row axis
};

// Set if the workload has reductions and one output, and every stage, seen from there, keeps to its row, so
// that all can be computed row by row without computing anything twice. Not where a register tile does
// better: where there is one reduction with an epilogue, and memory does not run along it, or more than one
// of its operands have elements of their own for each result.
std::optional<Rows> rows_of(const tensor::Workload& workload, const tensor::PortLayouts& ports);
// The same with one product among the stages, which then is not to be computed row by row (attention.h).
std::optional<Rows> rows_with_product(const tensor::Workload& workload, const tensor::PortLayouts& ports);

// Sizes in elements: a vector of element-wise stages (and of rows side by side), the partial results that a
// folded reduction keeps, and the rows that are folded at once, each read along a stream of its own.
struct RowSizes {
  Size lanes = 16, partials = 64, block = 1;
};
int64_t longest_fold(const tensor::Workload& workload, const Rows& rows);  // in elements; 1: there is none
// Whether all that is computed is folded rows and what follows from one value of each: a matrix by a vector,
// means. Only such rows form blocks.
bool only_folds(const tensor::Workload& workload, const Rows& rows);
// The innermost row axis with more than one row, which blocks are of.
int block_axis(const tensor::Workload& workload, const Rows& rows);
// What suits the workload, for vectors of `lanes` elements at most.
RowSizes default_row_sizes(const tensor::Workload& workload, const Rows& rows, int64_t lanes);

}  // namespace tf::recipes
