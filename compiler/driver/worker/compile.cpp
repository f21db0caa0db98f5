#include "compiler/driver/worker/compile.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/cli/suggestion.h"
#include "base/status.h"
#include "compiler/backends/backends.h"
#include "compiler/driver/element_number.h"
#include "compiler/ir/print.h"
#include "compiler/passes/lower.h"
#include "compiler/runtime/kernel_abi.h"
#include "compiler/schedule/numerics.h"
#include "compiler/schedule/schedule.h"
#include "compiler/schedule/tolerance.h"
#include "compiler/target/target.h"
#include "compiler/tensor/greatest_sizes.h"
#include "proto/kernel/v1/kernel.pb.h"

namespace tf::driver {
namespace {

namespace proto = tunefarm::kernel::v1;

// What a request means, after every text has been parsed and checked.
struct Job {
  tensor::Workload workload;  // as sent
  tensor::Workload bound;
  tensor::Binding binding;
  schedule::Schedule schedule;
  tensor::PortLayouts ports;
  target::Target target;
  const backends::Backend* backend;
  std::string entry;
};

class Stopwatch {
 public:
  explicit Stopwatch(proto::BuildReply& reply) : reply_(reply) {}
  void end(const std::string& phase) {
    auto now = std::chrono::steady_clock::now();
    add(phase, std::chrono::nanoseconds(now - start_).count());
    start_ = now;
  }
  // Phases that another clock has measured since the last end().
  void take(const std::vector<backends::Phase>& phases) {
    for (const backends::Phase& phase : phases) add(phase.name, phase.duration_ns);
    start_ = std::chrono::steady_clock::now();
  }

 private:
  void add(const std::string& phase, int64_t duration_ns) {
    proto::PhaseTime& time = *reply_.add_phases();
    time.set_phase(phase);
    time.set_duration_ns(duration_ns);
  }
  proto::BuildReply& reply_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

bool is_symbol(const std::string& name) {
  if (name.empty() || name.size() > 200 || absl::ascii_isdigit(static_cast<unsigned char>(name[0])))
    return false;
  for (char c : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '_') return false;
  }
  return true;
}

absl::StatusOr<Job> parse(const proto::BuildKernelRequest& request) {
  Job job;
  TF_ASSIGN_OR_RETURN(job.workload, tensor::parse_workload(request.workload()));
  TF_RETURN_IF_ERROR(tensor::verify(job.workload));
  job.binding = tensor::Binding(request.binding().begin(), request.binding().end());
  // Without values, the kernel is for all that its dimensions can have.
  job.bound = job.workload;
  if (!job.binding.empty()) {
    TF_ASSIGN_OR_RETURN(job.bound, tensor::bind(job.workload, job.binding));
  }
  if (!request.schedule().empty()) {
    if (request.reference()) return absl::InvalidArgumentError("a reference artifact cannot have a schedule");
    TF_ASSIGN_OR_RETURN(job.schedule, schedule::parse_schedule(request.schedule()));
  }
  TF_ASSIGN_OR_RETURN(job.target, target::parse_target(request.target()));
  TF_ASSIGN_OR_RETURN(job.backend, backends::backend_for(job.target));
  job.entry = request.entry();
  if (!is_symbol(job.entry)) {
    return absl::InvalidArgumentError(
        absl::StrCat("entry '", job.entry, "' is not a C identifier; use letters, digits and '_'"));
  }
  TF_ASSIGN_OR_RETURN(
      job.ports, tensor::parse_ports(job.bound, {request.in_layouts().begin(), request.in_layouts().end()},
                                     {request.out_layouts().begin(), request.out_layouts().end()}));
  if (request.reference()) {
    if (!job.ports.inputs.empty() || !job.ports.outputs.empty()) {
      return absl::InvalidArgumentError("a reference artifact is row-major: omit the layouts");
    }
    job.bound = tensor::with_magnitudes(job.bound);
  }
  return job;
}

proto::ElementType element_type(tensor::Element element) {
  return static_cast<proto::ElementType>(element_number(element));
}

proto::Port& add_port(proto::Manifest& manifest, const tensor::BufferNode& buffer, proto::PortRole role,
                      const passes::Lowered& lowered) {
  size_t index = static_cast<size_t>(manifest.ports_size());
  proto::Port& port = *manifest.add_ports();
  port.set_name(buffer.name);
  port.set_role(role);
  port.set_element(element_type(buffer.element));
  for (const tensor::Expr& extent : buffer.extents)
    port.add_extents(analysis::interval_of(extent, analysis::ranges_of(lowered.function.dims)).max);
  port.set_layout(lowered.param_layouts[index].text());
  const tensor::Element stored = lowered.function.params[index]->element;
  if (stored != buffer.element) port.set_stored_element(element_type(stored));
  uint64_t elements = static_cast<uint64_t>(lowered.param_elements[index]);
  port.set_size_bytes(elements * static_cast<uint64_t>(tensor::element_bytes(stored)));
  for (const schedule::AxisMap& map : lowered.param_maps[index]) {
    proto::AxisMap& added = *port.add_maps();
    added.set_axis(map.axis);
    added.set_rows(map.rows);
    added.mutable_matrix()->Assign(map.matrix.begin(), map.matrix.end());
  }
  return port;
}

// All but the workspace and how it is launched.
void fill_manifest(const Job& job, const passes::Lowered& lowered, proto::Manifest& manifest) {
  manifest.set_abi_version(TF_ABI_VERSION);
  manifest.set_target(job.target.text());
  manifest.set_computation(tensor::workload_key(job.workload).hex());
  for (const tensor::Dimension& dim : job.workload.dims) {
    manifest.add_dim_names(dim.var->name);
    if (!job.binding.empty()) manifest.add_dim_values(job.binding.at(dim.var->name));
  }
  for (const tensor::Input& input : job.bound.inputs) {
    proto::Port& port =
        add_port(manifest, *input.buffer, input.constant ? proto::PORT_ROLE_CONSTANT : proto::PORT_ROLE_INPUT,
                 lowered);
    port.mutable_domain()->set_low(input.low);
    port.mutable_domain()->set_high(input.high);
  }
  for (size_t i = job.bound.inputs.size(); lowered.param_sums[i]; ++i) {
    const schedule::ConstantSums& made = *lowered.param_sums[i];
    proto::Port& port = add_port(manifest, *lowered.function.params[i], proto::PORT_ROLE_CONSTANT, lowered);
    port.clear_extents();
    port.mutable_extents()->Assign(manifest.ports(made.input).extents().begin(),
                                   manifest.ports(made.input).extents().end());
    port.mutable_sums()->set_port(static_cast<uint32_t>(made.input));
    for (const int axis : made.axes) {
      port.set_extents(axis, 1);
      port.mutable_sums()->add_axes(static_cast<uint32_t>(axis));
    }
  }
  for (const int input : lowered.function.in_place) manifest.mutable_ports(input)->set_in_place(true);
  for (const tensor::Buffer& output : job.bound.outputs) {
    add_port(manifest, *output, proto::PORT_ROLE_OUTPUT, lowered);
  }
  const tensor::Workload greatest = tensor::bind(job.bound, tensor::greatest_sizes(job.bound.dims)).value();
  manifest.set_flops(tensor::count_flops(greatest));
  manifest.set_bytes(tensor::count_bytes(greatest));
  for (const std::string& name : schedule::numerics_of(job.schedule)) manifest.add_numerics(name);
  manifest.set_tolerance(schedule::tolerance(greatest, job.schedule));
}

absl::StatusOr<passes::Lowered> lower(const Job& job, passes::LowerOptions options = {}) {
  options.name = job.entry;
  options.pipeline = job.backend->pipeline();
#ifndef NDEBUG
  options.verify_each = true;
#endif
  return passes::lower(job.bound, job.schedule, job.ports, options);
}

absl::StatusOr<backends::Use> use_of(proto::KernelUse use) {
  if (use == proto::KERNEL_USE_DEVICE) return backends::Use::kDevice;
  if (use == proto::KERNEL_USE_MODEL) return backends::Use::kModel;
  return absl::InvalidArgumentError(absl::StrCat("kernel use ", static_cast<int>(use),
                                                 " is unknown; give KERNEL_USE_DEVICE or KERNEL_USE_MODEL"));
}

void set_resources(const backends::Resources& from, proto::Resources& to) {
  to.set_registers_per_thread(from.registers_per_thread);
  to.set_stack_bytes(from.stack_bytes);
  to.set_spill_bytes(from.spill_bytes);
  to.set_shared_bytes(from.shared_bytes);
  to.set_spills(from.spills());
}

absl::Status compile_into(const proto::BuildKernelRequest& request, proto::BuildReply& reply) {
  Stopwatch clock(reply);
  TF_ASSIGN_OR_RETURN(Job job, parse(request));
  TF_ASSIGN_OR_RETURN(const backends::Use use, use_of(request.use()));
  clock.end("parse");
  TF_ASSIGN_OR_RETURN(passes::Lowered lowered, lower(job));
  clock.end("lower");
  TF_ASSIGN_OR_RETURN(backends::Code code, job.backend->compile(lowered.function, job.target, use));
  clock.take(code.phases);
  proto::Artifact& artifact = *reply.mutable_artifact();
  proto::Manifest& manifest = *artifact.mutable_manifest();
  fill_manifest(job, lowered, manifest);
  manifest.set_workspace_bytes(code.workspace_bytes);
  manifest.set_workspace_per_thread_bytes(code.workspace_per_thread_bytes);
  for (const backends::Launch& each : code.launches) {
    proto::Launch& launch = *manifest.add_launches();
    if (each.resources != backends::Resources{}) set_resources(each.resources, *launch.mutable_resources());
    launch.set_entry(each.entry);
    launch.set_blob(0);
    launch.mutable_grid()->Assign(each.grid.begin(), each.grid.end());
    launch.mutable_block()->Assign(each.block.begin(), each.block.end());
    launch.set_shared_bytes(each.shared_bytes);
    for (const backends::TensorMap& map : each.tensor_maps) {
      manifest.set_abi_version(TF_ABI_VERSION_TENSOR_MAPS);
      proto::TensorMap& added = *launch.add_tensor_maps();
      added.set_buffer(map.buffer);
      added.set_element_bytes(map.element_bytes);
      for (const int64_t extent : map.extents) added.add_extents(static_cast<uint64_t>(extent));
      for (const int64_t box : map.box) added.add_box(static_cast<uint32_t>(box));
    }
  }
  proto::Blob& blob = *artifact.add_blobs();
  blob.set_kind(code.kind);
  blob.set_content(std::move(code.content));
  for (backends::CodeBlob& other : code.others) {
    proto::Blob& added = *artifact.add_blobs();
    added.set_kind(other.kind);
    added.set_content(std::move(other.content));
  }
  reply.set_code_digest(code.digest);
  return absl::OkStatus();
}

absl::Status show_into(const proto::ShowKernelRequest& request, proto::BuildReply& reply) {
  TF_ASSIGN_OR_RETURN(Job job, parse(request.kernel()));
  const std::vector<std::string> names = passes::pass_names(job.backend->pipeline());
  if (const std::string& name = request.print_after();
      !name.empty() && name != "all" && std::find(names.begin(), names.end(), name) == names.end())
    return absl::InvalidArgumentError(absl::StrCat("--print-after: ", no_such_name("pass", name, names)));
  passes::LowerOptions options;
  options.after = [&](std::string_view pass, const ir::Function& function) {
    if (request.print_after() != "all" && request.print_after() != pass) return;
    proto::PassOutput& output = *reply.add_after_passes();
    output.set_pass(std::string(pass));
    output.set_ir(ir::to_string(function));
  };
  TF_ASSIGN_OR_RETURN(passes::Lowered lowered, lower(job, std::move(options)));
  if (request.ir()) reply.set_ir(ir::to_string(lowered.function));
  if (!request.assembly()) return absl::OkStatus();
  TF_ASSIGN_OR_RETURN(*reply.mutable_assembly(), job.backend->show(lowered.function, job.target));
  return absl::OkStatus();
}

absl::Status link_into(const proto::LinkModelRequest& request, proto::BuildReply& reply) {
  Stopwatch clock(reply);
  TF_ASSIGN_OR_RETURN(target::Target target, target::parse_target(request.target()));
  TF_ASSIGN_OR_RETURN(const backends::Backend* backend, backends::backend_for(target));
  if (backend->link == nullptr)
    return absl::InvalidArgumentError(
        absl::StrCat("networks cannot be built for ", target.text(), ": its kernels cannot be linked"));
  backends::ModelLink link;
  for (const proto::LinkModelRequest::Kernel& kernel : request.kernels()) {
    if (!is_symbol(kernel.entry()))
      return absl::InvalidArgumentError(absl::StrCat("kernel '", kernel.entry(), "' is not a C identifier"));
    link.kernels.push_back(kernel.entry());
    if (kernel.object().empty()) continue;
    if (link.objects.size() + 1 != link.kernels.size())
      return absl::InvalidArgumentError("a kernel stands after a function of the runtime");
    link.objects.push_back(kernel.object());
  }
  if (!is_symbol(request.prefix()))
    return absl::InvalidArgumentError(absl::StrCat("prefix '", request.prefix(), "' is not a C identifier"));
  link.prefix = request.prefix();
  link.blob = request.blob();
  link.weights_bytes = request.weights_bytes();
  link.runtime_archive = request.runtime_archive();
  if (request.archive()) link.form = backends::LibraryForm::kArchive;
  TF_ASSIGN_OR_RETURN(backends::LinkedModel model, backend->link(link, target));
  reply.mutable_model()->set_before(std::move(model.before));
  reply.mutable_model()->set_after(std::move(model.after));
  clock.end("link");
  return absl::OkStatus();
}

}  // namespace

proto::BuildReply build(const proto::BuildRequest& request) {
  proto::BuildReply reply;
  const auto status = [&]() -> absl::Status {
    switch (request.kind_case()) {
      case proto::BuildRequest::kKernel:
        return compile_into(request.kernel(), reply);
      case proto::BuildRequest::kLink:
        return link_into(request.link(), reply);
      case proto::BuildRequest::kShow:
        return show_into(request.show(), reply);
      case proto::BuildRequest::KIND_NOT_SET:
        break;
    }
    return absl::InvalidArgumentError(
        "unknown kind of build request; is the requester newer than this worker?");
  }();
  if (status.ok()) return reply;
  reply.Clear();
  reply.set_code(static_cast<int>(status.code()));
  reply.set_message(std::string(status.message()));
  return reply;
}

}  // namespace tf::driver
