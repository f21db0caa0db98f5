#include "tests/bench/peers/our_kernel.h"

#include <functional>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"
#include "compiler/driver/wire.h"
#include "compiler/recipes/recipes.h"
#include "compiler/runtime/axis_map.h"
#include "compiler/runtime/axis_sum.h"
#include "compiler/runtime/layout.h"
#include "compiler/runtime/thread_pool.h"
#include "proto/kernel/v1/kernel.pb.h"
#include "tests/support/ir/host_memory.h"
#include "tests/support/loaded_kernel/loaded_kernel.h"

namespace tf::peers {
namespace {

namespace proto = tunefarm::kernel::v1;
using support::AlignedBytes;

// What one run needs, kept alive by the contender.
struct Loaded {
  std::unique_ptr<support::LoadedKernel> kernel;
  std::vector<std::unique_ptr<AlignedBytes>> storage;
  std::vector<void*> buffers;
  std::vector<uint64_t> sizes;
  std::unique_ptr<AlignedBytes> workspace;
  tf_call call = {};
};

tf_layout layout_of(const proto::Port& port) {
  tf_layout layout;
  TF_CHECK(tf_layout_parse(port.layout().c_str(), port.extents_size(), &layout) == 0);
  return layout;
}

tensor::Element element_of(proto::ElementType type) {
  switch (type) {
    case proto::ELEMENT_TYPE_INT8:
      return tensor::Element::kInt8;
    case proto::ELEMENT_TYPE_UINT8:
      return tensor::Element::kUInt8;
    case proto::ELEMENT_TYPE_INT32:
      return tensor::Element::kInt32;
    case proto::ELEMENT_TYPE_INT64:
      return tensor::Element::kInt64;
    case proto::ELEMENT_TYPE_BOOL:
      return tensor::Element::kBool;
    case proto::ELEMENT_TYPE_BFLOAT16:
      return tensor::Element::kBFloat16;
    case proto::ELEMENT_TYPE_FLOAT16:
      return tensor::Element::kFloat16;
    default:
      TF_CHECK(type == proto::ELEMENT_TYPE_FLOAT32) << "no kernel here has elements of " << type;
      return tensor::Element::kFloat32;
  }
}

// The constant or input as the kernel reads it: after its maps, in its element and layout.
void fill(const proto::Port& port, std::span<const float> values, AlignedBytes& bytes) {
  std::vector<int64_t> extents(port.extents().begin(), port.extents().end());
  std::vector<tf_axis_map> maps;
  for (const proto::AxisMap& map : port.maps()) maps.push_back({map.axis(), map.rows(), map.matrix().data()});
  const int rank = port.extents_size();
  std::vector<float> first(tf_map_axes_elements(maps.data(), port.maps_size(), extents.data(), rank)),
      second(first.size());
  const float* mapped = tf_map_axes(maps.data(), port.maps_size(), extents.data(), rank, values.data(),
                                    first.data(), second.data());
  const tensor::Element element = element_of(
      port.stored_element() == proto::ELEMENT_TYPE_UNSPECIFIED ? port.element() : port.stored_element());
  const int64_t count = std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
  const std::vector<double> real(mapped, mapped + count);
  const test::Bytes stored = test::encode(element, real);
  const tf_layout layout = layout_of(port);
  tf_layout_pack(&layout, extents.data(), rank, tensor::element_bytes(element), stored.data(), bytes.data());
}

// Sums of the constant that such values are given for.
void fill_sums(const proto::Port& port, const proto::Port& source, std::span<const float> values,
               AlignedBytes& bytes) {
  const test::Bytes plain =
      test::encode(element_of(source.element()), std::vector<double>(values.begin(), values.end()));
  uint32_t axes = 0;
  for (const uint32_t axis : port.sums().axes()) axes |= 1u << axis;
  tf_sum_axes(source.element() == proto::ELEMENT_TYPE_INT8, axes, source.extents().data(),
              source.extents_size(), plain.data(), bytes.as<int32_t>().data());
}

void read(const proto::Port& port, const AlignedBytes& bytes, std::span<float> out) {
  const tensor::Element element = element_of(port.element());
  const int element_bytes = tensor::element_bytes(element);
  test::Bytes plain(out.size() * static_cast<size_t>(element_bytes));
  const tf_layout layout = layout_of(port);
  tf_layout_unpack(&layout, port.extents().data(), port.extents_size(), element_bytes, bytes.data(),
                   plain.data());
  const std::vector<double> values = test::decode(element, plain);
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(values[i]);
}

std::shared_ptr<Loaded> load(const proto::Artifact& artifact, const bench::Operands& operands,
                             const Runtime& runtime, std::unique_ptr<support::LoadedKernel> kernel) {
  auto loaded = std::make_shared<Loaded>();
  loaded->kernel = std::move(kernel);
  size_t given = 0;
  for (const proto::Port& port : artifact.manifest().ports()) {
    loaded->storage.push_back(std::make_unique<AlignedBytes>(port.size_bytes()));
    AlignedBytes& bytes = *loaded->storage.back();
    if (port.has_sums())
      fill_sums(port, artifact.manifest().ports(static_cast<int>(port.sums().port())),
                operands.inputs[port.sums().port()], bytes);
    else if (port.role() != proto::PORT_ROLE_OUTPUT)
      fill(port, operands.inputs[given++], bytes);
    loaded->buffers.push_back(bytes.data());
    loaded->sizes.push_back(bytes.size());
  }
  const proto::Manifest& manifest = artifact.manifest();
  loaded->workspace = std::make_unique<AlignedBytes>(manifest.workspace_bytes() +
                                                     static_cast<uint64_t>(runtime.get()->threads) *
                                                         manifest.workspace_per_thread_bytes());
  loaded->call = {.abi_version = TF_ABI_VERSION,
                  .buffer_count = static_cast<uint32_t>(loaded->buffers.size()),
                  .buffers = loaded->buffers.data(),
                  .sizes_bytes = loaded->sizes.data(),
                  .dims = nullptr,
                  .workspace = loaded->workspace->data(),
                  .runtime = runtime.get()};
  return loaded;
}

absl::StatusOr<proto::Artifact> build(driver::BuildPool& pool, const proto::BuildRequest& request,
                                      const std::string& what) {
  TF_ASSIGN_OR_RETURN(proto::BuildReply reply, pool.build(request));
  if (reply.code() == 0) return std::move(*reply.mutable_artifact());
  return absl::FailedPreconditionError(absl::StrCat(what, " cannot be built: ", reply.message()));
}

absl::StatusOr<proto::Artifact> build(driver::BuildPool& pool, const session::Task& task,
                                      const target::Target& target, const NamedSchedule& schedule) {
  return build(pool, driver::kernel_request(task.kernel, target.text(), schedule.text),
               absl::StrCat(task.label, " by schedule ", schedule.name));
}

absl::StatusOr<std::shared_ptr<Loaded>> load(const proto::Artifact& artifact, const bench::Operands& operands,
                                             const Runtime& runtime) {
  TF_ASSIGN_OR_RETURN(auto kernel, support::LoadedKernel::load(artifact.blobs(0).content(),
                                                               artifact.manifest().launches(0).entry()));
  return load(artifact, operands, runtime, std::move(kernel));
}

std::string list(const google::protobuf::RepeatedPtrField<std::string>& names) {
  std::string text;
  for (const std::string& name : names) absl::StrAppend(&text, text.empty() ? " with " : ",", name);
  return text;
}

}  // namespace

NamedSchedule default_schedule_of(const session::Task& task, const target::Target& target, int threads,
                                  const std::vector<std::string>& allowed_numerics) {
  const schedule::Schedule chosen = recipes::default_schedule({.workload = task.kernel.workload,
                                                               .ports = task.kernel.ports,
                                                               .target = target,
                                                               .threads = threads,
                                                               .allowed = allowed_numerics});
  return {.name = "default", .text = schedule::to_string(chosen)};
}

absl::StatusOr<NamedSchedule> best_schedule_of(const session::Task& task, const target::Target& target,
                                               int threads, database::Records* records,
                                               const std::vector<std::string>& allowed_numerics) {
  if (records != nullptr) {
    TF_ASSIGN_OR_RETURN(
        const std::optional<database::Measurement> best,
        records->best({.problem = tensor::key_for(task.kernel, target, threads),
                       .device_class = std::nullopt,
                       .allowed_numerics = allowed_numerics,
                       .semantics_version = static_cast<uint32_t>(schedule::kSemanticsVersion)}));
    if (best) return NamedSchedule{.name = "tuned", .text = best->schedule};
  }
  return default_schedule_of(task, target, threads, allowed_numerics);
}

Runtime::Runtime(int threads) : runtime_(tf_runtime_create(threads)) {
  TF_CHECK(runtime_ != nullptr);
}
Runtime::~Runtime() {
  tf_runtime_destroy(runtime_);
}

absl::StatusOr<Contender> our_kernel(driver::BuildPool& pool, const session::Task& task,
                                     const target::Target& target, const NamedSchedule& schedule,
                                     const bench::Operands& operands, const Runtime& runtime) {
  TF_ASSIGN_OR_RETURN(const proto::Artifact artifact, build(pool, task, target, schedule));
  TF_ASSIGN_OR_RETURN(const std::shared_ptr<Loaded> loaded, load(artifact, operands, runtime));
  const proto::Port output = *artifact.manifest().ports().rbegin();
  return Contender{
      .name = "tunefarm",
      .note = schedule.name + list(artifact.manifest().numerics()),
      .tolerance = artifact.manifest().tolerance(),
      .run = [loaded] { TF_CHECK(loaded->kernel->entry()(&loaded->call) == TF_KERNEL_OK); },
      .read_out = [loaded, output](std::span<float> out) { read(output, *loaded->storage.back(), out); }};
}

absl::StatusOr<Answer> reference_answer(driver::BuildPool& pool, const session::Task& task,
                                        const target::Target& target, const bench::Operands& operands,
                                        const Runtime& runtime) {
  TF_ASSIGN_OR_RETURN(const proto::Artifact artifact,
                      build(pool, driver::reference_request(task.kernel, target.text()),
                            absl::StrCat(task.label, " as plain loops")));
  TF_ASSIGN_OR_RETURN(const std::shared_ptr<Loaded> loaded, load(artifact, operands, runtime));
  TF_CHECK(loaded->kernel->entry()(&loaded->call) == TF_KERNEL_OK);
  // The result is the last port but one, its magnitudes are the last.
  const auto elements = static_cast<size_t>(operands.output_elements);
  auto value = std::make_shared<std::vector<float>>(elements),
       magnitude = std::make_shared<std::vector<float>>(elements);
  const int last = artifact.manifest().ports_size() - 1;
  read(artifact.manifest().ports(last - 1), *loaded->storage[static_cast<size_t>(last - 1)], *value);
  read(artifact.manifest().ports(last), *loaded->storage[static_cast<size_t>(last)], *magnitude);
  return Answer{.elements = operands.output_elements, .at = [value, magnitude](int64_t index) {
                  const auto at = static_cast<size_t>(index);
                  return bench::Expected{(*value)[at], (*magnitude)[at]};
                }};
}

absl::StatusOr<double> plain_tolerance(driver::BuildPool& pool, const session::Task& task,
                                       const target::Target& target) {
  TF_ASSIGN_OR_RETURN(const proto::Artifact artifact,
                      build(pool, task, target, {.name = "none", .text = ""}));
  return artifact.manifest().tolerance();
}

absl::StatusOr<std::string> show_kernel(driver::BuildPool& pool, const session::Task& task,
                                        const target::Target& target, const NamedSchedule& schedule,
                                        Form form) {
  proto::BuildRequest request;
  *request.mutable_show()->mutable_kernel() =
      driver::kernel_request(task.kernel, target.text(), schedule.text).kernel();
  request.mutable_show()->set_ir(form == Form::kIr);
  request.mutable_show()->set_assembly(form == Form::kAssembly);
  TF_ASSIGN_OR_RETURN(const proto::BuildReply reply, pool.build(request));
  if (reply.code() != 0) return absl::FailedPreconditionError(reply.message());
  return form == Form::kIr ? reply.ir() : reply.assembly();
}

}  // namespace tf::peers
