#include "tests/bench/peers/blas_peers.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include "tests/support/loaded_kernel/loaded_kernel.h"

namespace tf::peers {
namespace {

// Of cblas.h, whose two versions differ in the name of the enumerations only.
constexpr int kRowMajor = 101;
constexpr int kNoTrans = 111;
constexpr int kTrans = 112;
using Sgemm = void (*)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float* a,
                       int lda, const float* b, int ldb, float beta, float* c, int ldc);
using Sgemv = void (*)(int order, int trans, int m, int n, float alpha, const float* a, int lda,
                       const float* x, int incx, float beta, float* y, int incy);

struct Library {
  std::string name, note;
  Sgemm sgemm = nullptr;
  Sgemv sgemv = nullptr;
  std::function<void(int)> set_threads;
};

template <typename F>
F symbol(void* handle, const char* name) {
  return reinterpret_cast<F>(dlsym(handle, name));
}

std::optional<Library> open_library(const std::string& name, const char* path) {
  void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (handle == nullptr) {
    std::fprintf(stderr, "peers_bench: without %s (deploy/install_peers.sh installs it): %s\n", name.c_str(),
                 dlerror());
    return std::nullopt;
  }
  Library library{.name = name,
                  .note = "",
                  .sgemm = symbol<Sgemm>(handle, "cblas_sgemm"),
                  .sgemv = symbol<Sgemv>(handle, "cblas_sgemv"),
                  .set_threads = nullptr};
  if (auto set = symbol<void (*)(int)>(handle, "openblas_set_num_threads")) library.set_threads = set;
  if (auto set = symbol<void (*)(int64_t)>(handle, "bli_thread_set_num_threads")) {
    library.set_threads = [set](int threads) { set(threads); };
  }
  if (auto core = symbol<const char* (*)()>(handle, "openblas_get_corename")) library.note = core();
  if (library.sgemm != nullptr && library.sgemv != nullptr && library.set_threads) return library;
  std::fprintf(stderr, "peers_bench: without %s: it lacks a symbol that is called here\n", name.c_str());
  return std::nullopt;
}

const std::vector<Library>& libraries() {
  static const std::vector<Library> all = [] {
    std::vector<Library> found;
    for (auto [name, path] : {std::pair("openblas", "openblas-pthread/libopenblas.so.0"),
                              std::pair("blis", "blis-pthread/libblis.so.4")}) {
      const std::string folder = "/usr/lib/" TF_MULTIARCH "/";
      if (auto library = open_library(name, (folder + path).c_str())) found.push_back(*library);
    }
    return found;
  }();
  return all;
}

std::function<void()> product(const Library& l, const bench::Gemm& g, const float* a, const float* b,
                              float* y) {
  const int m = static_cast<int>(g.m), n = static_cast<int>(g.n), k = static_cast<int>(g.k);
  if (m == 1) return [=] { l.sgemv(kRowMajor, kTrans, k, n, 1, b, n, a, 1, 0, y, 1); };
  if (n == 1) return [=] { l.sgemv(kRowMajor, kNoTrans, m, k, 1, a, k, b, 1, 0, y, 1); };
  return [=] { l.sgemm(kRowMajor, kNoTrans, kNoTrans, m, n, k, 1, a, k, b, n, 0, y, n); };
}

std::shared_ptr<support::AlignedBytes> aligned(std::span<const float> values) {
  auto bytes = std::make_shared<support::AlignedBytes>(values.size_bytes());
  std::copy(values.begin(), values.end(), bytes->as<float>().begin());
  return bytes;
}

}  // namespace

std::vector<Contender> blas_contenders(const bench::Gemm& gemm, const bench::Operands& operands, int threads,
                                       double tolerance) {
  const auto a = aligned(operands.inputs[0]), b = aligned(operands.inputs[1]);
  std::vector<Contender> contenders;
  for (const Library& library : libraries()) {
    library.set_threads(threads);
    auto y = std::make_shared<support::AlignedBytes>(static_cast<uint64_t>(operands.output_elements) * 4);
    auto multiply =
        product(library, gemm, a->as<float>().data(), b->as<float>().data(), y->as<float>().data());
    contenders.push_back(
        {.name = library.name,
         .note = library.note,
         .tolerance = tolerance,
         .run = [a, b, y, multiply] { multiply(); },
         .read_out =
             [y](std::span<float> out) { std::copy_n(y->as<float>().begin(), out.size(), out.begin()); }});
  }
  return contenders;
}

}  // namespace tf::peers
