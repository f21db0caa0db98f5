#include "compiler/tensor/type.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace tf::tensor {
namespace {

struct ElementInfo {
  Element element;
  std::string_view name;
  int bytes;
};

constexpr std::array kElements = {
    ElementInfo{Element::kBool, "bool", 1},     ElementInfo{Element::kInt8, "i8", 1},
    ElementInfo{Element::kUInt8, "u8", 1},      ElementInfo{Element::kInt32, "i32", 4},
    ElementInfo{Element::kInt64, "i64", 8},     ElementInfo{Element::kFloat16, "f16", 2},
    ElementInfo{Element::kBFloat16, "bf16", 2}, ElementInfo{Element::kFloat32, "f32", 4},
    ElementInfo{Element::kFloat64, "f64", 8},   ElementInfo{Element::kInt16, "i16", 2},
    ElementInfo{Element::kUInt16, "u16", 2},    ElementInfo{Element::kUInt32, "u32", 4},
    ElementInfo{Element::kUInt64, "u64", 8},
};

const ElementInfo& info(Element element) {
  const auto index = static_cast<size_t>(element);
  TF_CHECK(index < kElements.size() && kElements[index].element == element) << "element " << index;
  return kElements[index];
}

// Rounds to a binary format of `precision` significant bits, smallest step 2^step and largest value
// `largest`. Exact in double for every format that is narrower than half of a double's precision.
double round_to_format(double value, int precision, int step, double largest) {
  if (!std::isfinite(value) || value == 0) return value;
  int exponent = 0;
  std::frexp(value, &exponent);
  const int quantum = std::max(exponent - precision, step);
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -quantum)), quantum);
  if (std::fabs(rounded) > largest) return std::copysign(std::numeric_limits<double>::infinity(), value);
  return rounded;
}

}  // namespace

int element_bytes(Element element) {
  return info(element).bytes;
}

bool is_float(Element element) {
  return element >= Element::kFloat16 && element <= Element::kFloat64;
}

bool is_unsigned(Element element) {
  switch (element) {
    case Element::kBool:
    case Element::kUInt8:
    case Element::kUInt16:
    case Element::kUInt32:
    case Element::kUInt64:
      return true;
    default:
      return false;
  }
}

int64_t lowest_integer(Element element) {
  if (is_unsigned(element)) return 0;
  return std::numeric_limits<int64_t>::min() >> (64 - 8 * element_bytes(element));
}

int64_t highest_integer(Element element) {
  if (element == Element::kBool) return 1;
  return is_unsigned(element) ? wrap_to_element(element, -1) : ~lowest_integer(element);
}

std::string_view element_name(Element element) {
  return info(element).name;
}

absl::StatusOr<Element> element_from_name(std::string_view name) {
  for (const ElementInfo& candidate : kElements)
    if (candidate.name == name) return candidate.element;
  return absl::InvalidArgumentError(absl::StrCat("'", std::string(name),
                                                 "' is not an element type; use one of bool, i8, u8, i32, "
                                                 "i64, f16, bf16, f32, f64, i16, u16, u32, u64"));
}

double round_to_element(Element element, double value) {
  switch (element) {
    case Element::kFloat16:
      return round_to_format(value, 11, -24, 65504.0);
    case Element::kBFloat16:
      return round_to_format(value, 8, -133, 0x1.FEp127);
    case Element::kFloat32:
      return static_cast<double>(static_cast<float>(value));
    case Element::kFloat64:
      return value;
    default:
      TF_CHECK(false) << element_name(element) << " is not a float";
      return value;
  }
}

int64_t wrap_to_element(Element element, int64_t value) {
  switch (element) {
    case Element::kBool:
      return value != 0;
    case Element::kInt8:
      return static_cast<int8_t>(value);
    case Element::kUInt8:
      return static_cast<uint8_t>(value);
    case Element::kInt16:
      return static_cast<int16_t>(value);
    case Element::kUInt16:
      return static_cast<uint16_t>(value);
    case Element::kInt32:
      return static_cast<int32_t>(value);
    case Element::kUInt32:
      return static_cast<uint32_t>(value);
    case Element::kInt64:
    case Element::kUInt64:
      return value;
    default:
      TF_CHECK(false) << element_name(element) << " is not an integer";
      return value;
  }
}

}  // namespace tf::tensor
