#pragma once
// Owns: SequenceWriter, the layers of transformers and of other networks that read sequences, in the
// operators that PyTorch exports. Does not know: which layers make which network.

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "compiler/frontends/zoo/network_writer.h"

namespace tf::zoo {

// Values are [batch, sequence, width] where nothing else is said.
class SequenceWriter {
 public:
  SequenceWriter(const std::string& name, const Options& options, int opset)
      : net_(name, options, opset), options_(options), opset_(opset) {}

 protected:
  std::string unary(const std::string& op, const std::string& x);
  std::string binary(const std::string& op, const std::string& a, const std::string& b);
  std::string scalar(double value);
  std::string transpose(const std::string& x, std::initializer_list<int64_t> perm);
  std::string reshape(const std::string& x, const std::vector<int64_t>& shape);  // 0: as it was
  std::string unsqueeze(const std::string& x, int64_t axis);
  std::string concat(const std::vector<std::string>& parts, int64_t axis);
  std::string gather(const std::string& x, int64_t index, int64_t axis);  // drops the axis
  std::string extent(const std::string& x, int64_t axis);                 // i64, of rank 0
  std::string softmax(const std::string& x);                              // over the last axis
  std::string mean(const std::string& x, int64_t axis, bool keep);
  std::string vector(const std::string& name, int64_t count, double mean, double deviation);
  // x · w + b; w is drawn so that unit inputs give results of scale `gain`.
  std::string linear(const std::string& name, const std::string& x, int64_t from, int64_t to, double gain);
  std::string layer_norm(const std::string& name, const std::string& x, int64_t width, double epsilon);
  std::string gelu(const std::string& x);
  std::string silu(const std::string& x);
  // [batch, heads, sequence, width / heads] of [batch, sequence, width], and back.
  std::string split_heads(const std::string& x, int64_t width, int64_t heads,
                          std::initializer_list<int64_t> perm = {0, 2, 1, 3});
  std::string merge_heads(const std::string& x, int64_t width);
  // softmax(query · key / √(width / heads) + mask) · value of heads; key is transposed. `mask`: what is added
  // to the scores, or empty.
  std::string attend(const std::string& query, const std::string& key, const std::string& value,
                     int64_t head_width, const std::string& mask);
  std::string self_attention(const std::string& name, const std::string& x, int64_t width, int64_t heads,
                             const std::string& mask, double gain);
  // linear, activation, linear
  std::string mlp(const std::string& name, const std::string& x, int64_t width, int64_t inner, double gain);

  NetworkWriter net_;
  const Options options_;
  const int opset_;
};

}  // namespace tf::zoo
