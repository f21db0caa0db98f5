#include "compiler/python/programs.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status.h"
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
  measure.set_reuse_distance_bytes(problem.spec().reuse_distance_bytes);
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

absl::StatusOr<std::unique_ptr<Programs>> Programs::open(const std::string& folder) {
  for (const char* name : {"build_worker", "trial_worker"}) {
    std::error_code error;
    if (!std::filesystem::exists(folder + "/" + name, error))
      return absl::NotFoundError(
          absl::StrCat("there is no ", name, " in ", folder,
                       ": set TUNEFARM_PROGRAMS to the folder of Tunefarm's programs"));
  }
  TF_ASSIGN_OR_RETURN(auto pool, driver::BuildPool::create({.workers = std::max(1, tf_usable_cpus()),
                                                            .worker_path = folder + "/build_worker"}));
  return std::unique_ptr<Programs>(new Programs(folder, std::move(pool)));
}

absl::StatusOr<proto::BuildReply> Programs::ask(const proto::BuildRequest& request) {
  TF_ASSIGN_OR_RETURN(proto::BuildReply reply, pool_->build(request));
  if (reply.code() == 0) return reply;
  // Workloads and steps were checked before: what does not compile is no wrong value, unless it is a pass's name.
  const auto code = static_cast<absl::StatusCode>(reply.code());
  const bool is_value = code != absl::StatusCode::kInvalidArgument || !request.show().print_after().empty();
  return absl::Status(is_value ? code : absl::StatusCode::kFailedPrecondition, reply.message());
}

absl::StatusOr<ArtifactRef> Programs::built(const proto::BuildRequest& request) {
  auto artifact = std::make_shared<Artifact>();
  TF_ASSIGN_OR_RETURN(artifact->reply, ask(request));
  artifact->bytes = artifact->reply.artifact().SerializeAsString();
  artifact->digest = sha256(artifact->bytes).hex();
  return artifact;
}

absl::StatusOr<ArtifactRef> Programs::build(const Problem& problem, const std::string& schedule) {
  return built(driver::kernel_request(problem.spec(), problem.target(), schedule));
}

absl::StatusOr<ArtifactRef> Programs::reference(const Problem& problem) {
  return built(driver::reference_request(problem.spec(), problem.target()));
}

absl::StatusOr<std::string> Programs::show(const Problem& problem, const std::string& schedule,
                                           bool assembly) {
  proto::BuildRequest request;
  *request.mutable_show()->mutable_kernel() =
      driver::kernel_request(problem.spec(), problem.target(), schedule).kernel();
  request.mutable_show()->set_ir(!assembly);
  request.mutable_show()->set_assembly(assembly);
  TF_ASSIGN_OR_RETURN(const proto::BuildReply reply, ask(request));
  return assembly ? reply.assembly() : reply.ir();
}

absl::StatusOr<std::vector<std::pair<std::string, std::string>>> Programs::passes(const Problem& problem,
                                                                                  const std::string& schedule,
                                                                                  const std::string& pass) {
  proto::BuildRequest request;
  *request.mutable_show()->mutable_kernel() =
      driver::kernel_request(problem.spec(), problem.target(), schedule).kernel();
  request.mutable_show()->set_print_after(pass);
  TF_ASSIGN_OR_RETURN(const proto::BuildReply reply, ask(request));
  std::vector<std::pair<std::string, std::string>> out;
  for (const proto::PassOutput& output : reply.after_passes()) out.emplace_back(output.pass(), output.ir());
  return out;
}

absl::StatusOr<worker::Worker*> Programs::sandbox() {
  const std::scoped_lock lock(starting_);
  if (sandbox_ == nullptr) {
    TF_ASSIGN_OR_RETURN(sandbox_, worker::Worker::start({.program = folder_ + "/trial_worker",
                                                         .sandbox = worker::kOwnCandidates}));
  }
  return sandbox_.get();
}

absl::StatusOr<database::Measurement> Programs::measure(const Problem& problem, const std::string& schedule,
                                                        const Artifact& candidate, const Artifact* reference,
                                                        const MeasureOptions& options) {
  TF_ASSIGN_OR_RETURN(worker::Worker* const worker, sandbox());
  TF_ASSIGN_OR_RETURN(const farm::TrialResult result,
                      worker->run(trial_of(problem, candidate, reference, options), candidate.bytes,
                                  reference != nullptr ? reference->bytes : std::string()));
  return record_of(problem, schedule, candidate, options, result);
}

void add_programs(py::module_& module) {
  py::class_<Artifact, ArtifactRef>(module, "Artifact")
      .def_property_readonly("size_bytes", [](const Artifact& artifact) { return artifact.bytes.size(); })
      .def(
          "load",
          [](const Artifact& artifact, int threads) {
            return std::make_unique<Kernel>(artifact.reply.artifact(), threads);
          },
          py::arg("threads"));
  py::class_<Programs>(module, "Programs")
      .def(py::init([](const std::string& folder) { return value(Programs::open(folder)); }),
           py::arg("folder"))
      .def(
          "build",
          [](Programs& programs, const Problem& problem, const std::string& schedule) {
            return without_gil([&] { return programs.build(problem, schedule); });
          },
          py::arg("problem"), py::arg("schedule"))
      .def(
          "reference",
          [](Programs& programs, const Problem& problem) {
            return without_gil([&] { return programs.reference(problem); });
          },
          py::arg("problem"))
      .def(
          "show",
          [](Programs& programs, const Problem& problem, const std::string& schedule, bool assembly) {
            return without_gil([&] { return programs.show(problem, schedule, assembly); });
          },
          py::arg("problem"), py::arg("schedule"), py::arg("assembly"))
      .def(
          "passes",
          [](Programs& programs, const Problem& problem, const std::string& schedule,
             const std::string& pass) {
            return without_gil([&] { return programs.passes(problem, schedule, pass); });
          },
          py::arg("problem"), py::arg("schedule"), py::arg("print_after"))
      .def(
          "measure",
          [](Programs& programs, const Problem& problem, const std::string& schedule,
             const ArtifactRef& candidate, const ArtifactRef& reference, uint32_t samples, double seconds,
             const std::string& sketch_hash, const std::vector<int64_t>& choices) {
            const MeasureOptions options = {
                .samples = samples, .seconds = seconds, .sketch_hash = sketch_hash, .choices = choices};
            return without_gil(
                [&] { return programs.measure(problem, schedule, *candidate, reference.get(), options); });
          },
          py::arg("problem"), py::arg("schedule"), py::arg("candidate"), py::arg("reference"),
          py::arg("samples"), py::arg("seconds"), py::arg("sketch_hash"), py::arg("choices"));
}

}  // namespace tf::python
