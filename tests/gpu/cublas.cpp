#include "tests/gpu/cublas.h"

#include <dlfcn.h>

#include <algorithm>
#include <initializer_list>

#include "tests/gpu/event_timer.h"

namespace tf::gpu_test {
namespace {

// Of library_types.h and cublasLt.h.
constexpr int kF32 = 0, kF16 = 2, kBf16 = 14, kComputeF32 = 68, kMostWorkspace = 1;
constexpr size_t kWorkspaceBytes = 64 << 20;
constexpr int kAlgorithms = 32;

template <typename F>
F* function(void* library, const char* name) {
  return reinterpret_cast<F*>(dlsym(library, name));
}

}  // namespace

Cublas::Cublas(std::string* why_not) {
  for (const char* name :
       {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so", "/usr/local/cuda/lib64/libcublasLt.so"})
    if (library_ == nullptr) library_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) {
    *why_not = "no libcublasLt.so here";
    return;
  }
  matmul_ = reinterpret_cast<decltype(matmul_)>(dlsym(library_, "cublasLtMatmul"));
  const int code = function<int(void**)>(library_, "cublasLtCreate")(&handle_);
  if (code != 0 || matmul_ == nullptr || cu_api().allocate(&workspace_, kWorkspaceBytes) != gpu::kCuSuccess)
    *why_not = "cuBLASLt does not start: error " + std::to_string(code);
}

Cublas::~Cublas() {
  drop();
  if (workspace_ != 0) cu_api().free(workspace_);
}

void Cublas::drop() {
  if (c_ != 0) cu_api().free(c_);
  c_ = 0;
  found_.clear();
  best_ = 0;
}

// Its matrices are column by column: it makes the transposed result of the transposed factors in turn.
bool Cublas::prepare(const Product& shape, const Running& ours, std::string* why_not) {
  drop();
  const int type = shape.element == "f32" ? kF32 : shape.element == "f16" ? kF16 : kBf16;
  const auto m = static_cast<uint64_t>(shape.m), n = static_cast<uint64_t>(shape.n),
             k = static_cast<uint64_t>(shape.k);
  const auto layout =
      function<int(void**, int, uint64_t, uint64_t, int64_t)>(library_, "cublasLtMatrixLayoutCreate");
  void* preference = nullptr;
  int code =
      function<int(void**, int, int)>(library_, "cublasLtMatmulDescCreate")(&operation_, kComputeF32, kF32);
  if (code == 0) code = layout(&left_, type, n, k, shape.n);
  if (code == 0) code = layout(&right_, type, k, m, shape.k);
  if (code == 0) code = layout(&result_, type, n, m, shape.n);
  if (code == 0) code = function<int(void**)>(library_, "cublasLtMatmulPreferenceCreate")(&preference);
  if (code == 0)
    code = function<int(void*, int, const void*, size_t)>(library_, "cublasLtMatmulPreferenceSetAttribute")(
        preference, kMostWorkspace, &kWorkspaceBytes, sizeof kWorkspaceBytes);
  int count = 0;
  found_.resize(kAlgorithms);
  if (code == 0)
    code = function<int(void*, void*, void*, void*, void*, void*, void*, int, Found*, int*)>(
        library_, "cublasLtMatmulAlgoGetHeuristic")(handle_, operation_, left_, right_, result_, result_,
                                                    preference, kAlgorithms, found_.data(), &count);
  found_.resize(code == 0 ? static_cast<size_t>(count) : 0);
  std::erase_if(found_, [](const Found& each) { return each.state != 0; });
  a_ = ours.address(1);
  b_ = ours.address(0);
  if (found_.empty() || cu_api().allocate(&c_, m * n * bytes_of(shape.element)) != gpu::kCuSuccess) {
    *why_not = "no algorithm: error " + std::to_string(code);
    return false;
  }
  double best_ns = 0;
  for (size_t i = 0; i < found_.size(); ++i) {
    const double ns = time_ns(i, 10e6);
    if (ns > 0 && (best_ns == 0 || ns < best_ns)) {
      best_ns = ns;
      best_ = i;
    }
  }
  if (best_ns == 0) *why_not = "no algorithm runs";
  return best_ns > 0;
}

bool Cublas::run(size_t algorithm) {
  const float one = 1, zero = 0;
  return matmul_(handle_, operation_, &one, a_, left_, b_, right_, &zero, c_, result_, c_, result_,
                 found_[algorithm].algorithm, workspace_, kWorkspaceBytes, nullptr) == 0;
}

double Cublas::time_ns(size_t algorithm, double budget_ns) {
  EventTimer timer;
  const auto group = [&](int runs) {
    timer.begin();
    for (int i = 0; i < runs; ++i)
      if (!run(algorithm)) return 0.0;
    return timer.end_ns() / runs;
  };
  double one = group(1);
  if (one <= 0) return 0;
  const auto runs_in = [&](double ns) { return static_cast<int>(std::clamp(ns / one, 1.0, 4096.0)); };
  one = std::max(1.0, group(runs_in(budget_ns)));
  double best = 0;
  for (int i = 0; i < 5; ++i) {
    const double ns = group(runs_in(budget_ns / 5));
    if (ns > 0 && (best == 0 || ns < best)) best = ns;
  }
  return best;
}

}  // namespace tf::gpu_test
