#pragma once
// Owns: element types and the type of an expression (an element type and a number of vector lanes).

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"

namespace tf::tensor {

enum class Element : uint8_t {
  kBool,
  kInt8,
  kUInt8,
  kInt32,
  kInt64,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
  kInt16,
  kUInt16,
  kUInt32,
  kUInt64
};

// Size of one element in memory, in bytes.
int element_bytes(Element element);
bool is_float(Element element);
// Of the integers without sign, among them bool.
bool is_unsigned(Element element);
// The ends of an integer's range, as 64 bits: of u64 the highest is -1.
int64_t lowest_integer(Element element);
int64_t highest_integer(Element element);
// "bool", "i8", "u8", "i32", "i64", "f16", "bf16", "f32", "f64", "i16", "u16", "u32", "u64".
std::string_view element_name(Element element);
absl::StatusOr<Element> element_from_name(std::string_view name);

// The nearest value of a float element (ties to even; beyond the largest: infinity).
double round_to_element(Element element, double value);
// The value that a store into an integer element keeps: the low bits, sign-extended where signed; bool is !=
// 0. A u64 is the i64 of the same bits, here and wherever whole numbers are held in 64 bits.
int64_t wrap_to_element(Element element, int64_t value);

// lanes > 1 is a vector; those appear in loop IR only.
struct Type {
  Element element = Element::kFloat32;
  int lanes = 1;
  bool operator==(const Type&) const = default;
  bool is_vector() const { return lanes > 1; }
};

}  // namespace tf::tensor
