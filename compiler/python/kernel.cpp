#include "compiler/python/kernel.h"

#include <dlfcn.h>
#include <pybind11/stl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/files/write_all.h"
#include "base/status.h"
#include "compiler/driver/element_number.h"
#include "compiler/driver/library/weights.h"
#include "compiler/graph/blob.h"
#include "compiler/graph/graph.h"
#include "compiler/python/errors.h"
#include "compiler/python/gil.h"
#include "compiler/runtime/layout.h"
#include "compiler/runtime/thread_pool.h"

namespace py = pybind11;

namespace tf::python {
namespace {

namespace proto = tunefarm::kernel::v1;

// As what a model's weights are packed: in whatever form the port wants them.
absl::StatusOr<Bytes> packed(const proto::Port& port, tensor::Element element, const Shape& shape,
                             const void* data) {
  graph::Graph graph;
  graph::TensorType type{.element = element, .extents = {}};
  for (const int64_t extent : shape) type.extents.push_back(tensor::imm(extent));
  const auto blob = std::make_shared<const graph::Blob>(
      std::string(static_cast<const char*>(data), static_cast<size_t>(bytes_of(element, shape))));
  const graph::NodeId node = graph.add_constant(type, blob, port.name());
  driver::Weights weights;
  TF_RETURN_IF_ERROR(weights.offset_of(graph, node, port).status());
  const OwnedFd file(memfd_create("constant", MFD_CLOEXEC));
  if (file.get() < 0) return absl::ResourceExhaustedError("there is no memory for a constant");
  TF_RETURN_IF_ERROR(weights.write(file.get(), "a file in memory"));
  Bytes bytes = allocate(port.size_bytes());
  if (bytes == nullptr ||
      pread(file.get(), bytes.get(), port.size_bytes(), 0) != static_cast<ssize_t>(port.size_bytes()))
    return absl::ResourceExhaustedError("there is no memory for a constant");
  return bytes;
}

}  // namespace

void Kernel::add_port(const proto::Port& described) {
  const bool is_output = described.role() == proto::PORT_ROLE_OUTPUT;
  std::vector<std::unique_ptr<Port>>& ports = is_output ? outputs_ : inputs_;
  Port& port = *ports.emplace_back(std::make_unique<Port>());
  port.proto = described;
  // The canonical names, as schedules have them.
  port.what =
      is_output ? absl::StrCat("output ", outputs_.size() - 1) : absl::StrCat("input p", inputs_.size() - 1);
  port.element = driver::element_of_number(described.element());
  port.shape.assign(described.extents().begin(), described.extents().end());
  if (described.role() != proto::PORT_ROLE_CONSTANT && !described.layout().empty() &&
      tf_layout_parse(described.layout().c_str(), static_cast<int32_t>(port.shape.size()),
                      &port.layout.emplace()) != 0)
    check(driver::wrong_port(absl::StrCat("has a port stored as '", described.layout(), "'")));
  port.wanted = {.what = port.what,
                 .element = port.element,
                 .fits = [&port](const Shape& shape) { return shape == port.shape; },
                 .shape_text = [&port] { return type_text("", port.shape); }};
  if (!is_output && !described.has_sums()) given_ = inputs_.size();
}

Kernel::Kernel(const proto::Artifact& artifact, int threads) {
  if (artifact.blobs_size() != 1 || artifact.blobs(0).kind() != proto::BLOB_KIND_ELF_SHARED)
    check(absl::FailedPreconditionError(
        absl::StrCat("a kernel for ", artifact.manifest().target(),
                     " cannot run in this process: compile for target 'host'")));
  file_ = OwnedFd(memfd_create("kernel", MFD_CLOEXEC));
  check(write_all(file_.get(), artifact.blobs(0).content(), "a file in memory"));
  library_ = dlopen(absl::StrCat("/proc/", getpid(), "/fd/", file_.get()).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library_ != nullptr) entry_ = reinterpret_cast<tf_kernel>(dlsym(library_, "kernel"));
  if (entry_ == nullptr) {
    const std::string why = dlerror();
    if (library_ != nullptr) dlclose(library_);
    check(absl::FailedPreconditionError(absl::StrCat("the kernel cannot be loaded here: ", why)));
  }
  const proto::Manifest& manifest = artifact.manifest();
  for (const proto::Port& port : manifest.ports()) add_port(port);
  dims_.assign(manifest.dim_values().begin(), manifest.dim_values().end());
  runtime_ = tf_runtime_create(threads);
  workspace_ = allocate(manifest.workspace_bytes() +
                        static_cast<uint64_t>(threads) * manifest.workspace_per_thread_bytes());
  if (runtime_ == nullptr || workspace_ == nullptr)
    check(absl::ResourceExhaustedError(absl::StrCat("there are no ", threads, " threads, or no memory")));
}

Kernel::~Kernel() {
  if (runtime_ != nullptr) tf_runtime_destroy(runtime_);
  if (library_ != nullptr) dlclose(library_);
}

absl::StatusOr<const void*> Kernel::stored(const Port& port, const void* given,
                                           std::vector<Bytes>& copies) const {
  if (port.proto.role() == proto::PORT_ROLE_CONSTANT) {
    const Port& source = port.proto.has_sums() ? *inputs_.at(port.proto.sums().port()) : port;
    TF_ASSIGN_OR_RETURN(Bytes bytes, packed(port.proto, source.element, source.shape, given));
    copies.push_back(std::move(bytes));
    return copies.back().get();
  }
  if (!port.layout && is_aligned(given)) return given;
  TF_ASSIGN_OR_RETURN(void* const copy, allocate_for(port, copies));
  if (port.layout)
    tf_layout_pack(&*port.layout, port.shape.data(), static_cast<int32_t>(port.shape.size()),
                   tensor::element_bytes(port.element), given, copy);
  else
    std::memcpy(copy, given, static_cast<size_t>(bytes_of(port.element, port.shape)));
  return copy;
}

absl::StatusOr<void*> Kernel::allocate_for(const Port& port, std::vector<Bytes>& copies) {
  copies.push_back(allocate(port.proto.size_bytes()));
  if (copies.back() == nullptr)
    return absl::ResourceExhaustedError(absl::StrCat("there is no memory for a copy of ", port.what));
  return copies.back().get();
}

absl::Status Kernel::run_on(const std::vector<Argument>& arguments, const std::vector<void*>& outputs) {
  std::vector<Bytes> copies;
  std::vector<void*> buffers;
  std::vector<uint64_t> sizes;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Port& port = *inputs_[i];
    const void* given = port.proto.has_sums() ? arguments[port.proto.sums().port()].data : arguments[i].data;
    TF_ASSIGN_OR_RETURN(const void* data, stored(port, given, copies));
    buffers.push_back(const_cast<void*>(data));
    sizes.push_back(port.proto.size_bytes());
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    buffers.push_back(outputs[i]);
    if (outputs_[i]->layout || !is_aligned(outputs[i])) {
      TF_ASSIGN_OR_RETURN(buffers.back(), allocate_for(*outputs_[i], copies));
    }
    sizes.push_back(outputs_[i]->proto.size_bytes());
  }
  const tf_call call = {TF_ABI_VERSION, static_cast<uint32_t>(buffers.size()),
                        buffers.data(), sizes.data(),
                        dims_.data(),   workspace_.get(),
                        runtime_};
  {
    const std::scoped_lock lock(running_);
    const int32_t code = entry_(&call);
    if (code != TF_KERNEL_OK) return absl::InternalError(absl::StrCat("the kernel failed with code ", code));
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const Port& port = *outputs_[i];
    const void* made = buffers[inputs_.size() + i];
    if (made == outputs[i]) continue;
    if (port.layout)
      tf_layout_unpack(&*port.layout, port.shape.data(), static_cast<int32_t>(port.shape.size()),
                       tensor::element_bytes(port.element), made, outputs[i]);
    else
      std::memcpy(outputs[i], made, static_cast<size_t>(bytes_of(port.element, port.shape)));
  }
  return absl::OkStatus();
}

void* Kernel::output_of(const Port& port, const py::object& given, const std::vector<Argument>& arguments,
                        py::list& arrays) const {
  if (given.is_none()) {
    Bytes bytes = allocate(static_cast<uint64_t>(bytes_of(port.element, port.shape)));
    if (bytes == nullptr) throw std::bad_alloc();
    void* data = bytes.get();
    arrays.append(array_of(std::move(bytes), port.element, port.shape));
    return data;
  }
  const Argument output = write_argument(given, port.wanted);
  const int64_t size = bytes_of(port.element, port.shape);
  for (size_t i = 0; i < given_; ++i)
    if (overlap(arguments[i].data, bytes_of(inputs_[i]->element, arguments[i].shape), output.data, size))
      throw py::value_error(absl::StrCat("the array for ", port.what, " shares memory with ",
                                         inputs_[i]->what, ": give another one, or a copy"));
  arrays.append(given);
  return const_cast<void*>(output.data);
}

py::list Kernel::run(const py::list& inputs, const py::object& out) {
  if (inputs.size() != given_)
    throw py::type_error(
        absl::StrCat("the kernel has ", given_, " inputs, but ", inputs.size(), " are given"));
  if (!out.is_none() && py::len(out) != outputs_.size())
    throw py::type_error(
        absl::StrCat("the kernel has ", outputs_.size(), " outputs, but out= has ", py::len(out), " arrays"));
  std::vector<Argument> arguments;
  for (size_t i = 0; i < given_; ++i) arguments.push_back(read_argument(inputs[i], inputs_[i]->wanted));
  py::list arrays;
  std::vector<void*> data;
  for (size_t i = 0; i < outputs_.size(); ++i)
    data.push_back(output_of(*outputs_[i], out.is_none() ? py::none() : py::object(out[py::int_(i)]),
                             arguments, arrays));
  absl::Status done;
  {
    const WithoutGil released;
    done = run_on(arguments, data);
  }
  check(done);
  return arrays;
}

void add_kernel(py::module_& module) {
  py::class_<Kernel>(module, "Kernel").def("run", &Kernel::run, py::arg("inputs"), py::arg("out"));
}

}  // namespace tf::python
