#include "compiler/python/problem.h"

#include <pybind11/stl.h>

#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/python/errors.h"
#include "compiler/recipes/recipes.h"
#include "compiler/schedule/numerics.h"
#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"

namespace py = pybind11;

namespace tf::python {
namespace {

tensor::Workload parsed(const std::string& text) {
  tensor::Workload workload = value(tensor::parse_workload(text));
  check(tensor::verify(workload));
  return workload;
}

py::dict described(const tensor::BufferNode& buffer, const std::string& name) {
  py::list shape;
  for (const tensor::Expr& extent : buffer.extents) shape.append(tensor::as_int(extent).value_or(-1));
  py::dict out;
  out["name"] = name;
  out["dtype"] = std::string(tensor::element_name(buffer.element));
  out["shape"] = py::tuple(shape);
  return out;
}

// Its word in the text of a step.
std::string annotation_name(schedule::Annotation annotation) {
  const std::string text = schedule::to_string(schedule::Step(schedule::Annotate{"s", "l", annotation}));
  return std::string(absl::StripAsciiWhitespace(text.substr(text.rfind(' '))));
}

std::string place_of(const schedule::StageState& stage) {
  if (stage.place == schedule::StageState::Place::kInlined) return "inlined";
  if (stage.place == schedule::StageState::Place::kRoot) return "root";
  return absl::StrCat(stage.consumer, " ", stage.consumer_loop);
}

schedule::State applied(const tensor::Workload& workload, const std::string& text) {
  absl::StatusOr<schedule::State> state = schedule::apply(workload, value(schedule::parse_schedule(text)));
  if (!state.ok()) raise_illegal(state.status());
  return *std::move(state);
}

}  // namespace

Problem::Problem(const std::string& workload, const tensor::Binding& binding, const std::string& target,
                 int threads, const std::vector<std::string>& allow, const std::string& label,
                 const Surroundings& around) {
  const tensor::Workload given = parsed(workload);
  check(tensor::bind(given, binding).status());
  if (threads < 1) throw py::value_error(absl::StrCat("threads is ", threads, ", but must be at least 1"));
  spec_.workload = parsed(tensor::canonical_text(given));
  spec_.workload.label = label;
  spec_.binding = tensor::canonical_binding(given, binding);
  spec_.target = value(target::parse_target(target));
  spec_.threads = threads;
  spec_.allowed = value(schedule::parse_numerics(absl::StrJoin(allow, ",")));
  bound_ = value(tensor::bind(spec_.workload, spec_.binding));
  spec_.ports = value(tensor::parse_ports(bound_, around.in_layouts, around.out_layouts));
  spec_.reuse_distance_bytes = around.reuse_distance_bytes;
}

std::string Problem::workload() const {
  return tensor::canonical_text(spec_.workload);
}

std::string Problem::key() const {
  return tensor::workload_key(spec_.workload).hex();
}

py::list Problem::inputs() const {
  py::list out;
  for (size_t i = 0; i < bound_.inputs.size(); ++i) {
    py::dict one = described(*bound_.inputs[i].buffer, absl::StrCat("p", i));
    one["constant"] = bound_.inputs[i].constant;
    out.append(one);
  }
  return out;
}

py::list Problem::outputs() const {
  py::list out;
  for (const tensor::Buffer& output : bound_.outputs) {
    size_t stage = 0;
    while (bound_.stages[stage].output.get() != output.get()) ++stage;
    out.append(described(*output, absl::StrCat("t", stage)));
  }
  return out;
}

double Problem::flops() const {
  return tensor::count_flops(bound_);
}

double Problem::bytes() const {
  return tensor::count_bytes(bound_);
}

std::string Problem::default_schedule() const {
  tensor::KernelSpec bound = spec_;
  bound.workload = bound_;
  return schedule::to_string(recipes::default_schedule(bound));
}

void Problem::check_runs_here() const {
  if (spec_.target.arch == target::host_target().arch && spec_.target.is_hosted()) return;
  check(absl::FailedPreconditionError(absl::StrCat(
      "a kernel for ", spec_.target.text(), " cannot run on this machine's CPU: take the target 'host'")));
}

std::string Problem::checked(const std::string& schedule) const {
  applied(bound_, schedule);
  return schedule::to_string(value(schedule::parse_schedule(schedule)));
}

py::list Problem::stages(const std::string& schedule) const {
  const schedule::State state = applied(bound_, schedule);
  py::list out;
  for (const schedule::StageState& stage : state.stages()) {
    py::list loops;
    for (const schedule::Loop& loop : stage.loops) {
      py::dict one;
      one["name"] = loop.name;
      one["extent"] = static_cast<int64_t>(loop.extent);
      one["kind"] = annotation_name(loop.annotation);
      one["reduce"] = loop.reduce;
      loops.append(one);
    }
    py::dict one;
    one["name"] = stage.name;
    one["place"] = place_of(stage);
    one["loops"] = loops;
    out.append(one);
  }
  return out;
}

std::string canonical_workload(const std::string& text) {
  return tensor::canonical_text(parsed(text));
}

void add_problem(py::module_& module) {
  py::class_<Problem>(module, "Problem")
      .def(py::init([](const std::string& workload, const tensor::Binding& binding, const std::string& target,
                       int threads, const std::vector<std::string>& allow, const std::string& label,
                       const std::vector<std::string>& in_layouts,
                       const std::vector<std::string>& out_layouts, uint64_t reuse_distance_bytes) {
             return std::make_unique<Problem>(workload, binding, target, threads, allow, label,
                                              Surroundings{in_layouts, out_layouts, reuse_distance_bytes});
           }),
           py::arg("workload"), py::arg("binding"), py::arg("target"), py::arg("threads"), py::arg("allow"),
           py::arg("label"), py::arg("in_layouts"), py::arg("out_layouts"), py::arg("reuse_distance_bytes"))
      .def_property_readonly("workload", &Problem::workload)
      .def_property_readonly("target", &Problem::target)
      .def_property_readonly("key", &Problem::key)
      .def_property_readonly("threads", [](const Problem& problem) { return problem.spec().threads; })
      .def_property_readonly("inputs", &Problem::inputs)
      .def_property_readonly("outputs", &Problem::outputs)
      .def_property_readonly("flops", &Problem::flops)
      .def_property_readonly("bytes", &Problem::bytes)
      .def("default_schedule", &Problem::default_schedule)
      .def("check_runs_here", &Problem::check_runs_here)
      .def("checked", &Problem::checked, py::arg("schedule"))
      .def("stages", &Problem::stages, py::arg("schedule"));
  module.def("canonical_workload", &canonical_workload, py::arg("text"));
}

}  // namespace tf::python
