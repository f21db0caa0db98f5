#pragma once
// Owns: a compiled kernel in this process, called on arrays. Does not know: how it was compiled, schedules.

#include <pybind11/pybind11.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/files/owned_fd.h"
#include "compiler/python/arrays.h"
#include "compiler/runtime/kernel_abi.h"
#include "compiler/runtime/layout.h"
#include "proto/kernel/v1/kernel.pb.h"

namespace tf::python {

// One call at a time: calls of several threads wait for each other, without the GIL. The code runs in this process.
class Kernel {
 public:
  // Of an artifact for this machine. Error: it cannot be loaded, as one for another processor.
  Kernel(const tunefarm::kernel::v1::Artifact& artifact, int threads);
  ~Kernel();
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  // An array for each output, those of `out` where it is a list: an array or None for each. `inputs` has one value for each
  // input and constant of the workload, all row-major; constants are packed at every call, others copied if they are not aligned
  // or the kernel wants them in another layout. TypeError, ValueError: a value is not what the kernel takes.
  pybind11::list run(const pybind11::list& inputs, const pybind11::object& out);

 private:
  struct Port {
    tunefarm::kernel::v1::Port proto;
    std::string what;
    tensor::Element element;
    Shape shape;
    std::optional<tf_layout> layout;  // of an input or output that is not row-major
    Wanted wanted;
  };

  void add_port(const tunefarm::kernel::v1::Port& port);
  // What the kernel reads: the argument itself, or bytes that `copies` then owns.
  absl::StatusOr<const void*> stored(const Port& port, const void* given, std::vector<Bytes>& copies) const;
  static absl::StatusOr<void*> allocate_for(const Port& port, std::vector<Bytes>& copies);
  // Where an output goes, which `arrays` then has: a new array, or the one that is given.
  void* output_of(const Port& port, const pybind11::object& given, const std::vector<Argument>& arguments,
                  pybind11::list& arrays) const;
  absl::Status run_on(const std::vector<Argument>& arguments, const std::vector<void*>& outputs);

  OwnedFd file_;  // its number names the library: open as long as that is loaded
  void* library_ = nullptr;
  tf_kernel entry_ = nullptr;
  tf_runtime* runtime_ = nullptr;
  Bytes workspace_;
  std::vector<int64_t> dims_;
  std::vector<std::unique_ptr<Port>> inputs_,
      outputs_;       // inputs: of the workload, then constants made of these
  size_t given_ = 0;  // inputs that the caller gives
  std::mutex running_;
};

void add_kernel(pybind11::module_& module);

}  // namespace tf::python
