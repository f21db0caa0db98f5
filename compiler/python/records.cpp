#include "compiler/python/records.h"

#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/status.h"
#include "compiler/python/errors.h"
#include "compiler/python/gil.h"
#include "compiler/python/problem.h"
#include "database/record.h"
#include "database/record_json.h"
#include "database/sqlite/sqlite_store.h"

namespace py = pybind11;

namespace tf::python {
namespace {

using database::Measurement;

// A database that this process writes to: no other does meanwhile.
class Database {
 public:
  explicit Database(std::unique_ptr<database::Store> store) : store_(std::move(store)) {}

  absl::Status insert(const Problem& problem, const Measurement& record) {
    TF_RETURN_IF_ERROR(store_->add_workload({problem.workload(), problem.label(), problem.flops()}));
    return store_->insert(record).status();
  }

 private:
  const std::unique_ptr<database::Store> store_;
};

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
  py::class_<Database>(module, "Database")
      .def(
          py::init([](const std::string& path) {
            return std::make_unique<Database>(without_gil([&] { return database::open_sqlite_store(path); }));
          }),
          py::arg("path"))
      .def(
          "insert",
          [](Database& database, const Problem& problem, const Measurement& record) {
            check([&] {
              const WithoutGil released;
              return database.insert(problem, record);
            }());
          },
          py::arg("problem"), py::arg("record"));
}

}  // namespace tf::python
