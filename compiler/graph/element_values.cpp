#include "compiler/graph/element_values.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "compiler/tensor/half.h"
#include "compiler/tensor/saturate.h"

namespace tf::graph {
namespace {

using tensor::Element;
using tensor::saturate;

template <typename T, typename To, typename F>
std::vector<To> read_as(std::string_view bytes, F&& convert) {
  std::vector<To> values(bytes.size() / sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) {
    T element;
    std::memcpy(&element, bytes.data() + i * sizeof(T), sizeof(T));
    values[i] = static_cast<To>(convert(element));
  }
  return values;
}

template <typename T, typename From, typename F>
std::string write_as(const std::vector<From>& values, F&& convert) {
  std::string bytes(values.size() * sizeof(T), '\0');
  for (size_t i = 0; i < values.size(); ++i) {
    const T element = convert(values[i]);
    std::memcpy(bytes.data() + i * sizeof(T), &element, sizeof(T));
  }
  return bytes;
}

template <typename To>
std::vector<To> read(Element element, std::string_view bytes) {
  auto whole = [](auto v) { return v; };
  auto real = [](double v) {
    if constexpr (std::is_integral_v<To>) {
      return saturate<To>(v);
    } else {
      return v;
    }
  };
  switch (element) {
    case Element::kBool:
      return read_as<uint8_t, To>(bytes, [](uint8_t v) { return v != 0; });
    case Element::kInt8:
      return read_as<int8_t, To>(bytes, whole);
    case Element::kUInt8:
      return read_as<uint8_t, To>(bytes, whole);
    case Element::kInt16:
      return read_as<int16_t, To>(bytes, whole);
    case Element::kUInt16:
      return read_as<uint16_t, To>(bytes, whole);
    case Element::kInt32:
      return read_as<int32_t, To>(bytes, whole);
    case Element::kUInt32:
      return read_as<uint32_t, To>(bytes, whole);
    case Element::kInt64:
      return read_as<int64_t, To>(bytes, whole);
    case Element::kUInt64:
      return read_as<uint64_t, To>(bytes, whole);
    case Element::kFloat16:
      return read_as<uint16_t, To>(bytes, [&](uint16_t v) { return real(tensor::float16_value(v)); });
    case Element::kBFloat16:
      return read_as<uint16_t, To>(bytes, [&](uint16_t v) { return real(tensor::bfloat16_value(v)); });
    case Element::kFloat32:
      return read_as<float, To>(bytes, real);
    case Element::kFloat64:
      return read_as<double, To>(bytes, real);
  }
  __builtin_unreachable();
}

template <typename From>
std::string write(Element element, const std::vector<From>& values) {
  auto whole = [&]<typename T>(T) {
    return write_as<T>(values, [](From v) {
      if constexpr (std::is_integral_v<From>) {
        return static_cast<T>(v);  // narrower integers wrap
      } else {
        return saturate<T>(v);
      }
    });
  };
  switch (element) {
    case Element::kBool:
      return write_as<uint8_t>(values, [](From v) { return uint8_t{v != 0}; });
    case Element::kInt8:
      return whole(int8_t{});
    case Element::kUInt8:
      return whole(uint8_t{});
    case Element::kInt16:
      return whole(int16_t{});
    case Element::kUInt16:
      return whole(uint16_t{});
    case Element::kInt32:
      return whole(int32_t{});
    case Element::kUInt32:
      return whole(uint32_t{});
    case Element::kInt64:
      return whole(int64_t{});
    case Element::kUInt64:
      return whole(uint64_t{});
    case Element::kFloat16:
    case Element::kBFloat16:
      return write_as<uint16_t>(
          values, [element](From v) { return tensor::half_bits(element, static_cast<double>(v)); });
    case Element::kFloat32:
      return write_as<float>(values, [](From v) { return static_cast<float>(v); });
    case Element::kFloat64:
      return write_as<double>(values, [](From v) { return static_cast<double>(v); });
  }
  __builtin_unreachable();
}

}  // namespace

std::vector<double> read_floats(Element element, std::string_view bytes) {
  return read<double>(element, bytes);
}
std::vector<int64_t> read_integers(Element element, std::string_view bytes) {
  return read<int64_t>(element, bytes);
}
tensor::Values read_values(Element element, std::string_view bytes) {
  if (tensor::is_float(element)) return read_floats(element, bytes);
  return read_integers(element, bytes);
}
std::string write_floats(Element element, const std::vector<double>& values) {
  return write(element, values);
}
std::string write_integers(Element element, const std::vector<int64_t>& values) {
  return write(element, values);
}

std::string write_values(Element element, const tensor::Values& values) {
  return std::visit([element](const auto& elements) { return write(element, elements); }, values);
}

}  // namespace tf::graph
