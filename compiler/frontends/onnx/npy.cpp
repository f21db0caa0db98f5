// NumPy's array file, version 1.0 to 3.0 (numpy/lib/format.py): magic, header length, a Python dictionary
// literal with the keys descr, fortran_order and shape, then the elements.
#include <algorithm>
#include <array>
#include <cctype>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/frontends/onnx/tensor_proto.h"
#include "compiler/graph/graph.h"

namespace tf::onnx {
namespace {

using tensor::Element;

struct Descr {
  std::string_view text;
  Element element;
};
constexpr std::array kDescrs = {
    Descr{"<f4", Element::kFloat32}, Descr{"<f8", Element::kFloat64}, Descr{"<f2", Element::kFloat16},
    Descr{"|i1", Element::kInt8},    Descr{"|u1", Element::kUInt8},   Descr{"<i2", Element::kInt16},
    Descr{"<u2", Element::kUInt16},  Descr{"<i4", Element::kInt32},   Descr{"<u4", Element::kUInt32},
    Descr{"<i8", Element::kInt64},   Descr{"<u8", Element::kUInt64},  Descr{"|b1", Element::kBool}};

// What follows 'key': in the dictionary literal, or nothing.
std::string_view after_key(std::string_view header, std::string_view key) {
  const size_t at = header.find(absl::StrCat("'", std::string(key), "':"));
  if (at == std::string_view::npos) return {};
  header.remove_prefix(at + key.size() + 3);
  while (!header.empty() && header.front() == ' ') header.remove_prefix(1);
  return header;
}

absl::StatusOr<std::vector<int64_t>> parse_shape(std::string_view text) {
  std::vector<int64_t> shape;
  const size_t end = text.find(')');
  if (text.empty() || text.front() != '(' || end == std::string_view::npos)
    return absl::InvalidArgumentError("a .npy header without a shape");
  text = text.substr(1, end - 1);
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view entry = text.substr(0, comma);
    int64_t extent = 0;
    if (entry.find_first_not_of(' ') != std::string_view::npos) {
      if (!absl::SimpleAtoi(absl::string_view(entry.data(), entry.size()), &extent) || extent < 0)
        return absl::InvalidArgumentError("a .npy header with a bad shape");
      shape.push_back(extent);
    }
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return shape;
}

}  // namespace

absl::StatusOr<graph::HostTensor> parse_npy(std::string_view bytes) {
  if (bytes.size() < 12 || bytes.substr(0, 6) != "\x93NUMPY")
    return absl::InvalidArgumentError("not a .npy file");
  auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(bytes[i])); };
  const bool wide = bytes[6] > 1;  // versions 2 and 3 have a 32-bit length
  const size_t start = wide ? 12 : 10;
  const size_t length = byte(8) | byte(9) << 8 | (wide ? byte(10) << 16 | byte(11) << 24 : 0);
  if (length > bytes.size() - start) return absl::InvalidArgumentError("a truncated .npy file");
  const std::string_view header = bytes.substr(start, length);
  if (after_key(header, "fortran_order").substr(0, 4) == "True")
    return absl::InvalidArgumentError("a .npy file in Fortran order: save it with numpy.ascontiguousarray");
  graph::HostTensor value;
  const std::string_view descr = after_key(header, "descr");
  bool known = false;
  for (const Descr& candidate : kDescrs) {
    if (descr.size() < 5 || descr.substr(1, 3) != candidate.text) continue;
    value.element = candidate.element;
    known = true;
  }
  if (!known) return absl::InvalidArgumentError("a .npy file of an element type that is not supported");
  TF_ASSIGN_OR_RETURN(value.shape, parse_shape(after_key(header, "shape")));
  TF_ASSIGN_OR_RETURN(const int64_t elements, graph::element_count(value.shape));
  const std::string_view data = bytes.substr(start + length);
  const int64_t want = elements * tensor::element_bytes(value.element);
  if (static_cast<int64_t>(data.size()) != want)
    return absl::InvalidArgumentError(
        absl::StrCat("a .npy file with ", data.size(), " bytes of data, but its shape needs ", want));
  value.data = std::make_shared<const graph::Blob>(std::string(data));
  return value;
}

std::string npy_bytes(const graph::HostTensor& value) {
  // NumPy has no bfloat16: its bits are saved as they are.
  std::string_view descr = "<u2";
  for (const Descr& candidate : kDescrs)
    if (candidate.element == value.element) descr = candidate.text;
  std::string shape;
  for (int64_t extent : value.shape) absl::StrAppend(&shape, extent, ",");
  std::string header =
      absl::StrCat("{'descr': '", std::string(descr), "', 'fortran_order': False, 'shape': (", shape, "), }");
  // The data starts at a multiple of 64 bytes; the header ends with a newline.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 255);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  bytes += value.data->bytes();
  return bytes;
}

}  // namespace tf::onnx
