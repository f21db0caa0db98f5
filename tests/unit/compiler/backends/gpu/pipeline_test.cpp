// What NVRTC makes of pipelines: how often threads meet, how wide they copy, and that nothing lies in local memory.

#include <regex>

#include "compiler/backends/cuda/cuda_dialect.h"
#include "compiler/backends/cuda/nvrtc.h"
#include "tests/unit/compiler/backends/gpu/gpu_cases.h"

namespace tf::backends {
namespace {

struct Counts {
  int barriers = 0, copies_of_16 = 0, ends = 0, waits = 0, loads_of_16 = 0, shared_loads_of_16 = 0, local = 0;
};

int matches_of(const std::string& ptx, const char* pattern) {
  const std::regex regex(pattern);
  return static_cast<int>(std::distance(std::sregex_iterator(ptx.begin(), ptx.end(), regex), {}));
}

// Of a product whose tiles fit, by PTX for the architecture.
Counts counts_of(const char* arch, const recipes::GpuTile& tile) {
  const target::Target target = *target::parse_target(absl::StrCat("cuda:arch=", arch));
  const ir::Function function = test::lowered(test::matmul(256, 256, 256, false), "product", tile);
  const absl::StatusOr<GpuSource> source = gpu_source(function, target, cuda_dialect());
  EXPECT_TRUE(source.ok()) << source.status();
  const absl::StatusOr<CudaCode> code = compile_cuda(source->text, target);
  EXPECT_TRUE(code.ok()) << code.status() << source->text;
  if (!code.ok()) return {};
  EXPECT_FALSE(code->resources.at("product_0").spills());
  return {.barriers = matches_of(code->ptx, "bar\\.sync|barrier\\.sync"),
          .copies_of_16 = matches_of(code->ptx, "cp\\.async\\.cg\\.shared\\.global"),
          .ends = matches_of(code->ptx, "cp\\.async\\.commit_group"),
          .waits = matches_of(code->ptx, "cp\\.async\\.wait_group"),
          .loads_of_16 = matches_of(code->ptx, "ld\\.global(\\.nc)?\\.v4"),
          .shared_loads_of_16 = matches_of(code->ptx, "ld\\.shared\\.v4"),
          .local = matches_of(code->ptx, "\\.local")};
}

constexpr recipes::GpuTile kTile = {.threads_m = 16,
                                    .threads_n = 16,
                                    .rows = 4,
                                    .columns = 4,
                                    .reduce = 16,
                                    .stages = 3,
                                    .fetch = 4,
                                    .pad = 4,
                                    .group = 2};

TEST(Pipeline, CopiesVectorsAsynchronouslyWithOneBarrierAStep) {
  if (const absl::Status found = find_nvrtc(); !found.ok()) GTEST_SKIP() << found.message();
  for (const char* arch : {"sm_80", "sm_90a", "sm_120"}) {
    const Counts counts = counts_of(arch, kTile);
    // Two tiles before the loop and one in it, of two operands, of which each thread copies 16 bytes.
    EXPECT_EQ(counts.copies_of_16, 3 * 2) << arch;
    EXPECT_EQ(counts.barriers, 2) << arch;
    EXPECT_EQ(counts.ends, 2) << arch;
    EXPECT_EQ(counts.waits, 2) << arch;
    EXPECT_EQ(counts.loads_of_16, 0) << arch;
    EXPECT_GE(counts.shared_loads_of_16, 16) << arch;
    EXPECT_EQ(counts.local, 0) << arch;
  }
}

TEST(Pipeline, LoadsVectorsWhereTheDeviceHasNoAsynchronousCopies) {
  if (const absl::Status found = find_nvrtc(); !found.ok()) GTEST_SKIP() << found.message();
  const Counts counts = counts_of("sm_75", kTile);
  EXPECT_EQ(counts.copies_of_16 + counts.ends + counts.waits, 0);
  EXPECT_EQ(counts.barriers, 2);
  EXPECT_EQ(counts.loads_of_16, 3 * 2);
  EXPECT_EQ(counts.local, 0);
}

TEST(Pipeline, OfOneStageMeetsTwiceAStep) {
  if (const absl::Status found = find_nvrtc(); !found.ok()) GTEST_SKIP() << found.message();
  recipes::GpuTile tile = kTile;
  tile.stages = 1;
  const Counts counts = counts_of("sm_80", tile);
  EXPECT_EQ(counts.barriers, 2);
  EXPECT_EQ(counts.loads_of_16, 2);
  EXPECT_EQ(counts.copies_of_16, 0);
}

}  // namespace
}  // namespace tf::backends
