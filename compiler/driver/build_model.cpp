
#include "compiler/driver/build_model.h"

#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>
#include <span>
#include <thread>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/digest.h"
#include "base/files/file.h"
#include "base/files/owned_fd.h"
#include "base/files/temporary_folder.h"
#include "base/files/write_all.h"
#include "base/status.h"
#include "compiler/driver/builder.h"
#include "compiler/driver/library/cmake_package.h"
#include "compiler/driver/library/device_kernel.h"
#include "compiler/driver/model_header.h"
#include "compiler/driver/model_name.h"
#include "compiler/driver/model_tables.h"
#include "compiler/driver/runtime_archive.h"
#include "compiler/driver/wire.h"
#include "compiler/graph/program/memory_plan.h"
#include "compiler/recipes/recipes.h"
#include "proto/kernel/v1/kernel.pb.h"

namespace tf::driver {
namespace {

namespace proto = tunefarm::kernel::v1;
namespace fs = std::filesystem;

constexpr char kLibrary[] = "model.so", kArchive[] = "model.a";  // the archive only in the scratch folder

// More workspace than this, at the greatest size of a range, makes the build try other sketches. Recipes do not know that size.
constexpr uint64_t kMuchWorkspaceBytes = uint64_t{256} << 20;

target::Target host_of(const BuildModelOptions& options) {
  if (!is_for_device(options.target)) return options.target;
  return options.host ? *options.host : target::host_target();
}

// "k3_conv2d_bias_relu": unique by its number, readable in a profiler.
std::string entry_name(size_t task, const std::string& label) {
  std::string name = absl::StrCat("k", task, "_");
  for (char c : label.substr(0, 60)) name += absl::ascii_isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

// Of a kernel for all of their values.
std::vector<tensor::Dimension> open_dims(const tensor::KernelSpec& kernel) {
  return kernel.binding.empty() ? kernel.workload.dims : std::vector<tensor::Dimension>();
}

// Where a model runs a task.
struct Sides {
  bool device = false, host = false;
};

void note_sides(const graph::Program& program, bool on_device, std::vector<Sides>& sides) {
  for (const graph::Call& call : program.calls) {
    if (call.task() < 0) continue;
    Sides& task = sides[static_cast<size_t>(call.task())];
    (on_device ? task.device : task.host) = true;
  }
  for (const graph::Program& body : program.bodies) note_sides(body, false, sides);
}

std::vector<Sides> sides_of(const graph::Program& program, bool has_device) {
  std::vector<Sides> sides(program.tasks.size());
  const bool on_device = has_device && runs_on_device(program);
  note_sides(program, on_device, sides);
  for (const graph::Variant& variant : program.variants) note_sides(variant.program, on_device, sides);
  return sides;
}

// Compiles one kernel a task, or one for each side, in as many threads as the builder has slots.
class KernelBuilder {
 public:
  KernelBuilder(const graph::Program& program, const std::vector<std::optional<ScheduleChoice>>& choices,
                Builder& builder, const BuildModelOptions& options)
      : program_(program),
        choices_(choices),
        builder_(builder),
        options_(options),
        sides_(sides_of(program, is_for_device(options.target))),
        kernels_(program.tasks.size()) {}

  absl::StatusOr<std::vector<Kernel>> run(ModelReport& report) {
    std::vector<std::thread> threads;
    const size_t wanted =
        std::min<size_t>(static_cast<size_t>(std::max(1, builder_.slots())), kernels_.size());
    for (size_t i = 0; i < wanted; ++i) {
      threads.emplace_back([this] {
        for (size_t task = next_++; task < kernels_.size() && !failed_; task = next_++) build_one(task);
      });
    }
    for (std::thread& thread : threads) thread.join();
    TF_RETURN_IF_ERROR(error_);
    for (size_t i = 0; i < kernels_.size(); ++i) {
      const graph::Task& task = program_.tasks[i];
      const proto::Manifest& manifest =
          kernels_[i].device ? kernels_[i].device->manifest : kernels_[i].manifest;
      report.tasks.push_back({task.label,
                              tensor::workload_key(task.kernel.workload).hex(),
                              task.count,
                              task.flops,
                              kernels_[i].tuned ? choices_[i] : std::nullopt,
                              kernels_[i].problem,
                              !task.at_sizes.empty(),
                              {manifest.numerics().begin(), manifest.numerics().end()},
                              kernels_[i].device.has_value(),
                              is_for_host(kernels_[i]),
                              kernels_[i].why_not_device});
    }
    return std::move(kernels_);
  }

 private:
  void build_one(size_t task) {
    const absl::Status status = build_sides(task);
    if (status.ok()) return;
    std::lock_guard lock(mutex_);
    failed_ = true;
    if (error_.ok())
      error_ = absl::Status(status.code(),
                            absl::StrCat("kernel '", program_.tasks[task].label, "': ", status.message()));
  }

  absl::Status build_sides(size_t task) {
    if (!is_for_device(options_.target)) return build_tuned_or_default(task, options_.target, choices_[task]);
    Sides sides = sides_[task];
    if (sides.device) {
      absl::Status status = build_tuned_or_default(task, options_.target, choices_[task]);
      if (absl::IsInternal(status) && !kernels_[task].device) {
        kernels_[task].why_not_device = std::string(status.message());
        sides.host = true;
      } else if (!status.ok()) {
        return status;
      }
    }
    return sides.host ? build_tuned_or_default(task, host_of(options_), std::nullopt) : absl::OkStatus();
  }

  absl::Status build_tuned_or_default(size_t task, const target::Target& target,
                                      const std::optional<ScheduleChoice>& choice) {
    std::string problem;
    if (choice) {
      TF_ASSIGN_OR_RETURN(const bool built, build(task, target, choice->schedule, problem));
      kernels_[task].tuned = built;
      if (built) return absl::OkStatus();
      kernels_[task].problem = problem;
      if (options_.on_failed_choice == OnFailedChoice::kFail) {
        return absl::FailedPreconditionError(absl::StrCat(
            "the schedule of record ", choice->record.substr(0, 12), " cannot be built: ", problem));
      }
    }
    const graph::Task& t = program_.tasks[task];
    // A kernel for all sizes has the default schedule of one of them: of the first for which it is legal at all, else that of another
    // sketch, else none. On a device, another sketch also stands in for one that needs much workspace.
    const bool counts_workspace = !t.at_sizes.empty() && is_for_device(target);
    const auto workspace_bytes = [&] {
      return counts_workspace ? kernels_[task].device->code.workspace_bytes : 0;
    };
    std::vector<tensor::KernelSpec> at_sizes = t.at_sizes;
    if (at_sizes.empty()) at_sizes.push_back(t.kernel);
    std::optional<DeviceKernel> least;  // workspace
    for (const tensor::KernelSpec& kernel : at_sizes) {
      TF_ASSIGN_OR_RETURN(const tensor::Workload bound, tensor::bind(kernel.workload, kernel.binding));
      const tensor::KernelSpec spec{.workload = bound,
                                    .ports = kernel.ports,
                                    .target = target,
                                    .threads = options_.threads,
                                    .allowed = options_.allowed_numerics};
      TF_ASSIGN_OR_RETURN(bool built,
                          build(task, target, schedule::to_string(recipes::default_schedule(spec)), problem));
      if (built && workspace_bytes() <= kMuchWorkspaceBytes) return absl::OkStatus();
      if (t.at_sizes.empty()) break;
      const auto note = [&] {
        if (built && (!least || workspace_bytes() < least->code.workspace_bytes))
          least = kernels_[task].device;
      };
      note();
      const std::vector<recipes::Sketch> sketches = recipes::sketches_of(spec);
      for (const recipes::Sketch& sketch : std::span(sketches).subspan(1)) {
        const schedule::Schedule schedule = recipes::instantiate(sketch, sketch.default_point());
        TF_ASSIGN_OR_RETURN(built, build(task, target, schedule::to_string(schedule), problem));
        if (built && workspace_bytes() <= kMuchWorkspaceBytes) return absl::OkStatus();
        note();
      }
    }
    if (least) {
      kernels_[task].device = std::move(least);
      return absl::OkStatus();
    }
    // Without steps, a kernel of a device has one thread.
    if (!t.at_sizes.empty() && !is_for_device(target)) {
      TF_ASSIGN_OR_RETURN(const bool built,
                          build(task, target, schedule::to_string(schedule::Schedule{}), problem));
      if (built) return absl::OkStatus();
    }
    return absl::InternalError(absl::StrCat("its default schedule does not compile: ", problem));
  }

  // False if the schedule does not compile, with the reason in `problem`; an error if nothing could be built
  // at all.
  absl::StatusOr<bool> build(size_t task, const target::Target& target, const std::string& schedule,
                             std::string& problem) {
    const graph::Task& t = program_.tasks[task];
    proto::BuildRequest request = kernel_request(t.kernel, target.text(), schedule);
    const bool for_device = is_for_device(target);
    request.mutable_kernel()->set_entry(entry_name(task, t.kernel.workload.label));
    request.mutable_kernel()->set_use(for_device ? proto::KERNEL_USE_DEVICE : proto::KERNEL_USE_MODEL);
    TF_ASSIGN_OR_RETURN(proto::BuildReply reply, builder_.build(request));
    if (reply.code() != 0) {
      problem = reply.message();
      return false;
    }
    const proto::Manifest& manifest = reply.artifact().manifest();
    // What the schedule does counts, not what a record says of it.
    for (const std::string& used : manifest.numerics()) {
      if (schedule::allows(options_.allowed_numerics, used.c_str())) continue;
      problem = absl::StrCat("its schedule uses ", used, ": give --allow ", used);
      return false;
    }
    Kernel& result = kernels_[task];
    if (for_device) {
      absl::StatusOr<DeviceKernel> kernel =
          device_kernel(std::move(*reply.mutable_artifact()), open_dims(t.kernel));
      if (!kernel.ok()) {
        problem = std::string(kernel.status().message());
        return false;
      }
      result.device = *std::move(kernel);
      return true;
    }
    if (reply.artifact().blobs_size() != 1)
      return absl::InternalError(
          absl::StrCat("a build worker returned ", reply.artifact().blobs_size(), " blobs for one kernel"));
    result.entry = request.kernel().entry();
    result.object = std::move(*reply.mutable_artifact()->mutable_blobs(0)->mutable_content());
    result.manifest = std::move(*reply.mutable_artifact()->mutable_manifest());
    return true;
  }

  const graph::Program& program_;
  const std::vector<std::optional<ScheduleChoice>>& choices_;
  Builder& builder_;
  const BuildModelOptions& options_;
  const std::vector<Sides> sides_;
  std::vector<Kernel> kernels_;
  std::atomic<size_t> next_ = 0;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;
  absl::Status error_;
};

// In the model's own folder, so that what is ready can be renamed into place.
absl::StatusOr<TemporaryFolder> scratch_folder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    return absl::PermissionDeniedError(
        absl::StrCat("cannot make the folder ", folder, ": ", error.message()));
  }
  return TemporaryFolder::make_in({folder});
}

// Of the tree that this program was built in: beside its own folder, or where CMake put it.
absl::StatusOr<std::string> default_runtime_archive(const target::Target& target) {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  const fs::path beside = self.parent_path().parent_path() / "lib" / "libtf_runtime_model.a";
  const fs::path own = !error && fs::exists(beside, error) ? beside : fs::path(TF_RUNTIME_MODEL_ARCHIVE);
  return runtime_archive_of(target, target::host_target().arch, own.string());
}

absl::Status write_library(const proto::LinkedModel& model, const Weights& weights, const std::string& path) {
  const OwnedFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.get() < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
  TF_RETURN_IF_ERROR(write_all(file.get(), model.before(), path));
  TF_RETURN_IF_ERROR(weights.write(file.get(), path));
  return write_all(file.get(), model.after(), path);
}

absl::Status link_into(const std::string& path, const proto::BuildRequest& request, const Weights& weights,
                       Builder& builder) {
  TF_ASSIGN_OR_RETURN(const proto::BuildReply reply, builder.build(request));
  if (reply.code() != 0)
    return absl::Status(reply.code() == static_cast<int>(absl::StatusCode::kInvalidArgument)
                            ? absl::StatusCode::kInvalidArgument
                            : absl::StatusCode::kInternal,
                        absl::StrCat("cannot link the model: ", reply.message()));
  return write_library(reply.model(), weights, path);
}

absl::Status link(std::vector<Kernel>& kernels, const ModelTables& tables, const std::string& runtime_archive,
                  const TemporaryFolder& scratch, Builder& builder, const BuildModelOptions& options) {
  proto::BuildRequest request;
  proto::LinkModelRequest& link = *request.mutable_link();
  for (Kernel& kernel : kernels) {
    if (!is_for_host(kernel)) continue;
    proto::LinkModelRequest::Kernel& linked = *link.add_kernels();
    linked.set_entry(kernel.entry);
    linked.set_object(std::move(kernel.object));
  }
  for (const std::string& function : tables.host_functions) link.add_kernels()->set_entry(function);
  link.set_blob(tables.blob);
  link.set_weights_bytes(tables.weights.bytes());
  TF_ASSIGN_OR_RETURN(*link.mutable_runtime_archive(), read_file(runtime_archive));
  link.set_target(host_of(options).text());
  link.set_prefix(options.name);
  TF_RETURN_IF_ERROR(link_into(scratch.file(kLibrary), request, tables.weights, builder));
  if (!options.with_archive) return absl::OkStatus();
  link.set_archive(true);
  return link_into(scratch.file(kArchive), request, tables.weights, builder);
}

// Of what kernels read, each constant once.
uint64_t constant_bytes(const graph::Program& program) {
  std::set<const graph::Blob*> constants;
  graph::for_each_program(program, [&](const graph::Program& each) {
    for (const graph::Call& call : each.calls)
      for (const graph::Operand& operand : call.operands)
        if (operand.value < 0)
          constants.insert(graph::as<graph::Constant>(each.graph.node(operand.constant))->data.get());
  });
  uint64_t bytes = 0;
  for (const graph::Blob* constant : constants) bytes += constant->bytes().size();
  return bytes;
}

// Of each kernel, the operands that its output may be written over.
std::vector<std::vector<int>> in_place_operands(const std::vector<Kernel>& kernels) {
  std::vector<std::vector<int>> all;
  for (const Kernel& kernel : kernels) {
    std::vector<int>& operands = all.emplace_back();
    // Threads of a device run in any order, and its compiler believes that buffers are apart.
    if (kernel.device) continue;
    for (int i = 0; i + 1 < kernel.manifest.ports_size(); ++i)
      if (kernel.manifest.ports(i).in_place()) operands.push_back(i);
  }
  return all;
}

// `soname` in the folder as another name of model.so: a copy where the file system has no links.
std::error_code add_soname(const TemporaryFolder& scratch, const fs::path& folder, const fs::path& soname) {
  std::error_code error, no_link;
  fs::create_symlink(kLibrary, scratch.file("link"), no_link);
  if (no_link) fs::copy_file(folder / kLibrary, scratch.file("link"), error);
  if (!error) fs::rename(scratch.file("link"), folder / soname, error);
  return error;
}

fs::path archive_in(const fs::path& folder, const std::string& name) {
  return folder / ("lib" + name + ".a");
}
fs::path package_in(const fs::path& folder, const std::string& name) {
  return folder / (name + "-config.cmake");
}

// What an earlier build left that this one does not replace: its names, by which its functions are no longer
// found, and its archive. Links that are not ours stay.
void remove_earlier(const fs::path& folder, const BuildModelOptions& options) {
  std::error_code ignored;
  const std::string earlier = model_name_in(read_file((folder / "model.h").string()).value_or(""));
  if (!check_model_name(earlier).ok()) return;
  if (earlier != options.name || !options.with_archive) fs::remove(archive_in(folder, earlier), ignored);
  if (earlier == options.name) return;
  const fs::path link = folder / ("lib" + earlier + ".so");
  if (fs::read_symlink(link, ignored) == kLibrary) fs::remove(link, ignored);
  fs::remove(package_in(folder, earlier), ignored);
}

// Puts what is ready in the scratch folder into the model's: its header and CMake package, model.so, the name
// by which programs that were linked with it find it, and its archive.
absl::Status publish(const TemporaryFolder& scratch, const BuildModelOptions& options,
                     const std::string& header) {
  const fs::path folder = options.folder;
  remove_earlier(folder, options);
  TF_RETURN_IF_ERROR(write_file((folder / "model.h").string(), header));
  TF_RETURN_IF_ERROR(write_file(package_in(folder, options.name).string(), cmake_package(options.name)));
  std::error_code error;
  fs::rename(scratch.file(kLibrary), folder / kLibrary, error);
  if (!error) error = add_soname(scratch, folder, "lib" + options.name + ".so");
  if (!error && options.with_archive)
    fs::rename(scratch.file(kArchive), archive_in(folder, options.name), error);
  if (!error) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("cannot write ", (folder / kLibrary).string(), ": ", error.message()));
}

}  // namespace

absl::StatusOr<std::vector<std::optional<ScheduleChoice>>> choose_schedules(const graph::Program& program,
                                                                            const target::Target& target,
                                                                            int threads,
                                                                            ScheduleSource& source) {
  std::vector<std::optional<ScheduleChoice>> choices;
  for (const graph::Task& task : program.tasks) {
    std::optional<ScheduleChoice> choice;
    for (size_t i = 0; i < task.at_sizes.size() && !choice; ++i) {
      TF_ASSIGN_OR_RETURN(choice, source.find(tensor::key_for(task.at_sizes[i], target, threads)));
      if (choice) choice->at_size = i;
    }
    if (task.at_sizes.empty()) {
      TF_ASSIGN_OR_RETURN(choice, source.find(tensor::key_for(task.kernel, target, threads)));
    }
    choices.push_back(std::move(choice));
  }
  return choices;
}

absl::StatusOr<ModelReport> build_model(const graph::Program& planned,
                                        const std::vector<std::optional<ScheduleChoice>>& choices,
                                        Builder& builder, const BuildModelOptions& options) {
  graph::Program program = planned;
  TF_RETURN_IF_ERROR(check_model_name(options.name));
  TF_CHECK(choices.size() == program.tasks.size()) << "expected one choice per task";
  TF_ASSIGN_OR_RETURN(const TemporaryFolder scratch, scratch_folder(options.folder));
  std::string runtime_archive = options.runtime_archive_path;
  // Before kernels are compiled, which takes a while.
  if (runtime_archive.empty()) {
    TF_ASSIGN_OR_RETURN(runtime_archive, default_runtime_archive(host_of(options)));
  }
  ModelReport report;
  TF_ASSIGN_OR_RETURN(std::vector<Kernel> kernels,
                      KernelBuilder(program, choices, builder, options).run(report));
  for (const Kernel& kernel : kernels) {
    report.workspace_bytes =
        std::max(report.workspace_bytes,
                 kernel.manifest.workspace_bytes() +
                     static_cast<uint64_t>(options.threads) * kernel.manifest.workspace_per_thread_bytes());
    if (kernel.device)
      report.workspace_bytes = std::max(report.workspace_bytes, kernel.device->code.workspace_bytes);
  }
  graph::reuse_operands(program, in_place_operands(kernels));
  const std::string device_function = device_function_of(options.target);
  const graph::MemoryPlan memory =
      graph::plan_memory(program, device_function.empty() ? TF_ALIGNMENT : TF_DEVICE_ALIGNMENT);
  TF_RETURN_IF_ERROR(graph::check_memory(program, memory));
  TF_ASSIGN_OR_RETURN(const ModelTables tables, make_tables(program, memory, kernels, device_function));
  TF_RETURN_IF_ERROR(link(kernels, tables, runtime_archive, scratch, builder, options));
  const Digest identity = sha256(tables.blob);
  uint64_t number = 0;
  std::memcpy(&number, identity.bytes.data(), sizeof number);
  TF_RETURN_IF_ERROR(publish(scratch, options, model_header(program, options.name, number)));
  report.weights_bytes = tables.weights.bytes();
  report.constant_bytes = constant_bytes(program);
  report.arena_bytes = memory.arena_bytes;
  return report;
}

}  // namespace tf::driver
