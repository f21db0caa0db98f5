#include "compiler/cli/profile.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/runtime/peak.h"

namespace tf::compiler_cli {
namespace {

constexpr int64_t kPeakBudgetNs = 100'000'000;

// More than caches hold, and a quarter of the free memory at most; 0: there is too little.
size_t bytes_to_read() {
  constexpr size_t kMost = size_t{256} << 20, kLeast = size_t{64} << 20;
  const size_t free_bytes =
      static_cast<size_t>(::sysconf(_SC_AVPHYS_PAGES)) * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t bytes = std::min(kMost, free_bytes / 4);
  return bytes < kLeast ? 0 : bytes;
}

// The best of a few passes of all threads over their parts of one block, in search of a byte that is not there.
double read_gb_per_s(int threads) {
  constexpr int kPasses = 8;
  const size_t bytes = bytes_to_read();
  if (bytes == 0) return 0;
  const std::vector<char> block(bytes, 1);
  const size_t part = bytes / static_cast<size_t>(threads);
  double best = 0;
  for (int pass = 0; pass < kPasses; ++pass) {
    std::atomic<int> found = 0;
    std::vector<std::thread> readers;
    const auto start = std::chrono::steady_clock::now();
    for (size_t i = 0; i < static_cast<size_t>(threads); ++i)
      readers.emplace_back([&, i] { found += std::memchr(block.data() + i * part, 2, part) != nullptr; });
    for (std::thread& reader : readers) reader.join();
    const double ns =
        std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
    if (found == 0) best = std::max(best, static_cast<double>(part) * threads / ns);
  }
  return best;
}

}  // namespace

double percentile(const std::vector<double>& sorted, double share) {
  return sorted[std::min(sorted.size() - 1, static_cast<size_t>(share * static_cast<double>(sorted.size())))];
}

std::vector<double> sorted(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return samples;
}

Profile profile_of(const driver::LoadedModel& model, int threads) {
  Profile profile;
  if (const tf_device* device = model.device(); device != nullptr)
    profile.device = absl::StrCat(device->driver, ":", device->index);
  else
    profile = {.peak_gflops = tf_peak_gflops(kPeakBudgetNs) * threads,
               .memory_gb_per_s = read_gb_per_s(threads)};
  double total_ns = 0;
  for (const driver::KernelTime& kernel : model.kernel_times()) {
    const double median_ns = percentile(sorted(kernel.samples_ns), 0.5);
    total_ns += median_ns;
    profile.kernels.push_back(
        {.name = kernel.name,
         .key = kernel.key,
         .median_ns = median_ns,
         .flops = kernel.flops,
         .bytes = kernel.bytes,
         .of_peak = profile.peak_gflops > 0 ? kernel.flops / median_ns / profile.peak_gflops : 0});
  }
  for (KernelRow& row : profile.kernels) row.share = row.median_ns / total_ns;
  profile.total_ms = total_ns / 1e6;
  return profile;
}

}  // namespace tf::compiler_cli
