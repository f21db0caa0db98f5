#pragma once
// Owns: the recipe of windows that slide over images, on GPUs: convolutions, depthwise convolutions, pooling.
// Does not know: CUDA, OpenCL.

#include <vector>

#include "compiler/recipes/sketch.h"

namespace tf::recipes {

// Of one output axis: a block's threads along it, and the neighbours that a thread keeps in registers.
struct GpuSide {
  int64_t threads = 1, elements = 1;
  int64_t extent() const { return threads * elements; }
};

// Of a window that slides over the last one or two of the axes y[n, channel, …, h, w].
struct GpuWindowTile {
  GpuSide channel, h, w;
  int64_t reduce =
      1;  // input channels from one filling of shared memory to the next; 1 if the window has none
};

// Of kernels with one reduction over a window, or over channels and a window, of outputs y[n, channel, …], with element-wise
// stages around it. The first sketch stages what a block reads in shared memory, images with their halo and whatever
// is computed of them (padding); in the second, threads read memory themselves. The tile is open.
std::vector<Sketch> windows_on_gpu(const tensor::KernelSpec& kernel, const GpuWindowTile& by_default);
std::vector<Sketch> windows_on_gpu(const tensor::KernelSpec& kernel);  // with a tile that fits the shapes

}  // namespace tf::recipes
