#pragma once
// Owns: NumPy arrays and what else Python takes for one, as memory of a given element type and shape; arrays in memory that
// kernels use in place. Does not know: models, kernels.

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/tensor/type.h"

namespace tf::python {

using Shape = std::vector<int64_t>;

// As NumPy calls it; "uint16" for bf16, whose bits such an array holds.
const char* numpy_name(tensor::Element element);
pybind11::dtype dtype_of(tensor::Element element);

struct FreeBytes {
  void operator()(void* bytes) const;
};
using Bytes = std::unique_ptr<void, FreeBytes>;

// Aligned as models and kernels want it (TF_ALIGNMENT), so that they use it in place; at least one byte. Null: no memory.
Bytes allocate(uint64_t bytes);
bool is_aligned(const void* data);

// An array that owns the bytes, row-major.
pybind11::array array_of(Bytes bytes, tensor::Element element, const Shape& shape);

int64_t bytes_of(tensor::Element element, const Shape& shape);

// What an argument must be. `what` is for messages: "input 'data'".
struct Wanted {
  std::string_view what;
  tensor::Element element;
  // Whether that is a shape of it, and how people call those that are: "[batch=1..64, 3]".
  std::function<bool(const Shape&)> fits;
  std::function<std::string()> shape_text;
};

// The memory of an argument: of a NumPy array, of whatever else has __dlpack__, or of an array made of numbers. It is the
// argument's own, unless that is not row-major or not aligned to its elements.
struct Argument {
  pybind11::object owner;  // keeps the memory
  const void* data = nullptr;
  Shape shape;
};
// TypeError for other elements, ValueError for another shape, each with what is given, what is wanted and what to do.
Argument read_argument(pybind11::handle given, const Wanted& wanted);

// An array to write to: as wanted, row-major, writable. Errors as above.
Argument write_argument(pybind11::handle given, const Wanted& wanted);

// Whether two pieces of memory have bytes in common.
bool overlap(const void* a, int64_t a_bytes, const void* b, int64_t b_bytes);

// "float32[1, 3, 224, 224]"
std::string type_text(const std::string& name, const Shape& shape);

}  // namespace tf::python
