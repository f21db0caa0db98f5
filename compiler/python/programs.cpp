#include "compiler/python/programs.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/digest.h"
#include "base/unix_time.h"
#include "compiler/driver/wire.h"
#include "compiler/python/errors.h"
#include "compiler/runtime/cpu_limit.h"
#include "compiler/schedule/numerics.h"
#include "compiler/schedule/schedule.h"
#include "proto/farm/v1/trial.pb.h"

namespace py = pybind11;

namespace tf::python {
namespace {

namespace proto = tunefarm::kernel::v1;
namespace farm = tunefarm::farm::v1;

constexpr uint64_t kInputSeed = 1;
constexpr int64_t kRunTimeoutNs = 10'000'000'000;

// The numbers of outcomes are those of records.
static_assert(static_cast<int>(database::Outcome::kOk) == farm::OUTCOME_OK);
static_assert(static_cast<int>(database::Outcome::kOutOfMemory) == farm::OUTCOME_OUT_OF_MEMORY);

// A status of a call without the GIL, as an exception.
template <typename T>
T taken(absl::StatusOr<T> result) {
  if (result.ok()) return *std::move(result);
  const py::gil_scoped_acquire held;
  raise(result.status());
}

farm::Trial trial_of(const Problem& problem, const Artifact& candidate, const Artifact* reference,
                     const MeasureOptions& options) {
  farm::Trial trial;
  trial.set_artifact_digest(candidate.digest);
  if (reference != nullptr) trial.set_reference_digest(reference->digest);
  trial.set_input_seed(kInputSeed);
  trial.set_threads(static_cast<uint32_t>(problem.spec().threads));
  farm::MeasureOptions& measure = *trial.mutable_options();
  measure.set_samples(options.samples);
  measure.set_min_sample_ns(1'000'000);
  measure.set_enough_ns(static_cast<int64_t>(1e9 * options.seconds));
  measure.set_warmup_ns(500'000);
  measure.set_cache_mode(farm::CACHE_MODE_ROTATE);
  trial.mutable_limits()->set_run_timeout_ns(kRunTimeoutNs);
  trial.mutable_limits()->set_memory_bytes(2ull << 30);
  trial.mutable_limits()->set_output_bytes(4096);
  return trial;
}

database::Measurement record_of(const Problem& problem, const std::string& schedule,
                                const Artifact& candidate, const MeasureOptions& options,
                                const farm::TrialResult& result) {
  database::Measurement record;
  record.problem = tensor::key_of(problem.spec());
  record.schedule = schedule;
  record.semantics_version = schedule::kSemanticsVersion;
  record.sketch_hash = options.sketch_hash;
  record.choices = options.choices;
  const auto& numerics = candidate.reply.artifact().manifest().numerics();
  record.numerics.assign(numerics.begin(), numerics.end());
  record.untuned = schedule == problem.default_schedule();
  record.outcome = static_cast<database::Outcome>(result.outcome());
  record.detail = result.detail();
  for (const farm::Sample& sample : result.samples())
    record.samples.push_back({sample.total_ns(), sample.iterations()});
  record.cache_mode = database::CacheMode::kRotate;
  record.max_error = result.max_error();
  const farm::DeviceState& device = result.device();
  record.device = {.device_class = "local",
                   .fingerprint = device.fingerprint(),
                   .model = device.model(),
                   .clock_mhz = device.clock_mhz(),
                   .temperature_c = device.temperature_c(),
                   .throttled = device.throttled(),
                   .governor = device.governor(),
                   .load_1min = device.load_1min()};
  record.artifact_digest = candidate.digest;
  record.code_digest = candidate.reply.code_digest();
  record.finished_unix_ns = now_unix_ns();
  return record;
}

}  // namespace

Programs::Programs(const std::string& folder) : folder_(folder) {
  for (const char* name : {"build_worker", "trial_worker"}) {
    std::error_code error;
    if (!std::filesystem::exists(folder + "/" + name, error))
      check(
          absl::NotFoundError(absl::StrCat("there is no ", name, " in ", folder,
                                           ": set TUNEFARM_PROGRAMS to the folder of Tunefarm's programs")));
  }
  pool_ = value(driver::BuildPool::create(
      {.workers = std::max(1, tf_usable_cpus()), .worker_path = folder + "/build_worker"}));
}

proto::BuildReply Programs::ask(const proto::BuildRequest& request) {
  proto::BuildReply reply = taken(pool_->build(request));
  if (reply.code() != 0)
    taken<int>(absl::Status(static_cast<absl::StatusCode>(reply.code()), reply.message()));
  return reply;
}

ArtifactRef Programs::built(const proto::BuildRequest& request) {
  auto artifact = std::make_shared<Artifact>();
  artifact->reply = ask(request);
  artifact->bytes = artifact->reply.artifact().SerializeAsString();
  artifact->digest = sha256(artifact->bytes).hex();
  return artifact;
}

ArtifactRef Programs::build(const Problem& problem, const std::string& schedule) {
  return built(driver::kernel_request(problem.spec(), problem.target(), schedule));
}

ArtifactRef Programs::reference(const Problem& problem) {
  return built(driver::reference_request(problem.spec(), problem.target()));
}

std::pair<std::string, std::string> Programs::show(const Problem& problem, const std::string& schedule,
                                                   bool assembly) {
  proto::BuildRequest request;
  *request.mutable_show()->mutable_kernel() =
      driver::kernel_request(problem.spec(), problem.target(), schedule).kernel();
  request.mutable_show()->set_ir(!assembly);
  request.mutable_show()->set_assembly(assembly);
  proto::BuildReply reply = ask(request);
  return {std::move(*reply.mutable_ir()), std::move(*reply.mutable_assembly())};
}

std::vector<std::pair<std::string, std::string>> Programs::passes(const Problem& problem,
                                                                  const std::string& schedule,
                                                                  const std::string& pass) {
  proto::BuildRequest request;
  *request.mutable_show()->mutable_kernel() =
      driver::kernel_request(problem.spec(), problem.target(), schedule).kernel();
  request.mutable_show()->set_print_after(pass);
  std::vector<std::pair<std::string, std::string>> out;
  for (const proto::PassOutput& output : ask(request).after_passes())
    out.emplace_back(output.pass(), output.ir());
  return out;
}

worker::Worker& Programs::sandbox() {
  const std::scoped_lock lock(starting_);
  if (sandbox_ == nullptr)
    sandbox_ = taken(
        worker::Worker::start({.program = folder_ + "/trial_worker", .sandbox = worker::kOwnCandidates}));
  return *sandbox_;
}

database::Measurement Programs::measure(const Problem& problem, const std::string& schedule,
                                        const ArtifactRef& candidate, const ArtifactRef& reference,
                                        const MeasureOptions& options) {
  const farm::TrialResult result =
      taken(sandbox().run(trial_of(problem, *candidate, reference.get(), options), candidate->bytes,
                          reference ? reference->bytes : std::string()));
  return record_of(problem, schedule, *candidate, options, result);
}

void add_programs(py::module_& module) {
  using Released = py::call_guard<py::gil_scoped_release>;
  py::class_<Artifact, std::shared_ptr<Artifact>>(module, "Artifact")
      .def_property_readonly("size_bytes", [](const Artifact& artifact) { return artifact.bytes.size(); })
      .def_property_readonly(
          "tolerance",
          [](const Artifact& artifact) { return artifact.reply.artifact().manifest().tolerance(); })
      .def(
          "load",
          [](const Artifact& artifact, int threads) {
            return std::make_unique<Kernel>(artifact.reply.artifact(), threads);
          },
          py::arg("threads"));
  py::class_<Programs>(module, "Programs")
      .def(py::init<const std::string&>(), py::arg("folder"))
      .def(
          "build",
          [](Programs& programs, const Problem& problem, const std::string& schedule) {
            return std::const_pointer_cast<Artifact>(programs.build(problem, schedule));
          },
          py::arg("problem"), py::arg("schedule"), Released())
      .def(
          "reference",
          [](Programs& programs, const Problem& problem) {
            return std::const_pointer_cast<Artifact>(programs.reference(problem));
          },
          py::arg("problem"), Released())
      .def("show", &Programs::show, py::arg("problem"), py::arg("schedule"), py::arg("assembly"), Released())
      .def("passes", &Programs::passes, py::arg("problem"), py::arg("schedule"), py::arg("print_after"),
           Released())
      .def(
          "measure",
          [](Programs& programs, const Problem& problem, const std::string& schedule,
             const std::shared_ptr<Artifact>& candidate, const std::shared_ptr<Artifact>& reference,
             uint32_t samples, double seconds, const std::string& sketch_hash,
             const std::vector<int64_t>& choices) {
            return programs.measure(
                problem, schedule, candidate, reference,
                {.samples = samples, .seconds = seconds, .sketch_hash = sketch_hash, .choices = choices});
          },
          py::arg("problem"), py::arg("schedule"), py::arg("candidate"), py::arg("reference"),
          py::arg("samples"), py::arg("seconds"), py::arg("sketch_hash"), py::arg("choices"), Released());
}

}  // namespace tf::python
