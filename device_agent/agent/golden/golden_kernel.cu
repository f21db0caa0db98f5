// Owns: the golden kernel, for NVIDIA GPUs. Compiled to the PTX in golden_ptx.cpp by NVRTC; a test compares them.
// A block a sum, by its threads in turns and then by halves.
extern "C" __global__ void __launch_bounds__(64) golden(const float* __restrict__ x, float* __restrict__ y) {
  __shared__ float part[64];
  const int lane = threadIdx.x, row = blockIdx.x;
  float sum = 0;
#pragma unroll 1
  for (int i = lane; i < 131072; i += 64) sum += x[row * 131072 + i];
  part[lane] = sum;
  __syncthreads();
#pragma unroll 1
  for (int half_way = 32; half_way > 0; half_way /= 2) {
    if (lane < half_way) part[lane] += part[lane + half_way];
    __syncthreads();
  }
  if (lane == 0) y[row] = part[0];
}
