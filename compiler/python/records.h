#pragma once
// Owns: measurements as Python sees them, and keeping them in a database. Does not know: how they are made.

#include <pybind11/pybind11.h>

namespace tf::python {

void add_records(pybind11::module_& module);

}  // namespace tf::python
