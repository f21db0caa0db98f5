#pragma once
// Owns: products by cuBLASLt, opened at run time: its first algorithm by heuristics, and the best of 32. Does not know: ours.

#include <string>
#include <vector>

#include "tests/gpu/measure.h"

namespace tf::gpu_test {

class Cublas {
 public:
  // `why_not` says why there is none, or stays empty.
  explicit Cublas(std::string* why_not);
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;
  ~Cublas();

  // Of the buffers of ours; its result goes to a buffer of its own. Finds the best algorithm. False: `why_not`.
  bool prepare(const Product& shape, const Running& ours, std::string* why_not);
  // Of one product, as Running::time_ns.
  double time_best_ns(double budget_ns) { return time_ns(best_, budget_ns); }
  double time_first_ns(double budget_ns) { return time_ns(0, budget_ns); }

 private:
  struct Found {  // cublasLtMatmulHeuristicResult_t
    uint64_t algorithm[8];
    size_t workspace_bytes;
    int state;
    float waves;
    int reserved[4];
  };
  bool run(size_t algorithm);
  double time_ns(size_t algorithm, double budget_ns);
  void drop();

  void* library_ = nullptr;
  void* handle_ = nullptr;
  int (*matmul_)(void*, void*, const void*, uint64_t, void*, uint64_t, void*, const void*, uint64_t, void*,
                 uint64_t, void*, const void*, uint64_t, size_t, void*) = nullptr;
  void *operation_ = nullptr, *left_ = nullptr, *right_ = nullptr, *result_ = nullptr;
  uint64_t a_ = 0, b_ = 0, c_ = 0, workspace_ = 0;
  std::vector<Found> found_;
  size_t best_ = 0;
};

}  // namespace tf::gpu_test
