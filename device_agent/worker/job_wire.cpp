#include "device_agent/worker/job_wire.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "compiler/runtime/axis_map.h"
#include "compiler/runtime/kernel_abi.h"
#include "proto/farm/v1/trial.pb.h"
#include "proto/kernel/v1/kernel.pb.h"

namespace tf::worker {
namespace {

namespace kernel = tunefarm::kernel::v1;
namespace farm = tunefarm::farm::v1;
using sandbox::Job;
using sandbox::PortJob;
using sandbox::Role;

constexpr uint64_t kMaxPortBytes = uint64_t{1} << 36;
constexpr double kDefaultTolerance = 1e-5;

int32_t element_bytes(kernel::ElementType element) {
  switch (element) {
    case kernel::ELEMENT_TYPE_BOOL:
    case kernel::ELEMENT_TYPE_INT8:
    case kernel::ELEMENT_TYPE_UINT8:
      return 1;
    case kernel::ELEMENT_TYPE_FLOAT16:
    case kernel::ELEMENT_TYPE_BFLOAT16:
    case kernel::ELEMENT_TYPE_INT16:
    case kernel::ELEMENT_TYPE_UINT16:
      return 2;
    case kernel::ELEMENT_TYPE_INT32:
    case kernel::ELEMENT_TYPE_UINT32:
    case kernel::ELEMENT_TYPE_FLOAT32:
      return 4;
    case kernel::ELEMENT_TYPE_INT64:
    case kernel::ELEMENT_TYPE_UINT64:
    case kernel::ELEMENT_TYPE_FLOAT64:
      return 8;
    default:
      return 0;
  }
}

bool is_real(kernel::ElementType element) {
  return element == kernel::ELEMENT_TYPE_FLOAT16 || element == kernel::ELEMENT_TYPE_BFLOAT16 ||
         element == kernel::ELEMENT_TYPE_FLOAT32 || element == kernel::ELEMENT_TYPE_FLOAT64;
}

bool is_unsigned(kernel::ElementType element) {
  return element == kernel::ELEMENT_TYPE_UINT8 || element == kernel::ELEMENT_TYPE_UINT16 ||
         element == kernel::ELEMENT_TYPE_UINT32 || element == kernel::ELEMENT_TYPE_UINT64;
}

absl::Status bad_port(const kernel::Port& port, std::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("port '", printable(port.name()), "' ", absl::string_view(why.data(), why.size())));
}

absl::Status set_domain(const kernel::Port& port, PortJob* job) {
  if (port.has_domain()) {
    job->low = port.domain().low();
    job->high = port.domain().high();
  } else if (is_real(port.element())) {
    job->low = -1;
    job->high = 1;
  } else if (port.element() == kernel::ELEMENT_TYPE_BOOL) {
    job->high = 1;
  } else {
    job->low = is_unsigned(port.element()) ? 0 : -16;
    job->high = 15;
  }
  if (!std::isfinite(job->low) || !std::isfinite(job->high) || job->low > job->high) {
    return bad_port(
        port, absl::StrCat("has the domain ", job->low, " to ", job->high, ", which is empty or not finite"));
  }
  if (!is_real(port.element()) && (std::abs(job->low) > 0x1p31 || std::abs(job->high) > 0x1p31)) {
    return bad_port(port, "has an integer domain beyond 32 bits");
  }
  return absl::OkStatus();
}

absl::Status set_stored_element(const kernel::Port& port, PortJob* job) {
  const bool narrowed = port.stored_element() != kernel::ELEMENT_TYPE_UNSPECIFIED;
  const kernel::ElementType stored = narrowed ? port.stored_element() : port.element();
  job->stored_element = static_cast<int32_t>(stored);
  job->stored_bytes = element_bytes(stored);
  const bool possible = port.role() == kernel::PORT_ROLE_CONSTANT &&
                        port.element() == kernel::ELEMENT_TYPE_FLOAT32 &&
                        (stored == kernel::ELEMENT_TYPE_FLOAT16 || stored == kernel::ELEMENT_TYPE_BFLOAT16);
  if (!narrowed || possible) return absl::OkStatus();
  return bad_port(port, "has another stored element than f16 or bf16 of an f32 constant");
}

// The extents after the constant's maps.
absl::Status set_maps(const kernel::Port& port, PortJob* job, int64_t* extents) {
  std::copy(job->extents, job->extents + job->rank, extents);
  if (port.maps_size() == 0) return absl::OkStatus();
  if (port.maps_size() > static_cast<int>(sandbox::kMaxMaps) || port.role() != kernel::PORT_ROLE_CONSTANT ||
      port.element() != kernel::ELEMENT_TYPE_FLOAT32) {
    return bad_port(
        port, absl::StrCat("has ", port.maps_size(), " maps; f32 constants may have ", sandbox::kMaxMaps));
  }
  for (const kernel::AxisMap& map : port.maps()) {
    const tf_axis_map plain = {map.axis(), map.rows(), map.matrix().data()};
    const bool fits =
        map.matrix_size() <= static_cast<int>(sandbox::kMaxMapElems) &&
        tf_fit_axis_map(&plain, map.matrix_size(), extents, job->rank, kMaxPortBytes / sizeof(float)) != 0;
    if (!fits)
      return bad_port(port,
                      "has a map whose matrix does not fit its axis, or with more than 64 GiB on its way");
    sandbox::MapJob& out = job->maps[job->map_count++];
    out.axis = map.axis();
    out.rows = map.rows();
    std::copy(map.matrix().begin(), map.matrix().end(), out.matrix);
  }
  return absl::OkStatus();
}

absl::Status set_shape(const kernel::Port& port, PortJob* job) {
  if (port.extents_size() > TF_LAYOUT_MAX_RANK) {
    return bad_port(port, absl::StrCat("has ", port.extents_size(), " axes, at most 8 are supported"));
  }
  job->rank = port.extents_size();
  std::copy(port.extents().begin(), port.extents().end(), job->extents);
  if (std::any_of(job->extents, job->extents + job->rank, [](int64_t e) { return e < 1; })) {
    return bad_port(port, "has an extent below 1");
  }
  int64_t stored[TF_LAYOUT_MAX_RANK];
  TF_RETURN_IF_ERROR(set_maps(port, job, stored));
  if (tf_layout_parse(port.layout().c_str(), job->rank, &job->layout) != 0) {
    return bad_port(port, absl::StrCat("has the layout '", printable(port.layout()),
                                       "', which does not have rank ", job->rank));
  }
  tf_layout row_major;
  tf_layout_parse("", job->rank, &row_major);
  job->row_major = job->layout.axis_count == row_major.axis_count;
  for (int32_t i = 0; job->row_major && i < job->rank; ++i) {
    job->row_major = job->layout.axes[i].axis == i && job->layout.axes[i].block == 0;
  }
  const int64_t logical = tf_layout_elements(&row_major, job->extents, job->rank);
  const int64_t physical = tf_layout_elements(&job->layout, stored, job->rank);
  const auto width = static_cast<uint64_t>(job->stored_bytes);
  const auto largest = kMaxPortBytes / static_cast<uint64_t>(job->element_bytes);
  if (logical < 0 || physical < 0 || static_cast<uint64_t>(physical) > largest) {
    return bad_port(port, "is larger than 64 GiB");
  }
  job->logical_bytes = static_cast<uint64_t>(logical) * static_cast<uint64_t>(job->element_bytes);
  if (port.size_bytes() != static_cast<uint64_t>(physical) * width) {
    return bad_port(port,
                    absl::StrCat("states ", port.size_bytes(), " bytes, but its extents and layout give ",
                                 static_cast<uint64_t>(physical) * width));
  }
  job->size_bytes = port.size_bytes();
  return absl::OkStatus();
}

absl::StatusOr<PortJob> make_port(const kernel::Port& port) {
  PortJob job = {};
  switch (port.role()) {
    case kernel::PORT_ROLE_INPUT:
      job.role = Role::kInput;
      break;
    case kernel::PORT_ROLE_CONSTANT:
      job.role = Role::kConstant;
      break;
    case kernel::PORT_ROLE_OUTPUT:
      job.role = Role::kOutput;
      break;
    default:
      return bad_port(port, "does not have a role");
  }
  job.element = static_cast<int32_t>(port.element());
  job.element_bytes = element_bytes(port.element());
  if (job.element_bytes == 0) return bad_port(port, "has an unknown element type");
  TF_RETURN_IF_ERROR(set_stored_element(port, &job));
  TF_RETURN_IF_ERROR(set_shape(port, &job));
  TF_RETURN_IF_ERROR(set_domain(port, &job));
  return job;
}

// What the sums are of, among the ports before, and that their own shape follows.
absl::Status set_sums(const kernel::Port& port, const Job& before, PortJob* job) {
  if (!port.has_sums()) return absl::OkStatus();
  const kernel::ConstantSums& sums = port.sums();
  if (sums.port() >= before.port_count || job->role != Role::kConstant || !job->row_major ||
      job->map_count != 0 || port.element() != kernel::ELEMENT_TYPE_INT32 || sums.axes_size() == 0)
    return bad_port(
        port, "is a constant of sums, but is not a row-major i32 constant after its source, or has no axis");
  const PortJob& source = before.ports[sums.port()];
  const bool bytes =
      source.element == kernel::ELEMENT_TYPE_INT8 || source.element == kernel::ELEMENT_TYPE_UINT8;
  int64_t extents[TF_LAYOUT_MAX_RANK];
  std::copy(source.extents, source.extents + source.rank, extents);
  for (const uint32_t axis : sums.axes()) {
    if (axis >= static_cast<uint32_t>(source.rank)) return bad_port(port, "sums an axis that does not exist");
    job->sum_axes |= 1u << axis;
    extents[axis] = 1;
  }
  if (!bytes || source.role != Role::kConstant || source.rank != job->rank ||
      !std::equal(extents, extents + source.rank, job->extents))
    return bad_port(port, "is not a valid sum of a constant of bytes: the extents do not match");
  job->summed = sums.port();
  return absl::OkStatus();
}

absl::Status add_ports(const kernel::Manifest& manifest, LoadedArtifact* loaded) {
  if (manifest.ports_size() > static_cast<int>(sandbox::kMaxPorts)) {
    return absl::InvalidArgumentError(absl::StrCat("an artifact with ", manifest.ports_size(),
                                                   " ports; at most ", sandbox::kMaxPorts, " are supported"));
  }
  uint64_t offset = (sizeof(sandbox::Result) + 4095) / 4096 * 4096;
  bool has_output = false;
  for (const kernel::Port& port : manifest.ports()) {
    TF_ASSIGN_OR_RETURN(PortJob job, make_port(port));
    TF_RETURN_IF_ERROR(set_sums(port, loaded->job, &job));
    if (job.role == Role::kOutput) {
      has_output = true;
      job.result_offset = offset;
      offset += 2 * job.size_bytes + 63;
      offset -= offset % 64;
    }
    loaded->job.ports[loaded->job.port_count++] = job;
    loaded->port_names.push_back(printable(port.name()));
  }
  if (!has_output) return absl::InvalidArgumentError("an artifact without an output port");
  loaded->result_bytes = offset;
  return absl::OkStatus();
}

// x, y and z, as numbers: an artifact is for one binding of its dimensions. All are 0 if there are none.
absl::Status set_extents(std::string_view what, const google::protobuf::RepeatedPtrField<std::string>& texts,
                         int64_t (&extents)[3]) {
  if (texts.empty()) return absl::OkStatus();
  for (int i = 0; i < 3; ++i) {
    const bool is_number = texts.size() == 3 && absl::SimpleAtoi(texts.Get(i), &extents[i]) &&
                           extents[i] >= 1 && extents[i] <= INT32_MAX;
    if (!is_number)
      return absl::InvalidArgumentError(
          absl::StrCat("a launch whose ", std::string(what), " is not three numbers from 1 to 2147483647"));
  }
  return absl::OkStatus();
}

absl::Status add_tensor_maps(const kernel::Launch& launch, sandbox::LaunchJob& target) {
  if (launch.tensor_maps_size() > static_cast<int>(sandbox::kMaxTensorMaps))
    return absl::InvalidArgumentError(absl::StrCat("a launch with ", launch.tensor_maps_size(),
                                                   " tensor maps; at most ", sandbox::kMaxTensorMaps,
                                                   " are supported"));
  for (const kernel::TensorMap& map : launch.tensor_maps()) {
    const int rank = map.extents_size();
    if (rank < 1 || rank > static_cast<int>(sandbox::kMaxTensorAxes) || map.box_size() != rank)
      return absl::InvalidArgumentError(absl::StrCat("a tensor map of ", rank, " axes with a box of ",
                                                     map.box_size(), "; both have the same, 1 to ",
                                                     sandbox::kMaxTensorAxes));
    sandbox::TensorMapJob& job = target.maps[target.map_count++];
    job.buffer = map.buffer();
    job.element_bytes = map.element_bytes();
    job.rank = static_cast<uint32_t>(rank);
    std::ranges::copy(map.extents(), job.extents);
    std::ranges::copy(map.box(), job.box);
  }
  return absl::OkStatus();
}

absl::Status add_code(const kernel::Artifact& artifact, LoadedArtifact* loaded) {
  const kernel::Manifest& manifest = artifact.manifest();
  Job& job = loaded->job;
  if (artifact.blobs_size() < 1 || artifact.blobs_size() > static_cast<int>(sandbox::kMaxBlobs)) {
    return absl::InvalidArgumentError(absl::StrCat("an artifact with ", artifact.blobs_size(),
                                                   " blobs; 1 to ", sandbox::kMaxBlobs, " are supported"));
  }
  if (manifest.launches_size() < 1 || manifest.launches_size() > static_cast<int>(sandbox::kMaxLaunches)) {
    return absl::InvalidArgumentError(absl::StrCat("an artifact with ", manifest.launches_size(),
                                                   " launches; 1 to ", sandbox::kMaxLaunches,
                                                   " are supported"));
  }
  for (const kernel::Blob& blob : artifact.blobs()) {
    job.blob_kinds[loaded->blobs.size()] = static_cast<int32_t>(blob.kind());
    TF_ASSIGN_OR_RETURN(OwnedFd file, sealed_file("tf_kernel", blob.content()));
    loaded->blobs.push_back(std::move(file));
  }
  job.blob_count = static_cast<uint32_t>(loaded->blobs.size());
  for (const kernel::Launch& launch : manifest.launches()) {
    if (launch.entry().empty() || launch.entry().size() >= sandbox::kMaxEntryChars ||
        launch.blob() >= job.blob_count) {
      return absl::InvalidArgumentError(absl::StrCat("a launch of '", printable(launch.entry()), "' in blob ",
                                                     launch.blob(), " of ", job.blob_count));
    }
    sandbox::LaunchJob& target = job.launches[job.launch_count++];
    std::memcpy(target.entry, launch.entry().c_str(), launch.entry().size() + 1);
    target.blob = launch.blob();
    TF_RETURN_IF_ERROR(set_extents("grid", launch.grid(), target.grid));
    TF_RETURN_IF_ERROR(set_extents("block", launch.block(), target.block));
    if (!launch.shared_bytes().empty() && (!absl::SimpleAtoi(launch.shared_bytes(), &target.shared_bytes) ||
                                           target.shared_bytes < 0 || target.shared_bytes > INT32_MAX))
      return absl::InvalidArgumentError(
          absl::StrCat("a launch with shared memory of '", printable(launch.shared_bytes()), "' bytes"));
    TF_RETURN_IF_ERROR(add_tensor_maps(launch, target));
  }
  return absl::OkStatus();
}

bool same_tensor(const PortJob& a, const PortJob& b) {
  return a.rank == b.rank && std::equal(a.extents, a.extents + a.rank, b.extents);
}

// Of the computation: what a schedule makes of constants is its own business.
std::vector<const PortJob*> ports_with(const Job& job, bool outputs) {
  std::vector<const PortJob*> found;
  for (uint32_t p = 0; p < job.port_count; ++p) {
    if (job.ports[p].sum_axes == 0 && (job.ports[p].role == Role::kOutput) == outputs)
      found.push_back(&job.ports[p]);
  }
  return found;
}

}  // namespace

absl::StatusOr<LoadedArtifact> load_artifact(std::string_view serialized, std::string_view digest) {
  if (const std::string actual = sha256(serialized).hex(); actual != digest) {
    return absl::InvalidArgumentError(absl::StrCat(
        "artifact ", absl::string_view(digest.data(), digest.size()), " is damaged: its digest is ", actual));
  }
  kernel::Artifact artifact;
  if (!artifact.ParseFromArray(serialized.data(), static_cast<int>(serialized.size()))) {
    return absl::InvalidArgumentError("the bytes are not a serialized kernel.v1.Artifact");
  }
  const kernel::Manifest& manifest = artifact.manifest();
  if (manifest.abi_version() != TF_ABI_VERSION && manifest.abi_version() != TF_ABI_VERSION_TENSOR_MAPS) {
    return absl::FailedPreconditionError(
        absl::StrCat("the artifact is for kernel ABI ", manifest.abi_version(),
                     ", but this worker supports ABI ", TF_ABI_VERSION, ": use one version of both"));
  }
  LoadedArtifact loaded;
  TF_RETURN_IF_ERROR(add_ports(manifest, &loaded));
  TF_RETURN_IF_ERROR(add_code(artifact, &loaded));
  if (manifest.dim_values_size() > static_cast<int>(sandbox::kMaxDims)) {
    return absl::InvalidArgumentError(absl::StrCat("an artifact with ", manifest.dim_values_size(),
                                                   " named dimensions; at most ", sandbox::kMaxDims,
                                                   " are supported"));
  }
  std::copy(manifest.dim_values().begin(), manifest.dim_values().end(), loaded.job.dims);
  loaded.job.dim_count = static_cast<uint32_t>(manifest.dim_values_size());
  loaded.job.abi_version = manifest.abi_version();
  loaded.job.workspace_bytes = manifest.workspace_bytes();
  loaded.workspace_per_thread_bytes = manifest.workspace_per_thread_bytes();
  loaded.tolerance = manifest.tolerance() > 0 ? manifest.tolerance() : kDefaultTolerance;
  loaded.flops = manifest.flops();
  loaded.reduced_numerics = manifest.numerics_size() > 0;
  for (uint32_t p = 0; p < loaded.job.port_count; ++p) {
    if (loaded.job.ports[p].stored_bytes < 4) loaded.reduced_numerics = true;
  }
  return loaded;
}

absl::Status check_trial(const farm::Trial& trial, int64_t longest_run_ns) {
  auto wrong = [](std::string_view what) {
    return absl::InvalidArgumentError(
        absl::StrCat("a trial needs ", absl::string_view(what.data(), what.size())));
  };
  const farm::MeasureOptions& options = trial.options();
  if (trial.threads() < 1 || trial.threads() > 1024) return wrong("1 to 1024 threads");
  if (options.samples() < 1 || options.samples() > sandbox::kMaxSamples) return wrong("1 to 1000 samples");
  if (options.min_sample_ns() < 0 || options.warmup_ns() < 0 || options.enough_ns() < 0)
    return wrong("times of at least 0 ns");
  if (!(options.noise() >= 0 && options.noise() <= 1)) return wrong("a noise of 0 to 1");
  if (options.cache_mode() != farm::CACHE_MODE_ROTATE && options.cache_mode() != farm::CACHE_MODE_WARM) {
    return wrong("a cache mode, rotate or warm");
  }
  if (trial.limits().run_timeout_ns() <= 0) return wrong("a run timeout above 0");
  if (trial.limits().run_timeout_ns() > longest_run_ns) {
    return absl::InvalidArgumentError(
        absl::StrCat("a trial of up to ", trial.limits().run_timeout_ns() / 1'000'000'000,
                     " s is too long; the limit is ", longest_run_ns / 1'000'000'000, " s"));
  }
  if (trial.limits().memory_bytes() == 0) return wrong("a memory limit above 0");
  return absl::OkStatus();
}

absl::Status check_same_computation(const Job& candidate, const Job& reference) {
  const auto inputs = ports_with(candidate, false), reference_inputs = ports_with(reference, false);
  const auto outputs = ports_with(candidate, true), reference_outputs = ports_with(reference, true);
  bool same = inputs.size() == reference_inputs.size() && reference_outputs.size() == 2 * outputs.size();
  for (size_t i = 0; same && i < inputs.size(); ++i) {
    const PortJob &a = *inputs[i], &b = *reference_inputs[i];
    same = same_tensor(a, b) && a.element == b.element && a.low == b.low && a.high == b.high;
  }
  for (size_t i = 0; same && i < outputs.size(); ++i) {
    same = same_tensor(*outputs[i], *reference_outputs[i]) &&
           same_tensor(*outputs[i], *reference_outputs[outputs.size() + i]);
  }
  if (same) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "candidate and reference are not the same computation: inputs, constants and outputs must agree, and "
      "the reference gives each output's magnitude after its outputs");
}

}  // namespace tf::worker
