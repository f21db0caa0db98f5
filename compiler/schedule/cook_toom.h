#pragma once
// Owns: the matrices of Winograd's minimal filtering F(m, r), by the Cook-Toom construction. Does not know:
// stages, tensors.

#include <cstdint>
#include <vector>

namespace tf::schedule {

// m outputs of a filter with r taps from a = m + r - 1 inputs by a products:
//   y = A^T [(G g) ⊙ (B^T d)],   y[k] = Σ_j g[j] d[k + j]
// Matrices are row-major. Rows 2i-1 and 2i of B^T and G, and columns of A^T, belong to the points +p and -p,
// for 1 <= i < a/2: half their sum and half their difference have zeros where the other has none, which is
// what transforms save operations by.
struct CookToom {
  int64_t outputs = 0, taps = 0, points = 0;  // m, r, a
  std::vector<double> input;                  // B^T, a x a
  std::vector<double> filter;                 // G, a x r
  std::vector<double> output;                 // A^T, m x a
};

inline constexpr int64_t kMaxPoints = 8;

// The points are 0, 1, -1, 2, -2, 1/2, -1/2, infinity, as many as there are products: m + r - 1 must be even
// and at most kMaxPoints. Lavin and Gray, Fast Algorithms for Convolutional Neural Networks, 4.1; the points
// as Barabasz et al., Error Analysis and Improving the Accuracy of Winograd Convolution, 5, for small error.
CookToom cook_toom(int64_t outputs, int64_t taps);

}  // namespace tf::schedule
