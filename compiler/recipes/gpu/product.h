#pragma once
// Owns: the recipe of products on GPUs: tiled over blocks, threads and registers, operands staged in shared memory.
// Does not know: CUDA, OpenCL.

#include <vector>

#include "compiler/recipes/sketch.h"

namespace tf::recipes {

// Of one product y[…, m, n] = Σ over k of a · b. A block computes threads_m * rows by threads_n * columns
// elements with threads_m * threads_n threads, `reduce` steps of k from one filling of shared memory to the
// next.
struct GpuTile {
  int64_t threads_m = 16, threads_n = 16;
  int64_t rows = 4, columns = 4;  // of one thread, in registers
  int64_t reduce = 16;
  int64_t stages = 1;  // tiles of each operand in shared memory: copies run one less steps of `reduce` ahead
  int64_t fetch = 1;   // neighbours that a thread copies at once
  int64_t pad = 0;     // elements between rows of the tiles, so that columns lie in different banks
  int64_t group = 1;   // rows of blocks that run together
};

// Of kernels with one reduction over one axis, two output axes or more, and element-wise stages around it. The tile is open; its
// default is the given one, with no more threads than the product needs.
std::vector<Sketch> product_on_gpu(const tensor::KernelSpec& kernel, const GpuTile& by_default);
std::vector<Sketch> product_on_gpu(const tensor::KernelSpec& kernel);  // with the tile above

// Of sums of products whose matrices are gathered first (gpu/matrix_form.h): products whose blocks are too few for a GPU, with the
// terms in parts, which a second launch adds up in one order, and convolutions (implicit GEMM). The tile is open, and the
// terms of a part.
std::vector<Sketch> matrix_product_on_gpu(const tensor::KernelSpec& kernel);
// With that tile; in parts of so many terms (0: at once).
std::vector<Sketch> matrix_product_on_gpu(const tensor::KernelSpec& kernel, const GpuTile& tile,
                                          int64_t part);
// Those that are slower by estimate than other schedules of the kernel.
std::vector<Sketch> more_matrix_products_on_gpu(const tensor::KernelSpec& kernel);

}  // namespace tf::recipes
