#pragma once
// Owns: NetworkWriter, which appends layers with seeded random weights to an ONNX model. Does not know: which
// layers make which network.

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "compiler/frontends/zoo/zoo.h"

namespace tf::zoo {

// A named value and what the next layer must know of it.
struct Feature {
  std::string value;
  int64_t channels = 0;
};

struct ConvShape {
  int64_t channels = 0;  // of the result
  int64_t kernel = 1, stride = 1, pad = 0, groups = 1;
  int64_t wide_kernel = 0, wide_pad = 0;  // along the width, where it has others; 0: as along the height
  bool bias = true;
  double gain = 1;  // of the weights' standard deviation over He's
};

struct PoolShape {
  int64_t kernel = 3, stride = 2, pad = 0;
  bool ceil = false;  // a last, partial window counts
};

// A number, or a named dimension.
struct Extent {
  int64_t value = 0;
  std::string name;  // empty: the number
};

class NetworkWriter {
 public:
  NetworkWriter(const std::string& name, const Options& options, int opset = 13);

  // A feature map or vector, called "input".
  Feature input(const std::vector<int64_t>& shape_after_batch);
  // [batch, sequence] of i64.
  std::string token_input(const std::string& name);
  std::string input(const std::string& name, ::onnx::TensorProto::DataType element,
                    const std::vector<Extent>& shape);
  // Of the options: the batch, the tokens of a text, and those that were read before.
  Extent batch() const { return {options_.batch, options_.batch_name}; }
  Extent sequence() const { return {options_.sequence, options_.named_lengths ? "sequence" : ""}; }
  Extent past() const { return {options_.sequence, options_.named_lengths ? "past" : ""}; }
  Feature conv(const std::string& name, const Feature& x, const ConvShape& shape);
  // Statistics near those that the layer before really has, so that the result has about unit scale times
  // `gain`.
  Feature batch_norm(const std::string& name, const Feature& x, double gain = 1);
  Feature relu(const Feature& x);
  Feature relu6(const Feature& x);
  Feature sigmoid(const Feature& x);
  Feature silu(const Feature& x);          // x * sigmoid(x)
  Feature hard_sigmoid(const Feature& x);  // max(0, min(1, x / 6 + 1 / 2))
  Feature hard_swish(const Feature& x);    // from operator set 14 on
  Feature mul(const Feature& a, const Feature& b);
  Feature max_pool(const Feature& x, const PoolShape& shape);
  Feature average_pool(const Feature& x, const PoolShape& shape);
  Feature global_average_pool(const Feature& x);
  Feature flatten(const Feature& x);
  Feature dropout(const Feature& x);
  Feature gemm(const std::string& name, const Feature& x, int64_t channels, double gain);
  // x / (1 + alpha / 5 * Σ x²)^0.75 over five channels, as Krizhevsky et al. 2012 have it.
  Feature lrn(const Feature& x, double alpha);
  Feature concat(const std::vector<Feature>& parts);
  Feature add(const Feature& a, const Feature& b);
  // Ends the network with softmax over axis 1 of [batch, channels].
  std::string finish(const Feature& logits) &&;
  // Ends the network with this value, [batch, shape_after_batch…], called "output".
  std::string finish(const std::string& value, const std::vector<int64_t>& shape_after_batch) &&;
  // One of several outputs; the network's bytes.
  void output(const std::string& name, const std::string& value, ::onnx::TensorProto::DataType element,
              const std::vector<Extent>& shape);
  std::string bytes() &&;

  // --- The pieces that layers are made of. Names are unique; a node's result is called as the node.
  ::onnx::NodeProto& node(const std::string& op_type, const std::string& name,
                          const std::vector<std::string>& inputs);
  std::string tensor(const std::string& name, const std::vector<int64_t>& shape,
                     const std::vector<float>& values);
  std::string integers(const std::string& name, const std::vector<int64_t>& values);  // of rank 1
  std::vector<float> normal(int64_t count, double mean, double deviation);
  std::string unnamed(const std::string& base) { return base + "_" + std::to_string(++counter_); }

 private:
  double uniform();  // [0, 1)
  Feature pool(const char* op, const std::string& name, const Feature& x, const PoolShape& shape);
  Feature unary(const char* op, const Feature& x);

  ::onnx::ModelProto model_;
  const Options options_;
  uint64_t state_;
  int counter_ = 0;
  bool has_relu6_ = false;  // its two bounds are in the model
};

// Attributes.
void set_int(::onnx::NodeProto& node, const char* name, int64_t value);
void set_ints(::onnx::NodeProto& node, const char* name, std::initializer_list<int64_t> values);
void set_float(::onnx::NodeProto& node, const char* name, double value);

}  // namespace tf::zoo
