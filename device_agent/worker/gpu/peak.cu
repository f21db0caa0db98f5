// Owns: the kernel of measure_peak, for NVIDIA GPUs. Compiled to the PTX in peak_ptx.cpp by NVRTC; a test compares them.
// Chains enough that none waits for its last result.
extern "C" __global__ void __launch_bounds__(64) peak(float* x) {
  float* mine = x + (blockIdx.x * 64 + threadIdx.x);
  float chain[16];
#pragma unroll
  for (int c = 0; c < 16; ++c) chain[c] = *mine + (float)c;
#pragma unroll 4
  for (int i = 0; i < 512 * 4; ++i) {
#pragma unroll
    for (int c = 0; c < 16; ++c) chain[c] = fmaf(chain[c], 0.999f, 0.001f);
  }
  float sum = 0;
#pragma unroll
  for (int c = 0; c < 16; ++c) sum += chain[c];
  *mine = sum;
}
