#include "compiler/driver/library/weights.h"

#include <functional>
#include <numeric>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/files/write_all.h"
#include "base/status.h"
#include "compiler/driver/element_number.h"
#include "compiler/runtime/axis_map.h"
#include "compiler/runtime/axis_sum.h"
#include "compiler/runtime/kernel_abi.h"
#include "compiler/runtime/layout.h"
#include "compiler/runtime/narrow.h"
#include "compiler/schedule/numerics.h"

namespace tf::driver {
namespace {

namespace kernel = tunefarm::kernel::v1;
using kernel::Port;

// As what a constant of f32 is stored, if it is.
std::optional<tensor::Element> narrowed(const Port& port) {
  if (port.stored_element() == kernel::ELEMENT_TYPE_FLOAT16) return tensor::Element::kFloat16;
  if (port.stored_element() == kernel::ELEMENT_TYPE_BFLOAT16) return tensor::Element::kBFloat16;
  return std::nullopt;
}

// What tells the stored forms of one constant apart.
std::string storage_text(const Port& port) {
  std::string text = port.layout();
  if (const auto element = narrowed(port))
    absl::StrAppend(&text, " ", std::string(tensor::element_name(*element)));
  if (port.has_sums()) absl::StrAppend(&text, " sums ", absl::StrJoin(port.sums().axes(), ","));
  for (const kernel::AxisMap& map : port.maps())
    absl::StrAppend(&text, " ", map.axis(), ":", map.rows(), ":", absl::StrJoin(map.matrix(), ","));
  return text;
}

// Of one constant: 64 GiB of floats, as the device agent allows.
constexpr int64_t kMostElements = int64_t{1} << 34;

int64_t product(const std::vector<int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

// The steps from a constant to what a port stores of it, each checked: sums, maps, narrowing, layout.
struct Form {
  uint32_t summed_axes = 0;  // bits
  std::vector<tf_axis_map> maps;
  std::optional<tensor::Element> narrow_to;
  std::optional<tf_layout> layout;
  std::vector<int64_t> shape;  // after sums and maps
  uint64_t bytes = 0;          // as stored
};

absl::Status add_sums(const kernel::ConstantSums& sums, tensor::Element element, Form& form) {
  if (element != tensor::Element::kInt8 && element != tensor::Element::kUInt8)
    return wrong_port("sums a constant that is not of bytes");
  std::vector<int64_t> shape = form.shape;
  for (const uint32_t axis : sums.axes()) {
    if (axis >= shape.size())
      return wrong_port(
          absl::StrCat("sums axis ", axis, " of the constant [", absl::StrJoin(form.shape, ", "), "]"));
    form.summed_axes |= 1u << axis;
    shape[axis] = 1;
  }
  form.shape = std::move(shape);
  return absl::OkStatus();
}

absl::Status add_maps(const Port& port, Form& form) {
  const auto rank = static_cast<int32_t>(form.shape.size());
  const std::vector<int64_t> plain = form.shape;
  for (const kernel::AxisMap& map : port.maps()) {
    form.maps.push_back({map.axis(), map.rows(), map.matrix().data()});
    if (tf_fit_axis_map(&form.maps.back(), map.matrix_size(), form.shape.data(), rank, kMostElements) == 0)
      return wrong_port(absl::StrCat("maps axis ", map.axis(), " of the constant [",
                                     absl::StrJoin(plain, ", "), "] by a matrix of ", map.rows(),
                                     " rows and ", map.matrix_size(), " elements"));
  }
  return absl::OkStatus();
}

// Of a constant of `plain_bytes`.
absl::StatusOr<Form> form_of_port(const Port& port, tensor::Element element,
                                  const std::vector<int64_t>& shape, uint64_t plain_bytes) {
  Form form{.narrow_to = narrowed(port), .shape = shape};
  if ((!port.maps().empty() || form.narrow_to) && element != tensor::Element::kFloat32)
    return wrong_port("maps or narrows a constant that is not of f32");
  if (port.has_sums()) {
    TF_RETURN_IF_ERROR(add_sums(port.sums(), element, form));
    if (!port.layout().empty()) return wrong_port("packs sums");
    plain_bytes = static_cast<uint64_t>(product(form.shape)) * sizeof(int32_t);
  }
  TF_RETURN_IF_ERROR(add_maps(port, form));
  if (!form.maps.empty()) plain_bytes = static_cast<uint64_t>(product(form.shape)) * sizeof(float);
  if (form.narrow_to) plain_bytes /= 2;
  form.bytes = port.size_bytes();
  if (port.layout().empty()) {
    if (plain_bytes == form.bytes) return form;
    return wrong_port(absl::StrCat("wants ", form.bytes, " bytes of a constant of ", plain_bytes));
  }
  const auto rank = static_cast<int32_t>(form.shape.size());
  if (tf_layout_parse(port.layout().c_str(), rank, &form.layout.emplace()) != 0)
    return wrong_port(absl::StrCat("wants a constant of rank ", rank, " as '", port.layout(), "'"));
  const int element_bytes = tensor::element_bytes(form.narrow_to.value_or(element));
  const int64_t elements = tf_layout_elements(&*form.layout, form.shape.data(), rank);
  if (elements < 0 || elements > kMostElements ||
      static_cast<uint64_t>(elements) * static_cast<uint64_t>(element_bytes) != form.bytes)
    return wrong_port(absl::StrCat("wants ", form.bytes, " bytes of the constant [",
                                   absl::StrJoin(form.shape, ", "), "] as '", port.layout(), "', which has ",
                                   elements, " elements"));
  return form;
}

std::string mapped(const Form& form, std::string_view plain, std::vector<int64_t> shape) {
  const auto count = static_cast<int32_t>(form.maps.size()), rank = static_cast<int32_t>(shape.size());
  std::vector<float> first(tf_map_axes_elements(form.maps.data(), count, shape.data(), rank)),
      second(first.size());
  const float* result =
      tf_map_axes(form.maps.data(), count, shape.data(), rank, reinterpret_cast<const float*>(plain.data()),
                  first.data(), second.data());
  return std::string(reinterpret_cast<const char*>(result),
                     static_cast<size_t>(product(shape)) * sizeof(float));
}

// f32 values as 16-bit floats.
absl::StatusOr<std::string> narrow(tensor::Element element, std::string_view plain,
                                   const std::string& constant) {
  const size_t count = plain.size() / sizeof(float);
  std::string out(2 * count, '\0');
  const int64_t overflowed =
      tf_narrow(element_number(element), static_cast<int64_t>(count),
                reinterpret_cast<const float*>(plain.data()), reinterpret_cast<uint16_t*>(out.data()));
  if (overflowed == 0) return out;
  return absl::FailedPreconditionError(
      absl::StrCat("constant '", constant, "' has ", overflowed, " values beyond the largest ",
                   std::string(tensor::element_name(element)), ": build without --allow ",
                   element == tensor::Element::kFloat16 ? schedule::kFp16 : schedule::kBf16));
}

std::string summed(const Form& form, tensor::Element element, std::string_view plain,
                   const std::vector<int64_t>& shape) {
  std::string out(static_cast<size_t>(product(form.shape)) * sizeof(int32_t), '\0');
  tf_sum_axes(element == tensor::Element::kInt8, form.summed_axes, shape.data(),
              static_cast<int32_t>(shape.size()), plain.data(), reinterpret_cast<int32_t*>(out.data()));
  return out;
}

uint64_t gap_after(uint64_t bytes, uint64_t alignment_bytes) {
  return (alignment_bytes - bytes % alignment_bytes) % alignment_bytes;
}

}  // namespace

absl::Status wrong_port(std::string_view what) {
  return absl::InternalError(
      absl::StrCat("a build worker returned a kernel that ", absl::string_view(what.data(), what.size())));
}

absl::StatusOr<uint64_t> Weights::offset_of(const graph::Graph& graph, graph::NodeId node, const Port& port) {
  const auto* constant = graph::as<graph::Constant>(graph.node(node));
  TF_CHECK(constant != nullptr) << "weights that are not constant";
  const std::string form = absl::StrCat(graph::to_string(graph.type(node)), " ", storage_text(port));
  auto [known, missing] = offsets_.try_emplace({constant->data.get(), form}, bytes_);
  if (!missing) return known->second;
  Stored stored{constant->data, graph.node(node).name, graph.type(node).element, graph.shape(node), port};
  const uint64_t plain_bytes = stored.data->bytes().size();
  TF_RETURN_IF_ERROR(form_of_port(port, stored.element, stored.shape, plain_bytes).status());
  stored_.push_back(std::move(stored));
  bytes_ += port.size_bytes();
  bytes_ += gap_after(bytes_, alignment_bytes_);
  return known->second;
}

absl::StatusOr<uint64_t> Weights::offset_of(const graph::Graph& graph, graph::NodeId node) {
  Port port;
  port.set_size_bytes(graph::as<graph::Constant>(graph.node(node))->data->bytes().size());
  return offset_of(graph, node, port);
}

absl::Status Weights::write(int fd, const std::string& name) const {
  for (const Stored& stored : stored_) {
    std::string_view bytes = stored.data->bytes();
    TF_ASSIGN_OR_RETURN(const Form form,
                        form_of_port(stored.port, stored.element, stored.shape, bytes.size()));
    std::string buffer;
    if (stored.port.has_sums()) bytes = buffer = summed(form, stored.element, bytes, stored.shape);
    if (!form.maps.empty()) bytes = buffer = mapped(form, bytes, stored.shape);
    if (form.narrow_to) {
      TF_ASSIGN_OR_RETURN(buffer, narrow(*form.narrow_to, bytes, stored.constant));
      bytes = buffer;
    }
    if (form.layout) {
      std::string packed(form.bytes, '\0');
      tf_layout_pack(&*form.layout, form.shape.data(), static_cast<int32_t>(form.shape.size()),
                     tensor::element_bytes(form.narrow_to.value_or(stored.element)), bytes.data(),
                     packed.data());
      bytes = buffer = std::move(packed);
    }
    TF_RETURN_IF_ERROR(write_all(fd, bytes, name));
    TF_RETURN_IF_ERROR(write_all(fd, std::string(gap_after(bytes.size(), alignment_bytes_), '\0'), name));
  }
  return absl::OkStatus();
}

}  // namespace tf::driver
