#include "compiler/python/model.h"

#include <pybind11/stl.h>

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/driver/element_number.h"
#include "compiler/python/errors.h"
#include "compiler/python/gil.h"

namespace py = pybind11;

namespace tf::python {

Model::Model(const std::string& folder, int threads)
    : model_(value(driver::LoadedModel::open(folder, threads))) {
  const auto add = [this](std::vector<std::unique_ptr<Port>>& ports, const graph::HostTensor& tensor,
                          const tf_tensor_info& info, bool is_input) {
    Port& port = *ports.emplace_back(std::make_unique<Port>());
    port.name = tensor.name;
    port.what = absl::StrCat(is_input ? "input '" : "output '", tensor.name, "'");
    port.element = tensor.element;
    port.greatest = tensor.shape;
    port.dims.assign(info.dims, info.dims + info.rank);
    port.is_input = is_input;
    port.wanted = {.what = port.what,
                   .element = port.element,
                   .fits = [this, &port](const Shape& shape) { return fits(port, shape); },
                   .shape_text = [this, &port] { return shape_text(port); }};
  };
  for (size_t i = 0; i < model_->inputs().size(); ++i)
    add(inputs_, model_->inputs()[i], model_->input_info(i), true);
  for (size_t i = 0; i < model_->outputs().size(); ++i)
    add(outputs_, model_->outputs()[i], model_->output_info(i), false);
}

bool Model::fits(const Port& port, const Shape& shape) const {
  if (shape.size() != port.greatest.size()) return false;
  for (size_t i = 0; i < shape.size(); ++i) {
    const int dim = port.dims[i];
    // Of an output a run says how much there is.
    if (dim >= 0 && !port.is_input) continue;
    if (dim < 0 && shape[i] != port.greatest[i]) return false;
    if (dim < 0) continue;
    const graph::NamedDimension& named = model_->dims()[static_cast<size_t>(dim)];
    if (shape[i] < named.low || shape[i] > named.high || shape[i] % named.multiple_of != 0) return false;
  }
  return true;
}

std::string Model::shape_text(const Port& port) const {
  std::vector<std::string> extents;
  for (size_t i = 0; i < port.greatest.size(); ++i) {
    const int dim = port.dims[i];
    if (dim < 0 || static_cast<size_t>(dim) >= model_->dims().size()) {
      extents.push_back(absl::StrCat(dim < 0 ? "" : "up to ", port.greatest[i]));
      continue;
    }
    const graph::NamedDimension& named = model_->dims()[static_cast<size_t>(dim)];
    extents.push_back(absl::StrCat(named.var->name, "=", named.low, "..", named.high,
                                   named.multiple_of > 1 ? absl::StrCat(":", named.multiple_of) : ""));
  }
  return absl::StrCat("[", absl::StrJoin(extents, ", "), "]");
}

py::list Model::described(const std::vector<std::unique_ptr<Port>>& ports) const {
  py::list out;
  for (const std::unique_ptr<Port>& port : ports) {
    py::list dims;
    for (const int dim : port->dims) {
      if (dim >= 0 && static_cast<size_t>(dim) < model_->dims().size())
        dims.append(model_->dims()[static_cast<size_t>(dim)].var->name);
      else
        dims.append(py::none());
    }
    py::dict one;
    one["name"] = port->name;
    one["dtype"] = std::string(tensor::element_name(port->element));
    one["shape"] = py::tuple(py::cast(port->greatest));
    one["dims"] = py::tuple(dims);
    out.append(one);
  }
  return out;
}

py::dict Model::dims() const {
  py::dict out;
  for (const graph::NamedDimension& dim : model_->dims())
    out[py::str(dim.var->name)] = py::make_tuple(dim.low, dim.high, dim.multiple_of);
  return out;
}

void Model::set_affinity(const std::vector<int>& cpus) {
  absl::Status done;
  {
    const WithoutGil released;
    const std::scoped_lock lock(running_);
    done = model_->set_affinity(cpus);
  }
  check(done);
}

absl::Status Model::run_on(const std::vector<Argument>& inputs, const std::vector<void*>& outputs) {
  std::vector<tf_tensor> tensors;
  tensors.reserve(inputs.size() + 1);
  for (const Argument& input : inputs) tensors.push_back({const_cast<void*>(input.data), input.shape.data()});
  return model_->run_on(tensors, outputs);
}

void Model::check_apart(const std::vector<Argument>& inputs, const Argument& output, size_t index) const {
  const int64_t bytes = bytes_of(outputs_[index]->element, output.shape);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (overlap(inputs[i].data, bytes_of(inputs_[i]->element, inputs[i].shape), output.data, bytes))
      throw py::value_error(absl::StrCat("the array for ", outputs_[index]->what, " shares memory with ",
                                         inputs_[i]->what, ": give another one, or a copy"));
  }
}

py::list Model::run_fixed(const std::vector<Argument>& inputs, const py::object& out) {
  py::list arrays;
  std::vector<void*> data;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const py::object given = out.is_none() ? py::none() : py::object(out[py::int_(i)]);
    if (given.is_none()) {
      const Port& port = *outputs_[i];
      Bytes bytes = allocate(static_cast<uint64_t>(bytes_of(port.element, port.greatest)));
      if (bytes == nullptr) throw std::bad_alloc();
      data.push_back(bytes.get());
      arrays.append(array_of(std::move(bytes), port.element, port.greatest));
      continue;
    }
    const Argument output = write_argument(given, outputs_[i]->wanted);
    check_apart(inputs, output, i);
    data.push_back(const_cast<void*>(output.data));
    arrays.append(given);
  }
  absl::Status done;
  {
    const WithoutGil released;
    const std::scoped_lock lock(running_);
    done = run_on(inputs, data);
  }
  check(done);
  return arrays;
}

py::list Model::run_sized(const std::vector<Argument>& inputs, const py::object& out) {
  std::vector<Bytes> copies;
  std::vector<Shape> shapes;
  absl::Status done;
  {
    const WithoutGil released;
    const std::scoped_lock lock(running_);
    done = run_on(inputs, {});
    // The results are the model's until its next run.
    for (size_t i = 0; done.ok() && i < outputs_.size(); ++i) {
      const tf_tensor& result = model_->results()[i];
      shapes.emplace_back(result.extents, result.extents + outputs_[i]->greatest.size());
      const auto bytes = static_cast<size_t>(bytes_of(outputs_[i]->element, shapes.back()));
      copies.push_back(allocate(bytes));
      if (copies.back() == nullptr)
        done = absl::ResourceExhaustedError("there is no memory for the outputs");
      else
        std::memcpy(copies.back().get(), result.data, bytes);
    }
  }
  check(done);
  py::list arrays;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const py::object given = out.is_none() ? py::none() : py::object(out[py::int_(i)]);
    if (given.is_none()) {
      arrays.append(array_of(std::move(copies[i]), outputs_[i]->element, shapes[i]));
      continue;
    }
    const Wanted wanted = {.what = outputs_[i]->what,
                           .element = outputs_[i]->element,
                           .fits = [&](const Shape& shape) { return shape == shapes[i]; },
                           .shape_text = [&] { return type_text("", shapes[i]); }};
    const Argument output = write_argument(given, wanted);
    std::memcpy(const_cast<void*>(output.data), copies[i].get(),
                static_cast<size_t>(bytes_of(outputs_[i]->element, shapes[i])));
    arrays.append(given);
  }
  return arrays;
}

py::list Model::run(const py::list& inputs, const py::object& out) {
  if (inputs.size() != inputs_.size())
    throw py::type_error(
        absl::StrCat("the model has ", inputs_.size(), " inputs, but ", inputs.size(), " are given"));
  if (!out.is_none() && py::len(out) != outputs_.size())
    throw py::type_error(
        absl::StrCat("the model has ", outputs_.size(), " outputs, but out= has ", py::len(out), " arrays"));
  std::vector<Argument> arguments;
  arguments.reserve(inputs_.size());
  for (size_t i = 0; i < inputs_.size(); ++i)
    arguments.push_back(read_argument(inputs[i], inputs_[i]->wanted));
  return model_->has_sizes() ? run_sized(arguments, out) : run_fixed(arguments, out);
}

void add_model(py::module_& module) {
  py::class_<Model>(module, "Model")
      .def(py::init<const std::string&, int>(), py::arg("folder"), py::arg("threads"))
      .def_property_readonly("inputs", &Model::inputs)
      .def_property_readonly("outputs", &Model::outputs)
      .def_property_readonly("dims", &Model::dims)
      .def_property_readonly("flops", &Model::flops)
      .def("set_affinity", &Model::set_affinity, py::arg("cpus"))
      .def("run", &Model::run, py::arg("inputs"), py::arg("out"));
  module.def(
      "empty",
      [](const Shape& shape, const std::string& dtype) {
        const tensor::Element element = value(tensor::element_from_name(dtype));
        Bytes bytes = allocate(static_cast<uint64_t>(bytes_of(element, shape)));
        if (bytes == nullptr) throw std::bad_alloc();
        return array_of(std::move(bytes), element, shape);
      },
      py::arg("shape"), py::arg("dtype"));
  module.def(
      "is_aligned", [](const py::array& array) { return is_aligned(array.data()); }, py::arg("array"));
}

}  // namespace tf::python
