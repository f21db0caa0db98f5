#pragma once
// Owns: kernels as products of gathered matrices (the step `matrices`): which axes are rows, columns and terms, how the matrices
// are filled, and the sum of parts. Does not know: tiles.

#include <array>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/recipes/shape/structure.h"
#include "compiler/recipes/sketch.h"

namespace tf::recipes {

// For a GPU; how many multiprocessors it has is not part of the target.
inline constexpr int64_t kEnoughBlocks = 64;

// `count` products of m x k by k x n.
struct ProductExtents {
  int64_t m = 1, n = 1, k = 1, count = 1;
};

// A factor of the sum: a of its rows, b of its columns.
struct MatrixFactor {
  const tensor::Load* load = nullptr;
  std::optional<int> constant;  // the number of the input that it is
  tensor::Element element = tensor::Element::kFloat32;
  bool runs_along_terms = false;  // in memory
};

// Of a kernel whose one reduction is a sum of products: rows and columns are output axes (i…) of one factor each, counts of both, terms
// all reduce axes (r…). Columns lie next to each other in the result's memory.
struct MatrixForm {
  std::vector<std::string> counts, rows, columns, terms;
  std::set<std::string> units;  // output axes of one element
  MatrixFactor a, b;
  ProductExtents extents;
  bool is_convolution = false;                       // more than one axis makes rows, columns or terms
  size_t rank() const { return counts.size() + 2; }  // of the matrices, without parts
};
// Nothing if it is none, or sizes that are known at run time stand where numbers must.
std::optional<MatrixForm> matrix_form(const tensor::KernelSpec& kernel, const Structure& structure);

// The matrices' stages and the product of them.
struct MatrixStages {
  std::string anchor;
  std::string a() const { return anchor + ".a"; }
  std::string b() const { return anchor + ".b"; }
  std::string product() const { return anchor + ".mm"; }
};

// The step, with constants in its order, and producers as part of the matrices. `turns`: b's terms lie next to each other. A
// part of 0: the whole product at once.
MatrixStages append_matrices(const tensor::KernelSpec& kernel, const Structure& structure,
                             const MatrixForm& form, bool turns, const Size& part, Steps& steps);

// How many neighbours of a line of each matrix (a, b) lie next to each other in memory, as far as `most` at an address that is a
// multiple of so many. 1: they need not.
std::array<int64_t, 2> matrix_vectors(const tensor::KernelSpec& kernel, const Structure& structure,
                                      const MatrixForm& form, bool turns, int64_t most);

// The loops of a matrix's copy of that rank as one of vectors, in the order in which memory runs. Returns its name.
std::string append_gather(const std::string& matrix, size_t rank, int64_t vector, bool lines_inside,
                          Steps& steps);

// Without parts, the output's loops as counts ("" for none), rows and columns.
std::array<std::string, 3> append_matrix_loops(const std::string& output, const MatrixForm& form,
                                               Steps& steps);

// A launch that adds the parts up and goes on with what follows.
void append_sum_of_parts(const tensor::KernelSpec& kernel, const Structure& structure, Steps& steps);

// Terms of a part, for each count of parts that is worth a launch; empty if none is.
std::vector<int64_t> part_choices(int64_t terms);
// As many terms as give `parts` parts, in whole tiles.
int64_t terms_of_parts(int64_t terms, int64_t parts);
// 1 where the blocks are enough for a GPU, or terms are few.
int64_t default_parts(int64_t blocks, int64_t terms);

}  // namespace tf::recipes
