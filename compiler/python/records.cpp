#include "compiler/python/records.h"

#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "compiler/python/errors.h"
#include "compiler/python/problem.h"
#include "database/record.h"
#include "database/record_json.h"
#include "database/sqlite/sqlite_store.h"

namespace py = pybind11;

namespace tf::python {
namespace {

using database::Measurement;

absl::Status insert(const std::string& path, const Problem& problem,
                    const std::vector<Measurement>& records) {
  TF_ASSIGN_OR_RETURN(const auto store, database::open_sqlite_store(path));
  TF_RETURN_IF_ERROR(store->add_workload({problem.workload(), problem.label(), problem.flops()}));
  for (const Measurement& record : records) TF_RETURN_IF_ERROR(store->insert(record).status());
  return absl::OkStatus();
}

}  // namespace

void add_records(py::module_& module) {
  py::class_<Measurement>(module, "Measurement")
      .def_property_readonly(
          "outcome", [](const Measurement& m) { return std::string(database::outcome_name(m.outcome)); })
      .def_readonly("detail", &Measurement::detail)
      .def_readonly("schedule", &Measurement::schedule)
      .def_readonly("max_error", &Measurement::max_error)
      .def_readonly("untuned", &Measurement::untuned)
      .def_readonly("numerics", &Measurement::numerics)
      .def_property_readonly("median_ns", [](const Measurement& m) { return m.median_ns(); })
      .def_property_readonly("interval_ns",
                             [](const Measurement& m) -> std::optional<std::pair<double, double>> {
                               const std::optional<database::Interval> bounds = m.interval_ns();
                               if (!bounds) return std::nullopt;
                               return std::make_pair(bounds->low_ns, bounds->high_ns);
                             })
      .def_property_readonly("samples_ns", [](const Measurement& m) { return database::runs_ns(m.samples); })
      .def_property_readonly("device", [](const Measurement& m) { return m.device.model; })
      .def_property_readonly("json", [](const Measurement& m) { return database::to_json_with_bounds(m); });
  module.def(
      "insert_records",
      [](const std::string& path, const Problem& problem, const std::vector<Measurement>& records) {
        absl::Status done;
        {
          const py::gil_scoped_release released;
          done = insert(path, problem, records);
        }
        check(done);
      },
      py::arg("path"), py::arg("problem"), py::arg("records"));
}

}  // namespace tf::python
