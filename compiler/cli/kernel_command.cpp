// compiler kernel: the kernel that a workload and a schedule make, both read from text files.
#include <google/protobuf/util/json_util.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/cli/exit_code.h"
#include "base/files/file.h"
#include "base/files/output_file.h"
#include "base/status.h"
#include "base/text/json_text.h"
#include "compiler/cli/commands.h"
#include "compiler/cli/print_after.h"
#include "compiler/driver/build_pool.h"
#include "compiler/driver/wire.h"
#include "compiler/passes/lower.h"
#include "compiler/recipes/recipes.h"
#include "compiler/schedule/numerics.h"
#include "compiler/target/target.h"
#include "proto/kernel/v1/kernel.pb.h"

namespace tf::compiler_cli {
namespace {

namespace proto = tunefarm::kernel::v1;

struct KernelArguments {
  std::string workload, schedule, target = "host", binding, allow, output, print_after;
  std::vector<std::string> in_layouts, out_layouts;
  int threads = 1;
  bool ir = false, assembly = false, manifest = false, print_schedule = false, json = false;
};

absl::StatusOr<std::string> default_schedule_text(const tensor::Workload& bound,
                                                  const tensor::PortLayouts& ports,
                                                  const target::Target& target,
                                                  const KernelArguments& arguments) {
  TF_ASSIGN_OR_RETURN(const schedule::Numerics allowed, schedule::parse_numerics(arguments.allow));
  return schedule::to_string(recipes::default_schedule({.workload = bound,
                                                        .ports = ports,
                                                        .target = target,
                                                        .threads = arguments.threads,
                                                        .allowed = allowed}));
}

absl::Status in_file(const std::string& path, const absl::Status& mistake) {
  return absl::Status(mistake.code(), absl::StrCat(path, ": ", mistake.message()));
}

// A given schedule, if it is one of this workload.
absl::StatusOr<std::string> given_schedule_text(const tensor::Workload& workload, const std::string& path) {
  TF_ASSIGN_OR_RETURN(const std::string text, read_file(path));
  const absl::StatusOr<schedule::Schedule> schedule = schedule::parse_schedule(text);
  if (!schedule.ok()) return in_file(path, schedule.status());
  if (const absl::Status applied = schedule::apply(workload, *schedule).status(); !applied.ok())
    return in_file(path, applied);
  return schedule::to_string(*schedule);
}

// Legal, but hardly what was meant.
void warn_of_empty_stages(const tensor::Workload& workload) {
  for (size_t i = 0; i < workload.stages.size(); ++i) {
    const tensor::Stage& stage = workload.stages[i];
    for (const auto* axes : {&stage.axes, &stage.reduce_axes})
      for (const tensor::Axis& axis : *axes)
        if (tensor::as_int(axis.extent) == 0)
          std::fprintf(stderr,
                       "compiler kernel: warning: stage t%zu has an axis of extent 0: it computes nothing\n",
                       i);
  }
}

absl::StatusOr<proto::BuildKernelRequest> request_of(const KernelArguments& arguments) {
  TF_ASSIGN_OR_RETURN(const std::string text, read_file(arguments.workload));
  const absl::StatusOr<tensor::Workload> workload = tensor::parse_workload(text);
  if (!workload.ok()) return in_file(arguments.workload, workload.status());
  tensor::KernelSpec spec{.workload = *workload};
  TF_ASSIGN_OR_RETURN(spec.binding, tensor::parse_binding(arguments.binding));
  TF_ASSIGN_OR_RETURN(const target::Target target, target::parse_target(arguments.target));
  const absl::StatusOr<tensor::Workload> bound = tensor::bind(*workload, spec.binding);
  if (!bound.ok()) return in_file(arguments.workload, bound.status());
  warn_of_empty_stages(*bound);
  TF_ASSIGN_OR_RETURN(spec.ports, tensor::parse_ports(*bound, arguments.in_layouts, arguments.out_layouts));
  TF_ASSIGN_OR_RETURN(const std::string schedule,
                      arguments.schedule.empty()
                          ? default_schedule_text(*bound, spec.ports, target, arguments)
                          : given_schedule_text(*bound, arguments.schedule));
  return driver::kernel_request(spec, target.text(), schedule).kernel();
}

absl::StatusOr<proto::BuildReply> ask(driver::BuildPool& pool, const proto::BuildRequest& request) {
  TF_ASSIGN_OR_RETURN(proto::BuildReply reply, pool.build(request));
  if (reply.code() != 0) return absl::Status(static_cast<absl::StatusCode>(reply.code()), reply.message());
  return reply;
}

absl::StatusOr<std::string> manifest_text(const proto::Artifact& artifact) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  std::string text;
  if (!google::protobuf::util::MessageToJsonString(artifact.manifest(), &text, options).ok())
    return absl::InternalError("cannot print the manifest");
  return text;
}

// Texts; empty: not asked for.
struct Shown {
  std::string schedule, ir, assembly, manifest;
  std::vector<PassText> after_passes;
};

// The texts of the kernel that need no artifact.
absl::Status show(const KernelArguments& arguments, const proto::BuildKernelRequest& kernel,
                  driver::BuildPool& pool, Shown& shown) {
  proto::BuildRequest request;
  *request.mutable_show()->mutable_kernel() = kernel;
  request.mutable_show()->set_ir(arguments.ir);
  request.mutable_show()->set_assembly(arguments.assembly);
  request.mutable_show()->set_print_after(arguments.print_after);
  TF_ASSIGN_OR_RETURN(const proto::BuildReply reply, ask(pool, request));
  for (const proto::PassOutput& output : reply.after_passes())
    shown.after_passes.push_back({output.pass(), output.ir()});
  shown.ir = reply.ir();
  shown.assembly = reply.assembly();
  return absl::OkStatus();
}

// Writes the output on the way.
absl::StatusOr<Shown> make(const KernelArguments& arguments) {
  TF_ASSIGN_OR_RETURN(const proto::BuildKernelRequest kernel, request_of(arguments));
  TF_ASSIGN_OR_RETURN(const auto pool, driver::BuildPool::create({}));
  const bool texts = arguments.ir || arguments.assembly || !arguments.print_after.empty();
  const bool something = texts || arguments.manifest || !arguments.output.empty();
  Shown shown;
  if (arguments.print_schedule || !something) shown.schedule = kernel.schedule();
  if (texts) TF_RETURN_IF_ERROR(show(arguments, kernel, *pool, shown));
  if (!arguments.manifest && arguments.output.empty()) return shown;
  proto::BuildRequest request;
  *request.mutable_kernel() = kernel;
  TF_ASSIGN_OR_RETURN(const proto::BuildReply reply, ask(*pool, request));
  if (arguments.manifest) {
    TF_ASSIGN_OR_RETURN(shown.manifest, manifest_text(reply.artifact()));
  }
  if (!arguments.output.empty())
    TF_RETURN_IF_ERROR(write_output(arguments.output, reply.artifact().blobs(0).content()));
  return shown;
}

nlohmann::json json_of(const Shown& shown, const std::string& output) {
  nlohmann::json json = nlohmann::json::object();
  if (!shown.schedule.empty()) json["schedule"] = shown.schedule;
  if (!shown.after_passes.empty()) json["passes"] = print_after_json(shown.after_passes);
  if (!shown.ir.empty()) json["ir"] = shown.ir;
  if (!shown.assembly.empty()) json["asm"] = shown.assembly;
  if (!shown.manifest.empty())
    json["manifest"] = nlohmann::json::parse(shown.manifest, nullptr, /*allow_exceptions=*/false);
  if (!output.empty()) json["output"] = output;
  return json;
}

absl::StatusOr<int> run(const KernelArguments& arguments) {
  TF_RETURN_IF_ERROR(check_is_no_input(arguments.output, "-o", {arguments.workload, arguments.schedule}));
  TF_ASSIGN_OR_RETURN(const Shown shown, make(arguments));
  if (arguments.json) {
    std::printf("%s\n", json_text(json_of(shown, arguments.output), 1).c_str());
  } else {
    std::printf("%s%s%s%s%s", shown.schedule.c_str(), print_after_text(shown.after_passes).c_str(),
                shown.ir.c_str(), shown.assembly.c_str(), shown.manifest.c_str());
  }
  return kExitOk;
}

}  // namespace

void add_kernel_command(CLI::App& app, Invocation& invocation) {
  auto arguments = std::make_shared<KernelArguments>();
  CLI::App* command =
      app.add_subcommand("kernel", "Show or compile the kernel that a workload and a schedule make");
  command
      ->add_option("workload", arguments->workload,
                   "File with the workload's canonical text, as `compiler show --workload` prints it")
      ->required();
  auto* with =
      command->add_option("--with", arguments->schedule, "File with the schedule [the default schedule]");
  command
      ->add_option(
          "--allow", arguments->allow,
          absl::StrCat("Reduced-precision methods that the default schedule may use: ", schedule::kAllowHelp))
      ->excludes(with);
  command
      ->add_option("--target", arguments->target,
                   "Target to compile for, as in `compiler build`, or a GPU: cuda:arch=sm_NN, opencl")
      ->capture_default_str();
  command
      ->add_option("--dim", arguments->binding, "Values of named dimensions, as in d0=4,d1=128; repeatable")
      ->join(',');
  command->add_option(
      "--in-layout", arguments->in_layouts,
      "Layout of an input, as in 0,2,3,1; one for each input that is not constant [row_major]");
  command->add_option("--out-layout", arguments->out_layouts,
                      "Layout of an output, as in 0,2,3,1; one for each output [row_major]");
  command->add_option("--threads", arguments->threads, "Number of threads that the default schedule uses")
      ->check(CLI::Range(1, 1024));
  command->add_flag("--schedule", arguments->print_schedule, "Print the schedule");
  command->add_flag("--ir", arguments->ir, "Print the loop IR after the last pass");
  add_print_after_option(*command, arguments->print_after, "the loop IR");
  command->add_flag("--asm", arguments->assembly,
                    "Print the assembly; for a GPU, the CUDA C or OpenCL C source");
  command->add_flag("--manifest", arguments->manifest,
                    "Print the manifest of the compiled kernel as JSON: ports and launch plan");
  command->add_option("-o,--output", arguments->output,
                      "Write the machine code to this file: a shared object, a cubin or OpenCL C");
  command->add_flag("--json", arguments->json, "Print the result as JSON");
  command->footer(
      "Example: compiler kernel gemm.workload --with tiled.schedule --print-after vectorize\n"
      "         compiler kernel gemm.workload --target cuda:arch=sm_90 --ir --asm -o gemm.cubin");
  command->callback([arguments, &invocation] { invocation.run = [arguments] { return run(*arguments); }; });
}

}  // namespace tf::compiler_cli
