#include "compiler/python/arrays.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/runtime/kernel_abi.h"

namespace py = pybind11;

namespace tf::python {
namespace {

// NumPy's letter for the kind of an element.
char kind_of(tensor::Element element) {
  if (element == tensor::Element::kBool) return 'b';
  if (element == tensor::Element::kBFloat16) return 'u';
  if (tensor::is_float(element)) return 'f';
  return tensor::is_unsigned(element) ? 'u' : 'i';
}

bool has_elements(const py::array& array, tensor::Element element) {
  const py::dtype dtype = array.dtype();
  const char order = py::detail::array_descriptor_proxy(dtype.ptr())->byteorder;
  return dtype.kind() == kind_of(element) && dtype.itemsize() == tensor::element_bytes(element) &&
         order != '>';
}

Shape shape_of(const py::array& array) {
  return Shape(array.shape(), array.shape() + array.ndim());
}

bool is_row_major(const py::array& array) {
  constexpr int kFlags = int{py::array::c_style} | int{py::detail::npy_api::NPY_ARRAY_ALIGNED_};
  return (array.flags() & kFlags) == kFlags;
}

std::string type_of(const py::array& array) {
  return type_text(py::str(array.dtype()), shape_of(array));
}

std::string wanted_text(const Wanted& wanted) {
  return absl::StrCat(numpy_name(wanted.element), wanted.shape_text(),
                      wanted.element == tensor::Element::kBFloat16 ? " (the bits of bfloat16)" : "");
}

void check_elements(const py::array& array, const Wanted& wanted) {
  if (has_elements(array, wanted.element)) return;
  throw py::type_error(absl::StrCat(std::string(wanted.what), " is ", type_of(array), ", but must be ",
                                    wanted_text(wanted), ": convert it by .astype(numpy.",
                                    numpy_name(wanted.element), ")"));
}

void check_shape(const py::array& array, const Shape& shape, const Wanted& wanted) {
  if (wanted.fits(shape)) return;
  throw py::value_error(absl::StrCat(std::string(wanted.what), " is ", type_of(array), ", but must be ",
                                     wanted_text(wanted), ": give it that shape, as by .reshape(…)"));
}

py::array as_array(py::handle given, const Wanted& wanted) {
  const py::module_ numpy = py::module_::import("numpy");
  if (py::hasattr(given, "__dlpack__")) return numpy.attr("from_dlpack")(given);
  return numpy.attr("asarray")(given, dtype_of(wanted.element));
}

}  // namespace

const char* numpy_name(tensor::Element element) {
  switch (element) {
    case tensor::Element::kBool:
      return "bool";
    case tensor::Element::kInt8:
      return "int8";
    case tensor::Element::kUInt8:
      return "uint8";
    case tensor::Element::kInt16:
      return "int16";
    case tensor::Element::kUInt16:
    case tensor::Element::kBFloat16:
      return "uint16";
    case tensor::Element::kInt32:
      return "int32";
    case tensor::Element::kUInt32:
      return "uint32";
    case tensor::Element::kInt64:
      return "int64";
    case tensor::Element::kUInt64:
      return "uint64";
    case tensor::Element::kFloat16:
      return "float16";
    case tensor::Element::kFloat32:
      return "float32";
    case tensor::Element::kFloat64:
      return "float64";
  }
  return "float32";
}

py::dtype dtype_of(tensor::Element element) {
  return py::dtype(numpy_name(element));
}

void FreeBytes::operator()(void* bytes) const {
  std::free(bytes);
}

Bytes allocate(uint64_t bytes) {
  const uint64_t whole = (std::max<uint64_t>(bytes, 1) + TF_ALIGNMENT - 1) / TF_ALIGNMENT * TF_ALIGNMENT;
  return Bytes(std::aligned_alloc(TF_ALIGNMENT, whole));
}

bool is_aligned(const void* data) {
  return reinterpret_cast<uintptr_t>(data) % TF_ALIGNMENT == 0;
}

py::array array_of(Bytes bytes, tensor::Element element, const Shape& shape) {
  void* data = bytes.get();
  const py::capsule owner(bytes.release(), [](void* memory) { std::free(memory); });
  return py::array(dtype_of(element), shape, data, owner);
}

int64_t bytes_of(tensor::Element element, const Shape& shape) {
  int64_t bytes = tensor::element_bytes(element);
  for (const int64_t extent : shape) bytes *= extent;
  return bytes;
}

Argument read_argument(py::handle given, const Wanted& wanted) {
  py::array array =
      py::isinstance<py::array>(given) ? py::reinterpret_borrow<py::array>(given) : as_array(given, wanted);
  check_elements(array, wanted);
  Shape shape = shape_of(array);
  check_shape(array, shape, wanted);
  if (!is_row_major(array)) {
    // A scalar's copy would get an axis from ascontiguousarray.
    array = py::module_::import("numpy").attr("array")(array, py::arg("order") = "C", py::arg("copy") = true);
  }
  const void* data = array.data();
  return {std::move(array), data, std::move(shape)};
}

Argument write_argument(py::handle given, const Wanted& wanted) {
  if (!py::isinstance<py::array>(given))
    throw py::type_error(absl::StrCat(
        std::string(wanted.what), " is a ", std::string(py::str(py::type::handle_of(given).attr("__name__"))),
        ", but must be a NumPy array of ", wanted_text(wanted), ": make it by tunefarm.empty(shape, dtype)"));
  py::array array = py::reinterpret_borrow<py::array>(given);
  check_elements(array, wanted);
  Shape shape = shape_of(array);
  check_shape(array, shape, wanted);
  if (!is_row_major(array) || !array.writeable())
    throw py::value_error(absl::StrCat(std::string(wanted.what), " is ",
                                       array.writeable() ? "not row-major" : "read-only",
                                       ": make it by tunefarm.empty(shape, dtype)"));
  const void* data = array.data();
  return {std::move(array), data, std::move(shape)};
}

bool overlap(const void* a, int64_t a_bytes, const void* b, int64_t b_bytes) {
  const auto from_a = reinterpret_cast<uintptr_t>(a), from_b = reinterpret_cast<uintptr_t>(b);
  return from_a < from_b + static_cast<uintptr_t>(b_bytes) &&
         from_b < from_a + static_cast<uintptr_t>(a_bytes);
}

std::string type_text(const std::string& name, const Shape& shape) {
  return absl::StrCat(name, "[", absl::StrJoin(shape, ", "), "]");
}

}  // namespace tf::python
