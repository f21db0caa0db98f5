#pragma once
// Owns: attention by plain loops, in doubles. Does not know: operators.

#include <cmath>
#include <functional>
#include <vector>

namespace tf::onnx {

inline constexpr size_t kBatch = 2, kRows = 3, kSize = 4;

// softmax(scale * q kᵀ + bias) v of [batch, heads, rows, size]; bias(b, h, i, j).
inline std::vector<double> attention_by_loops(
    const std::vector<double>& q, const std::vector<double>& k, const std::vector<double>& v, size_t heads,
    size_t kept, size_t keys, double scale, double softcap,
    const std::function<double(size_t, size_t, size_t, size_t)>& bias) {
  std::vector<double> result(kBatch * heads * kRows * kSize);
  for (size_t b = 0; b < kBatch; ++b) {
    for (size_t h = 0; h < heads; ++h) {
      const size_t at = h / (heads / kept);
      for (size_t i = 0; i < kRows; ++i) {
        std::vector<double> weights(keys);
        double sum = 0;
        for (size_t j = 0; j < keys; ++j) {
          double score = 0;
          for (size_t d = 0; d < kSize; ++d)
            score +=
                q[((b * heads + h) * kRows + i) * kSize + d] * k[((b * kept + at) * keys + j) * kSize + d];
          score *= scale;
          if (softcap > 0) score = softcap * std::tanh(score / softcap);
          weights[j] = std::exp(score + bias(b, h, i, j));
          sum += weights[j];
        }
        for (size_t j = 0; j < keys; ++j)
          for (size_t d = 0; d < kSize; ++d)
            result[((b * heads + h) * kRows + i) * kSize + d] +=
                weights[j] / sum * v[((b * kept + at) * keys + j) * kSize + d];
      }
    }
  }
  return result;
}

}  // namespace tf::onnx
