#include "compiler/backends/gpu/dialect.h"

namespace tf::backends {

using tensor::Element;

const char* value_type(const GpuDialect& dialect, Element element) {
  switch (element) {
    case Element::kBool:
      return "bool";
    case Element::kInt8:
      return "signed char";
    case Element::kUInt8:
      return "unsigned char";
    case Element::kInt16:
      return "short";
    case Element::kUInt16:
      return "unsigned short";
    case Element::kInt32:
      return "int";
    case Element::kUInt32:
      return "unsigned";
    case Element::kInt64:
      return dialect.long_type;
    case Element::kUInt64:
      return dialect.unsigned_long_type;
    case Element::kFloat16:
    case Element::kBFloat16:
    case Element::kFloat32:
      return "float";
    case Element::kFloat64:
      return "double";
  }
  __builtin_unreachable();
}

const char* memory_type(const GpuDialect& dialect, Element element) {
  if (element == Element::kBool) return "unsigned char";
  if (element == Element::kFloat16 || element == Element::kBFloat16) return "unsigned short";
  return value_type(dialect, element);
}

}  // namespace tf::backends
