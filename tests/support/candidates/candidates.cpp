#include "tests/support/candidates/candidates.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <string>
#include <utility>

#include "base/check.h"
#include "base/digest.h"
#include "base/files/file.h"
#include "compiler/runtime/kernel_abi.h"

namespace tf::test {
namespace {

namespace farm = tunefarm::farm::v1;
namespace kernel = tunefarm::kernel::v1;

void add_port(kernel::Manifest* manifest, const char* name, kernel::PortRole role, int64_t rows,
              int64_t columns) {
  kernel::Port* port = manifest->add_ports();
  port->set_name(name);
  port->set_role(role);
  port->set_element(kernel::ELEMENT_TYPE_FLOAT32);
  port->add_extents(rows);
  port->add_extents(columns);
  port->set_size_bytes(static_cast<uint64_t>(rows * columns) * sizeof(float));
}

std::string content_of(const std::string& library) {
  absl::StatusOr<std::string> file = read_file(library);
  TF_CHECK(file.ok()) << file.status().ToString();
  return *std::move(file);
}

}  // namespace

kernel::Artifact candidate(const std::string& entry, Extents extents) {
  kernel::Artifact artifact;
  kernel::Manifest* manifest = artifact.mutable_manifest();
  manifest->set_abi_version(TF_ABI_VERSION);
  manifest->set_target("host");
  for (const char* name : {"m", "n", "k"}) manifest->add_dim_names(name);
  for (int64_t value : {extents.m, extents.n, extents.k}) manifest->add_dim_values(value);
  add_port(manifest, "x", kernel::PORT_ROLE_INPUT, extents.m, extents.k);
  add_port(manifest, "w", kernel::PORT_ROLE_CONSTANT, extents.k, extents.n);
  add_port(manifest, "y", kernel::PORT_ROLE_OUTPUT, extents.m, extents.n);
  if (entry.starts_with("reference"))
    add_port(manifest, "y_magnitude", kernel::PORT_ROLE_OUTPUT, extents.m, extents.n);
  manifest->add_launches()->set_entry(entry);
  manifest->set_workspace_bytes(64);
  manifest->set_workspace_per_thread_bytes(128);
  manifest->set_flops(2.0 * static_cast<double>(extents.m * extents.n * extents.k));
  manifest->set_tolerance(1e-5);
  kernel::Blob* blob = artifact.add_blobs();
  blob->set_kind(kernel::BLOB_KIND_ELF_SHARED);
  static const std::string code = content_of(TF_CANDIDATES_LIBRARY);
  blob->set_content(code);
  return artifact;
}

kernel::Artifact device_candidate(const DeviceCode& code) {
  kernel::Artifact artifact = candidate("product", code.extents);
  kernel::Manifest& manifest = *artifact.mutable_manifest();
  manifest.set_target(code.target);
  manifest.clear_workspace_bytes();
  manifest.clear_workspace_per_thread_bytes();
  kernel::Launch& launch = *manifest.mutable_launches(0);
  for (const int extent : {code.grid[0], code.grid[1], 1}) launch.add_grid(std::to_string(extent));
  for (const int extent : {code.block[0], code.block[1], 1}) launch.add_block(std::to_string(extent));
  artifact.mutable_blobs(0)->set_kind(code.kind);
  artifact.mutable_blobs(0)->set_content(code.code);
  return artifact;
}

kernel::Artifact candidate_with(Constructor constructor) {
  kernel::Artifact artifact = candidate("good");
  artifact.mutable_blobs(0)->set_content(
      content_of(TF_CONSTRUCTOR_LIBRARY + std::to_string(static_cast<int>(constructor)) + ".so"));
  return artifact;
}

std::string serialized(const kernel::Artifact& artifact) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  TF_CHECK(artifact.SerializeToCodedStream(&coded));
  coded.Trim();
  return bytes;
}

std::string digest_of(const std::string& serialized_artifact) {
  return sha256(serialized_artifact).hex();
}

farm::Trial trial_of(const std::string& serialized_candidate, const std::string& serialized_reference) {
  farm::Trial trial;
  trial.set_artifact_digest(digest_of(serialized_candidate));
  if (!serialized_reference.empty()) trial.set_reference_digest(digest_of(serialized_reference));
  trial.set_input_seed(7);
  trial.set_threads(1);
  farm::MeasureOptions* options = trial.mutable_options();
  options->set_samples(3);
  options->set_min_sample_ns(1'000'000);
  options->set_warmup_ns(1'000'000);
  options->set_cache_mode(farm::CACHE_MODE_ROTATE);
  farm::Limits* limits = trial.mutable_limits();
  limits->set_run_timeout_ns(5'000'000'000);
  limits->set_memory_bytes(256 << 20);
  limits->set_output_bytes(2000);
  return trial;
}

}  // namespace tf::test
