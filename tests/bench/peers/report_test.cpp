#include "tests/bench/peers/report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tf::peers {
namespace {

// A product of 64 x 64 x 64, 524,288 operations, that took ours 8 us and the peer 16 us in both rounds.
Row row_of(double peak_gflops, double memory_ns) {
  const bench::Kernel kernel{.name = "product", .shape = bench::Gemm{64, 64, 64}};
  const Contender ours{"tunefarm", "default", 0, nullptr, nullptr}, peer{"peer", "", 0, nullptr, nullptr};
  return make_row(kernel, std::vector<Contender>{ours, peer},
                  {.ns = {{8000, 8000}, {16000, 16000}},
                   .peak_gflops = {peak_gflops, peak_gflops},
                   .memory_ns = {memory_ns, memory_ns}});
}

TEST(Row, IsBoundedByTheOperationsWhereTheyTakeLonger) {
  const Row row = row_of(/*peak_gflops=*/131.072, /*memory_ns=*/1000);  // 4 us of operations
  EXPECT_EQ(row.limit, Limit::kArithmetic);
  EXPECT_DOUBLE_EQ(row.floor_ns, 4000);
  EXPECT_DOUBLE_EQ(row.entries[0].share_of_floor.value, 0.5);
  EXPECT_DOUBLE_EQ(row.entries[1].share_of_floor.value, 0.25);
}

TEST(Row, IsBoundedByTheBytesWhereTheyTakeLonger) {
  const Row row = row_of(/*peak_gflops=*/131.072, /*memory_ns=*/6000);
  EXPECT_EQ(row.limit, Limit::kMemory);
  EXPECT_DOUBLE_EQ(row.floor_ns, 6000);
  EXPECT_DOUBLE_EQ(row.entries[0].share_of_floor.value, 0.75);
  EXPECT_DOUBLE_EQ(row.entries[0].share_of_peak.value, 0.5);  // of operations all the same
}

TEST(Row, SaysInJsonWhatBoundsIt) {
  const nlohmann::json json = to_json(row_of(131.072, 6000));
  EXPECT_EQ(json["family"], "matrix products");
  EXPECT_EQ(json["bytes"], 3 * 64 * 64 * 4);
  EXPECT_EQ(json["floor"]["limit"], "memory");
  EXPECT_EQ(json["floor"]["ns"], 6000);
  EXPECT_EQ(json["contenders"][0]["share_of_floor"]["median"], 0.75);
  EXPECT_EQ(json["best_peer"], "peer");
}

}  // namespace
}  // namespace tf::peers
