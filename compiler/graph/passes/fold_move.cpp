#include "compiler/graph/passes/fold_move.h"

#include <cstring>

#include "compiler/graph/element_values.h"

namespace tf::graph {
namespace {

using Shape = std::vector<int64_t>;

std::vector<int64_t> dense_strides(const Shape& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0; stride *= shape[d]) strides[d] = stride;
  return strides;
}

class Mover {
 public:
  Mover(const Graph& graph, std::span<const NodeId> inputs, const TensorType& result)
      : graph_(graph),
        inputs_(inputs),
        shape_(graph.shape(result)),
        width_(tensor::element_bytes(result.element)) {}

  BlobRef operator()(const Reshape&) const { return blob(0); }

  BlobRef operator()(const Expand&) const {
    const auto strides = broadcast_strides(graph_.shape(inputs_[0]), shape_);
    return move([&](const Shape& at) { return dot(at, strides); });
  }

  BlobRef operator()(const Transpose& op) const {
    const auto source = dense_strides(graph_.shape(inputs_[0]));
    Shape strides;
    for (int64_t axis : op.perm) strides.push_back(source[axis]);
    return move([&](const Shape& at) { return dot(at, strides); });
  }

  BlobRef operator()(const Slice& op) const {
    Shape strides = dense_strides(graph_.shape(inputs_[0]));
    int64_t base = 0;
    for (size_t k = 0; k < op.axes.size(); ++k) {
      base += op.starts[k] * strides[op.axes[k]];
      strides[op.axes[k]] *= op.steps[k];
    }
    return move([&](const Shape& at) { return base + dot(at, strides); });
  }

  BlobRef operator()(const Pad& op) const {
    const Shape from = graph_.shape(inputs_[0]);
    const auto strides = dense_strides(from);
    const tensor::Element element = graph_.type(inputs_[0]).element;
    const std::string fill = write_floats(element, {op.value});
    return move(
        [&](const Shape& at) {
          int64_t source = 0;
          for (size_t d = 0; d < at.size(); ++d) {
            const int64_t i = at[d] - op.begin[d];
            if (i < 0 || i >= from[d]) return int64_t{-1};
            source += i * strides[d];
          }
          return source;
        },
        fill);
  }

  BlobRef operator()(const Concat& op) const {
    int64_t outer = 1;
    for (int64_t d = 0; d < op.axis; ++d) outer *= shape_[d];
    std::string bytes;
    for (int64_t o = 0; o < outer; ++o) {
      for (size_t i = 0; i < inputs_.size(); ++i) {
        const std::string_view all = blob(i)->bytes();
        bytes += all.substr(o * (all.size() / outer), all.size() / outer);
      }
    }
    return std::make_shared<const Blob>(std::move(bytes));
  }

  BlobRef operator()(const Gather& op) const {
    const Shape data = graph_.shape(inputs_[0]), index_shape = graph_.shape(inputs_[1]);
    const auto indices = read_integers(graph_.type(inputs_[1]).element, blob(1)->bytes());
    const int64_t extent = data[op.axis];
    for (int64_t i : indices) {
      if (i < -extent || i >= extent) return nullptr;
    }
    const auto data_strides = dense_strides(data), index_strides = dense_strides(index_shape);
    const size_t first = op.axis, after = first + index_shape.size();
    return move([&](const Shape& at) {
      int64_t source = 0, which = 0;
      for (size_t d = 0; d < at.size(); ++d) {
        if (d < first) source += at[d] * data_strides[d];
        if (d >= first && d < after) which += at[d] * index_strides[d - first];
        if (d >= after) source += at[d] * data_strides[d - index_shape.size() + 1];
      }
      const int64_t i = indices[which];
      return source + (i < 0 ? i + extent : i) * data_strides[first];
    });
  }

  template <typename T>
  BlobRef operator()(const T&) const {
    return nullptr;
  }

 private:
  const BlobRef& blob(size_t i) const { return as<Constant>(graph_.node(inputs_[i]))->data; }
  static int64_t dot(const Shape& at, const Shape& strides) {
    int64_t sum = 0;
    for (size_t d = 0; d < at.size(); ++d) sum += at[d] * strides[d];
    return sum;
  }

  // The result whose element at `at` is operand 0's element `source(at)`, or `fill` where that is -1.
  template <typename F>
  BlobRef move(F&& source, const std::string& fill = {}) const {
    const char* from = blob(0)->bytes().data();
    int64_t count = 1;
    for (int64_t extent : shape_) count *= extent;
    std::string bytes(count * width_, '\0');
    for_each_element(shape_, [&](int64_t i, const Shape& at) {
      const int64_t element = source(at);
      std::memcpy(bytes.data() + i * width_, element < 0 ? fill.data() : from + element * width_, width_);
    });
    return std::make_shared<const Blob>(std::move(bytes));
  }

  const Graph& graph_;
  std::span<const NodeId> inputs_;
  const Shape shape_;
  const int64_t width_;
};

}  // namespace

std::vector<int64_t> broadcast_strides(std::span<const int64_t> shape, std::span<const int64_t> result) {
  std::vector<int64_t> strides(result.size());
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0; stride *= shape[d])
    strides[result.size() - shape.size() + d] = shape[d] == 1 ? 0 : stride;
  return strides;
}

BlobRef fold_move(const Graph& graph, const Op& op, std::span<const NodeId> inputs,
                  const TensorType& result) {
  return std::visit(Mover(graph, inputs, result), op);
}

}  // namespace tf::graph
