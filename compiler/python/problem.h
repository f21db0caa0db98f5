#pragma once
// Owns: a kernel as Python names it, and what the schedule language says of it: its default schedule, whether steps are legal,
// which loops they make. Does not know: code, devices.

#include <pybind11/pybind11.h>

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/tensor/kernel_spec.h"

namespace tf::python {

// Where a kernel stands in a network.
struct Surroundings {
  std::vector<std::string> in_layouts, out_layouts;  // of activations; none: row-major
  uint64_t reuse_distance_bytes = 0;                 // as of tensor::KernelSpec
};

// A value: every dimension is bound.
class Problem {
 public:
  // ValueError for texts that are none, with what is wrong.
  Problem(const std::string& workload, const tensor::Binding& binding, const std::string& target, int threads,
          const std::vector<std::string>& allow, const std::string& label, const Surroundings& around);

  const tensor::KernelSpec& spec() const { return spec_; }
  const tensor::Workload& bound() const { return bound_; }
  std::string label() const { return bound_.label; }
  // Canonical texts.
  std::string workload() const;
  std::string target() const { return spec_.target.text(); }
  std::string key() const;  // of the computation, hexadecimal

  // Dicts of name (p0, t0, …), dtype, shape and, of inputs, constant.
  pybind11::list inputs() const;
  pybind11::list outputs() const;
  double flops() const;
  double bytes() const;

  std::string default_schedule() const;
  // Error if its kernels are for other machines than this.
  void check_runs_here() const;
  // The schedule's canonical text. IllegalStep: one of its steps cannot be applied.
  std::string checked(const std::string& schedule) const;
  // Of each stage after these steps a dict of name, place ("root", "inlined" or "CONSUMER LOOP"), and loops: dicts of name,
  // extent, kind ("serial", …) and reduce. Errors as checked().
  pybind11::list stages(const std::string& schedule) const;

 private:
  tensor::KernelSpec spec_;  // its workload as its canonical text
  tensor::Workload bound_;
};

// The canonical text. ValueError with line and column, or with what is wrong with it.
std::string canonical_workload(const std::string& text);

void add_problem(pybind11::module_& module);

}  // namespace tf::python
