#pragma once
// Workloads of unusual ranks, extents and types, as text: small ones, which are run, and ones beyond 32 bits and grids, which are not.

#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"

namespace tf::backends::test {

struct ExtremeWorkload {
  const char* name;
  const char* text;  // after its first line
};

inline constexpr ExtremeWorkload kSmallExtremes[] = {
    {"scalars", "input p0: f32[]\nstage t0: f32[] = p0[] + 1f32\noutput t0"},
    {"a scalar for all",
     "input p0: f32[]\ninput p1: f32[5, 7]\nstage t0: f32[i0 < 5, i1 < 7] = p0[] * p1[i0, i1]\noutput t0"},
    {"a row and a column",
     "input p0: f32[9, 1]\ninput p1: f32[1, 37]\n"
     "stage t0: f32[i0 < 9, i1 < 37] = p0[i0, 0] * p1[0, i1]\noutput t0"},
    {"a sum of nothing",
     "input p0: f32[13, 0]\ninput p1: f32[0, 70]\n"
     "stage t0: f32[i0 < 13, i1 < 70] = reduce sum[r0 < 0] p0[i0, r0] * p1[r0, i1]\noutput t0"},
    {"the greatest of nothing",
     "input p0: f32[300, 0]\nstage t0: f32[i0 < 300] = reduce max[r0 < 0] p0[i0, r0]\noutput t0"},
    {"extents of 1",
     "input p0: f32[1, 1, 1, 1]\nstage t0: f32[i0 < 1, i1 < 1, i2 < 1, i3 < 1] = p0[i0, i1, i2, i3] + 1f32\n"
     "output t0"},
    {"a product of one element",
     "input p0: f32[1, 1]\ninput p1: f32[1, 1]\n"
     "stage t0: f32[i0 < 1, i1 < 1] = reduce sum[r0 < 1] p0[i0, r0] * p1[r0, i1]\noutput t0"},
    {"a dot product",
     "input p0: f32[1, 100]\ninput p1: f32[100, 1]\n"
     "stage t0: f32[i0 < 1, i1 < 1] = reduce sum[r0 < 100] p0[i0, r0] * p1[r0, i1]\noutput t0"},
    {"an outer product",
     "input p0: f32[40, 1]\ninput p1: f32[1, 70]\n"
     "stage t0: f32[i0 < 40, i1 < 70] = reduce sum[r0 < 1] p0[i0, r0] * p1[r0, i1]\noutput t0"},
    {"products, one for each of a batch of one row",
     "input p0: f32[9, 1, 31]\ninput p1: f32[9, 31, 1]\n"
     "stage t0: f32[i0 < 9, i1 < 1, i2 < 1] = reduce sum[r0 < 31] p0[i0, i1, r0] * p1[i0, r0, i2]\noutput "
     "t0"},
    {"rank 8",
     "input p0: f32[2, 3, 4, 5, 2, 3, 1, 2]\n"
     "stage t0: f32[i0 < 2, i1 < 1, i2 < 3, i3 < 2, i4 < 5, i5 < 4, i6 < 3, i7 < 2] = "
     "p0[i7, i6, i5, i4, i3, i2, i1, i0]\noutput t0"},
    {"sums of rank 8",
     "input p0: f32[2, 3, 4, 5, 2, 3, 1, 2]\n"
     "stage t0: f32[i0 < 2, i1 < 4, i2 < 2] = reduce sum[r0 < 3, r1 < 5, r2 < 3, r3 < 1, r4 < 2] "
     "p0[i0, r0, i1, r1, i2, r2, r3, r4]\noutput t0"},
    {"a product of batches of rank 6",
     "input p0: f32[2, 1, 3, 2, 5, 9]\ninput p1: f32[2, 1, 3, 2, 9, 6]\n"
     "stage t0: f32[i0 < 2, i1 < 1, i2 < 3, i3 < 2, i4 < 5, i5 < 6] = reduce sum[r0 < 9] "
     "p0[i0, i1, i2, i3, i4, r0] * p1[i0, i1, i2, i3, r0, i5]\noutput t0"},
    {"a product of less than a tile by more than one",
     "input p0: f32[36, 17]\ninput p1: f32[17, 48]\n"
     "stage t0: f32[i0 < 36, i1 < 48] = reduce sum[r0 < 17] p0[i0, r0] * p1[r0, i1]\noutput t0"},
    {"a product in i64",
     "input p0: i64[33, 17]\ninput p1: i64[17, 29]\n"
     "stage t0: i64[i0 < 33, i1 < 29] = reduce sum[r0 < 17] p0[i0, r0] * p1[r0, i1]\noutput t0"},
    {"rows of i64",
     "input p0: i64[5, 1700]\nstage t0: i64[i0 < 5] = reduce max[r0 < 1700] p0[i0, r0]\n"
     "stage t1: i64[i0 < 5, i1 < 1700] = p0[i0, i1] - t0[i0]\noutput t1"},
    {"a product in f64",
     "input p0: f64[33, 17]\ninput p1: f64[17, 29]\n"
     "stage t0: f64[i0 < 33, i1 < 29] = reduce sum[r0 < 17] p0[i0, r0] * p1[r0, i1]\noutput t0"},
    {"softmax in f64",
     "input p0: f64[7, 170]\nstage t0: f64[i0 < 7] = reduce max[r0 < 170] p0[i0, r0]\n"
     "stage t1: f64[i0 < 7, i1 < 170] = exp(p0[i0, i1] - t0[i0])\n"
     "stage t2: f64[i0 < 7] = reduce sum[r0 < 170] t1[i0, r0]\n"
     "stage t3: f64[i0 < 7, i1 < 170] = t1[i0, i1] / t2[i0]\noutput t3"},
    {"windows in f64",
     "input p0: f64[2, 3, 8, 9]\ninput p1: f64[5, 3, 3, 3]\n"
     "stage t0: f64[i0 < 2, i1 < 5, i2 < 6, i3 < 7] = reduce sum[r0 < 3, r1 < 3, r2 < 3] "
     "p0[i0, r0, i2 + r1, i3 + r2] * p1[i1, r0, r1, r2]\noutput t0"},
    {"windows of one axis",
     "input p0: f32[2, 3, 40]\ninput p1: f32[5, 3, 9]\n"
     "stage t0: f32[i0 < 2, i1 < 5, i2 < 32] = reduce sum[r0 < 3, r1 < 9] p0[i0, r0, i2 + r1] * p1[i1, r0, "
     "r1]\n"
     "output t0"},
    {"windows as large as what they slide over",
     "input p0: f32[1, 2, 33, 35]\n"
     "stage t0: f32[i0 < 1, i1 < 2, i2 < 1, i3 < 3] = reduce max[r0 < 33, r1 < 33] p0[i0, i1, i2 + r0, i3 + "
     "r1]\n"
     "output t0"},
    {"conditions",
     "input p0: bool[33, 17]\ninput p1: bool[33, 17]\n"
     "stage t0: bool[i0 < 33, i1 < 17] = p0[i0, i1] && p1[i0, i1]\noutput t0"},
    {"a row of 20000",
     "input p0: f32[20000]\nstage t0: f32[] = reduce max[r0 < 20000] p0[r0]\n"
     "stage t1: f32[i0 < 20000] = exp(p0[i0] - t0[])\nstage t2: f32[] = reduce sum[r0 < 20000] t1[r0]\n"
     "stage t3: f32[i0 < 20000] = t1[i0] / t2[]\noutput t3"},
    {"rows of one element",
     "input p0: f32[70, 1]\nstage t0: f32[i0 < 70] = reduce max[r0 < 1] p0[i0, r0]\n"
     "stage t1: f32[i0 < 70, i1 < 1] = p0[i0, i1] - t0[i0]\noutput t1"},
    {"columns of bytes",
     "input p0: i8[300, 5]\nstage t0: i32[i0 < 5] = reduce sum[r0 < 300] cast<i32>(p0[r0, i0])\noutput t0"},
};

// More than 2^31 elements, than 4 GiB, than 65,535 blocks along y or z: each must have code.
inline constexpr ExtremeWorkload kLargeExtremes[] = {
    {"3e9 elements",
     "input p0: f32[3000000000]\nstage t0: f32[i0 < 3000000000] = p0[i0] + p0[i0]\noutput t0"},
    {"a sum of 3e9",
     "input p0: f32[3000000000]\nstage t0: f32[] = reduce sum[r0 < 3000000000] p0[r0]\noutput t0"},
    {"1e5 columns and rows",
     "input p0: f32[100000, 64]\ninput p1: f32[64, 100000]\n"
     "stage t0: f32[i0 < 100000, i1 < 100000] = reduce sum[r0 < 64] p0[i0, r0] * p1[r0, i1]\noutput t0"},
    {"1e7 rows",
     "input p0: f16[10000000, 64]\ninput p1: f16[64, 64]\n"
     "stage t0: f32[i0 < 10000000, i1 < 64] = reduce sum[r0 < 64] cast<f32>(p0[i0, r0]) * cast<f32>(p1[r0, "
     "i1])\n"
     "output t0"},
    {"70000 rows of 70000",
     "input p0: f32[70000, 70000]\nstage t0: f32[i0 < 70000] = reduce sum[r0 < 70000] p0[i0, r0]\n"
     "stage t1: f32[i0 < 70000, i1 < 70000] = p0[i0, i1] / t0[i0]\noutput t1"},
    {"70000 times 70000 rows of 2",
     "input p0: f32[70000, 70000, 2]\nstage t0: f32[i0 < 70000, i1 < 70000] = reduce max[r0 < 2] p0[i0, i1, "
     "r0]\n"
     "stage t1: f32[i0 < 70000, i1 < 70000, i2 < 2] = p0[i0, i1, i2] - t0[i0, i1]\noutput t1"},
    {"a batch of 70000 images",
     "input p0: f32[70000, 3, 6, 6]\ninput p1: f32[4, 3, 3, 3]\n"
     "stage t0: f32[i0 < 70000, i1 < 4, i2 < 4, i3 < 4] = reduce sum[r0 < 3, r1 < 3, r2 < 3] "
     "p0[i0, r0, i2 + r1, i3 + r2] * p1[i1, r0, r1, r2]\noutput t0"},
    {"a batch of 70000 attentions",
     "input p0: f32[70000, 16, 8]\ninput p1: f32[70000, 8, 16]\ninput p2: f32[70000, 16, 8]\n"
     "stage t0: f32[i0 < 70000, i1 < 16, i2 < 16] = reduce sum[r0 < 8] p0[i0, i1, r0] * p1[i0, r0, i2]\n"
     "stage t1: f32[i0 < 70000, i1 < 16] = reduce max[r0 < 16] t0[i0, i1, r0]\n"
     "stage t2: f32[i0 < 70000, i1 < 16, i2 < 16] = exp(t0[i0, i1, i2] - t1[i0, i1])\n"
     "stage t3: f32[i0 < 70000, i1 < 16] = reduce sum[r0 < 16] t2[i0, i1, r0]\n"
     "stage t4: f32[i0 < 70000, i1 < 16, i2 < 16] = t2[i0, i1, i2] / t3[i0, i1]\n"
     "stage t5: f32[i0 < 70000, i1 < 16, i2 < 8] = reduce sum[r0 < 16] t4[i0, i1, r0] * p2[i0, r0, i2]\n"
     "output t5"},
};

inline std::string text_of(const ExtremeWorkload& extreme) {
  return absl::StrCat("workload v1\n", extreme.text);
}

}  // namespace tf::backends::test
