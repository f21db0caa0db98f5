#pragma once
// Owns: a built model as Python calls it. Does not know: how it was built.

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "compiler/driver/loaded_model.h"
#include "compiler/python/arrays.h"

namespace tf::python {

// One run at a time: calls of several threads wait for each other, without the GIL.
class Model {
 public:
  // Errors as driver::LoadedModel::open.
  Model(const std::string& folder, int threads);

  // In order, dicts of name, dtype, shape (the greatest) and dims (of each extent its dimension's name, or None).
  pybind11::list inputs() const { return described(inputs_); }
  pybind11::list outputs() const { return described(outputs_); }
  // NAME: (least, greatest, multiple_of)
  pybind11::dict dims() const;
  double flops() const { return model_->flops(); }
  void set_affinity(const std::vector<int>& cpus);

  // An array for each output, those of `out` where it is a list: an array or None for each. `inputs` has one value for each
  // input. Values are used in place where they are row-major and aligned, and outputs are. TypeError, ValueError: a value is
  // not what the model takes; Error: the model failed.
  pybind11::list run(const pybind11::list& inputs, const pybind11::object& out);

 private:
  struct Port {
    std::string name, what;
    tensor::Element element;
    Shape greatest;
    std::vector<int> dims;  // of each extent, -1: it is fixed
    bool is_input = false;
    Wanted wanted;
  };

  pybind11::list described(const std::vector<std::unique_ptr<Port>>& ports) const;
  bool fits(const Port& port, const Shape& shape) const;
  std::string shape_text(const Port& port) const;
  pybind11::list run_fixed(const std::vector<Argument>& inputs, const pybind11::object& out);
  pybind11::list run_sized(const std::vector<Argument>& inputs, const pybind11::object& out);
  void check_apart(const std::vector<Argument>& inputs, const Argument& output, size_t index) const;
  // Without the GIL.
  absl::Status run_on(const std::vector<Argument>& inputs, const std::vector<void*>& outputs);

  std::unique_ptr<driver::LoadedModel> model_;
  std::vector<std::unique_ptr<Port>> inputs_, outputs_;
  std::mutex running_;
};

void add_model(pybind11::module_& module);

}  // namespace tf::python
