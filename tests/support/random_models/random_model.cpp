#include "tests/support/random_models/random_model.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <set>

#include "base/check.h"
#include "compiler/frontends/onnx/tensor_proto.h"
#include "compiler/graph/element_values.h"

namespace tf::onnx {
namespace {

using ::onnx::TensorProto;

int type_of(char letter) {
  switch (letter) {
    case 'f':
      return TensorProto::FLOAT;
    case 'h':
      return TensorProto::FLOAT16;
    case 'd':
      return TensorProto::DOUBLE;
    case 'b':
      return TensorProto::INT8;
    case 'B':
      return TensorProto::UINT8;
    case 's':
      return TensorProto::INT16;
    case 'S':
      return TensorProto::UINT16;
    case 'i':
      return TensorProto::INT32;
    case 'I':
      return TensorProto::UINT32;
    case 'l':
      return TensorProto::INT64;
    case 'L':
      return TensorProto::UINT64;
    case '?':
      return TensorProto::BOOL;
    default:
      TF_CHECK(false) << "no element type has the letter " << letter;
      return 0;
  }
}

bool is_unsigned(int type) {
  return type == TensorProto::UINT8 || type == TensorProto::UINT16 || type == TensorProto::UINT32 ||
         type == TensorProto::UINT64 || type == TensorProto::BOOL;
}

template <typename T>
std::string packed(const std::vector<double>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  for (size_t i = 0; i < values.size(); ++i) {
    const T element = static_cast<T>(values[i]);
    std::memcpy(bytes.data() + i * sizeof(T), &element, sizeof(T));
  }
  return bytes;
}

// The smallest and largest whole numbers of a type that a double holds.
std::pair<double, double> ends(int type) {
  const double bits = static_cast<double>(8 * element_bytes(type));
  if (type == TensorProto::BOOL) return {0, 1};
  if (is_unsigned(type)) return {0, std::min(std::exp2(bits) - 1, 0x1.fffffffffffffp63)};
  return {-std::exp2(bits - 1), std::min(std::exp2(bits - 1) - 1, 0x1.fffffffffffffp62)};
}

}  // namespace

int64_t element_bytes(int type) {
  switch (type) {
    case TensorProto::DOUBLE:
    case TensorProto::INT64:
    case TensorProto::UINT64:
      return 8;
    case TensorProto::FLOAT:
    case TensorProto::INT32:
    case TensorProto::UINT32:
      return 4;
    case TensorProto::FLOAT16:
    case TensorProto::BFLOAT16:
    case TensorProto::INT16:
    case TensorProto::UINT16:
      return 2;
    default:
      return 1;
  }
}

bool is_real(int type) {
  return type == TensorProto::FLOAT || type == TensorProto::FLOAT16 || type == TensorProto::DOUBLE ||
         type == TensorProto::BFLOAT16;
}

std::string encoded(int type, const std::vector<double>& values) {
  switch (type) {
    case TensorProto::FLOAT:
      return packed<float>(values);
    case TensorProto::DOUBLE:
      return packed<double>(values);
    case TensorProto::INT8:
      return packed<int8_t>(values);
    case TensorProto::INT16:
      return packed<int16_t>(values);
    case TensorProto::UINT16:
      return packed<uint16_t>(values);
    case TensorProto::INT32:
      return packed<int32_t>(values);
    case TensorProto::UINT32:
      return packed<uint32_t>(values);
    case TensorProto::INT64:
      return packed<int64_t>(values);
    case TensorProto::UINT64:
      return packed<uint64_t>(values);
    case TensorProto::FLOAT16:
      return graph::write_floats(tensor::Element::kFloat16, values);
    case TensorProto::BFLOAT16:
      return graph::write_floats(tensor::Element::kBFloat16, values);
    default:
      return packed<uint8_t>(values);
  }
}

RandomModel::RandomModel(uint64_t seed, int opset)
    : opset_(opset), random_(seed), writer_(opset), graph_(&writer_.graph()) {
  writer_.graph().set_name("random");
  all_known_ = one_in(12);
  has_names_ = one_in(8);
  auto& microsoft = *writer_.model.add_opset_import();
  microsoft.set_domain("com.microsoft");
  microsoft.set_version(1);
}

// Written out, as the library's distributions differ between libraries.
int64_t RandomModel::below(int64_t limit) {
  return static_cast<int64_t>(random_() % static_cast<uint64_t>(limit));
}

double RandomModel::real(double low, double high) {
  return low + (high - low) * static_cast<double>(random_() >> 11) * 0x1p-53;
}

int RandomModel::type(std::string_view letters) {
  const bool first = flip();
  return type_of(letters[first ? 0 : static_cast<size_t>(below(static_cast<int64_t>(letters.size())))]);
}

int64_t RandomModel::extent(int64_t most) {
  static const Shape kExtents = {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17};
  return std::min(pick(kExtents), most);
}

Shape RandomModel::shape(int64_t least_rank, int64_t most_rank, int64_t most_elements) {
  Shape shape(static_cast<size_t>(between(least_rank, most_rank)));
  int64_t left = most_elements;
  for (int64_t& each : shape) {
    each = std::max<int64_t>(1, std::min(extent(), left));
    left /= each;
  }
  if (!shape.empty() && one_in(30)) shape[static_cast<size_t>(below(std::ssize(shape)))] = 0;
  return permuted(shape);
}

Shape RandomModel::permuted(Shape values) {
  for (size_t i = values.size(); i > 1; --i)
    std::swap(values[i - 1], values[static_cast<size_t>(below(static_cast<int64_t>(i)))]);
  return values;
}

Shape RandomModel::broadcast_to(const Shape& shape) {
  Shape made(shape.begin() + (one_in(3) ? below(std::ssize(shape) + 1) : 0), shape.end());
  for (int64_t& each : made)
    if (one_in(4)) each = 1;
  return made;
}

Shape RandomModel::some_axes(int64_t rank, int64_t least) {
  Shape all(static_cast<size_t>(rank));
  std::iota(all.begin(), all.end(), 0);
  all = permuted(all);
  all.resize(static_cast<size_t>(between(std::min(least, rank), rank)));
  for (int64_t& axis : all) axis = signed_axis(axis, rank);
  return all;
}

std::string RandomModel::random_bytes(int type, int64_t count, Fill fill) {
  static const std::vector<double> kOdd = {NAN,  INFINITY, -INFINITY, 0.0, -0.0, 1e-41, -1e-41, 65504,
                                           -3e4, 1e30,     -1e30,     0.5, -0.5, 1.5,   2.5};
  std::vector<double> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) {
    double& v = values[i];
    if (type == TensorProto::BOOL) {
      v = flip();
    } else if (is_real(type)) {
      const double size = fill == Fill::kUnit ? 1 : one_in(10) ? 20 : 3;
      v = fill == Fill::kPositive ? real(0.1, size) : real(-size, size);
      if (fill == Fill::kAny && one_in(4)) v = pick(kOdd);
      if (fill == Fill::kDistinct) v = (static_cast<double>(i) - static_cast<double>(count) / 3) / 4;
    } else {
      const auto [low, high] = ends(type);
      v = static_cast<double>(between(fill == Fill::kPositive ? 1 : is_unsigned(type) ? 0 : -9, 12));
      if (fill == Fill::kUnit) v = static_cast<double>(between(is_unsigned(type) ? 0 : -1, 1));
      if (fill == Fill::kAny && one_in(4)) v = flip() ? low : high;
      if (fill == Fill::kDistinct)
        v = low + std::fmod(static_cast<double>(i) - low - (is_unsigned(type) ? 0 : 5), high - low + 1);
    }
  }
  if (fill == Fill::kDistinct)
    for (size_t i = values.size(); i > 1; --i)
      std::swap(values[i - 1], values[static_cast<size_t>(below(static_cast<int64_t>(i)))]);
  return encoded(type, values);
}

std::string RandomModel::add(RandomTensor tensor, bool known) {
  known = known || all_known_;
  tensor.name = fresh(known ? "c" : "x");
  if (!known) {
    auto& type = writer_.input(tensor.name, tensor.shape, tensor.type);
    for (int i = 0; has_names_ && i < type.shape().dim_size(); ++i)
      if (flip())
        type.mutable_shape()->mutable_dim(i)->set_dim_param(
            "n" + std::to_string(tensor.shape[static_cast<size_t>(i)]));
    inputs_.push_back(tensor);
    return tensor.name;
  }
  auto& proto = *writer_.graph().add_initializer();
  proto.set_name(tensor.name);
  proto.set_data_type(tensor.type);
  for (int64_t extent : tensor.shape) proto.add_dims(extent);
  proto.set_raw_data(tensor.bytes);
  return tensor.name;
}

std::string RandomModel::operand(int type, const Shape& shape, Fill fill) {
  return add({"", type, shape, random_bytes(type, count_of(shape), fill)}, one_in(5));
}

std::string RandomModel::constant(int type, const Shape& shape, Fill fill) {
  return add({"", type, shape, random_bytes(type, count_of(shape), fill)}, !one_in(6));
}

std::string RandomModel::whole(int type, const Shape& shape, const Shape& values, bool known) {
  return add({"", type, shape, encoded(type, std::vector<double>(values.begin(), values.end()))}, known);
}

std::string RandomModel::reals(int type, const Shape& shape, const std::vector<double>& values, bool known) {
  return add({"", type, shape, encoded(type, values)}, known);
}

::onnx::NodeProto& RandomModel::node(const std::string& op_type, const std::vector<std::string>& inputs,
                                     int outputs, const std::string& domain) {
  auto& node = *graph_->add_node();
  node.set_op_type(op_type);
  node.set_domain(domain);
  for (const std::string& input : inputs) {
    node.add_input(input);
    read_.push_back(input);
  }
  results_.clear();
  for (int i = 0; i < outputs; ++i) {
    results_.push_back(fresh("y"));
    node.add_output(results_.back());
    if (graph_ == &writer_.graph()) made_.push_back(results_.back());
  }
  node.set_name("the_" + results_.front());
  return node;
}

void RandomModel::more_results(::onnx::NodeProto& node, int index) {
  while (node.output_size() < index) node.add_output("");
  made_.push_back(fresh("y"));
  node.add_output(made_.back());
}

::onnx::GraphProto* RandomModel::enter(::onnx::GraphProto* graph) {
  ::onnx::GraphProto* before = graph_;
  graph_ = graph;
  return before;
}

std::string RandomModel::bytes() {
  const std::set<std::string> read(read_.begin(), read_.end());
  const std::set<std::string> exposed(exposed_.begin(), exposed_.end());
  writer_.graph().clear_output();
  for (const std::string& name : made_)
    if (!read.contains(name) || exposed.contains(name)) writer_.output(name);
  return writer_.bytes();
}

RandomCase random_case(uint64_t seed, const std::string& only) {
  std::mt19937_64 random(seed);
  static const std::vector<int> kOpsets = {7,  9,  10, 11, 11, 12, 13, 13, 13, 14, 14, 15, 15, 16, 16,
                                           17, 17, 17, 18, 18, 19, 20, 20, 21, 21, 22, 23, 24, 25};
  const int opset = kOpsets[random() % kOpsets.size()];
  static const std::vector<RandomOperators> kSubjects = {
      element_wise_operators(), reduction_operators(),     movement_operators(),  indexing_operators(),
      window_operators(),       layer_operators(),         quantized_operators(), signal_operators(),
      microsoft_operators(),    microsoft_byte_operators()};
  std::vector<RandomOperator> all;
  const bool is_graph = only.empty() && random() % 4 == 0;
  if (is_graph || !only.empty()) all = random_graphs();
  if (!is_graph)
    for (const RandomOperators& subject : kSubjects) all.insert(all.end(), subject.begin(), subject.end());
  std::erase_if(all, [&](const RandomOperator& each) { return !only.empty() && each.name != only; });
  TF_CHECK(!all.empty()) << "no operator is called " << only;
  const RandomOperator& chosen = all[random() % all.size()];
  RandomCase made{chosen.name, RandomModel(random(), std::max(opset, chosen.since))};
  chosen.make(made.model);
  return made;
}

}  // namespace tf::onnx
