// The extension module tunefarm._core. What users call is in the folder tunefarm.
#include <pybind11/pybind11.h>

#include <string>

#include "base/version.h"
#include "compiler/python/errors.h"
#include "compiler/python/kernel.h"
#include "compiler/python/model.h"
#include "compiler/python/problem.h"
#include "compiler/python/programs.h"
#include "compiler/python/records.h"

PYBIND11_MODULE(_core, module) {
  module.doc() = "Models, kernels and schedules in this process, for the package tunefarm.";
  module.attr("__version__") = std::string(tf::version());
  tf::python::add_errors(module);
  tf::python::add_model(module);
  tf::python::add_problem(module);
  tf::python::add_records(module);
  tf::python::add_kernel(module);
  tf::python::add_programs(module);
}
