#include "compiler/python/errors.h"

#include <string>

namespace tf::python {
namespace {

// Lives as long as the interpreter.
PyObject* error_class = nullptr;
PyObject* illegal_step_class = nullptr;

PyObject* make_class(pybind11::module_& module, const char* name, const char* doc, PyObject* base) {
  PyObject* made = PyErr_NewExceptionWithDoc((std::string("tunefarm.") + name).c_str(), doc, base, nullptr);
  if (made == nullptr) throw pybind11::error_already_set();
  module.add_object(name, pybind11::reinterpret_borrow<pybind11::object>(made));
  return made;
}

PyObject* class_of(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
      return PyExc_ValueError;
    case absl::StatusCode::kNotFound:
      return PyExc_FileNotFoundError;
    default:
      return error_class;
  }
}

}  // namespace

void add_errors(pybind11::module_& module) {
  error_class =
      make_class(module, "Error", "Tunefarm could not do what was asked; the text says why, and what to do.",
                 PyExc_RuntimeError);
  illegal_step_class = make_class(
      module, "IllegalStep", "A step is not legal for its schedule; the text says why, and what would be.",
      PyExc_ValueError);
}

void raise(const absl::Status& status) {
  PyErr_SetString(class_of(status.code()), std::string(status.message()).c_str());
  throw pybind11::error_already_set();
}

void raise_illegal(const absl::Status& status) {
  if (!absl::IsFailedPrecondition(status)) raise(status);
  PyErr_SetString(illegal_step_class, std::string(status.message()).c_str());
  throw pybind11::error_already_set();
}

}  // namespace tf::python
