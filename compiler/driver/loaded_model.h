#pragma once
// Owns: a built model.so in this process: compiler/runtime/model.h found by dlopen. Does not know: how it was
// built.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/graph/host_tensor.h"
#include "compiler/graph/program/named_dimension.h"
#include "compiler/runtime/model_types.h"

namespace tf::driver {

// Of one kernel in one run of the model, in which loops may call it many times.
struct KernelTime {
  std::string name;
  std::string key;
  double flops = 0, bytes = 0;  // of the last run in which it was called
  std::vector<double> samples_ns;
};

// Not thread-safe.
class LoadedModel {
 public:
  // FOLDER/model.so. NOT_FOUND or FAILED_PRECONDITION with what to do.
  static absl::StatusOr<std::unique_ptr<LoadedModel>> open(const std::string& folder, int threads,
                                                           const tf_device* device = nullptr);
  ~LoadedModel();

  // Names, element types and shapes, which are the greatest of a model with dimensions; no data.
  const std::vector<graph::HostTensor>& inputs() const { return inputs_; }
  const std::vector<graph::HostTensor>& outputs() const { return outputs_; }
  // Sizes of inputs that may differ from run to run. Of outputs, others may differ, too: those that a run finds.
  const std::vector<graph::NamedDimension>& dims() const { return dims_; }
  // The shape of each input at these values of the dimensions; the greatest where none is given. INVALID_ARGUMENT for a
  // dimension that the model does not have, or a value that it does not take.
  absl::StatusOr<std::vector<std::vector<int64_t>>> shapes_at(const tensor::Binding& sizes) const;
  // Of each input: tf_tensor_info.index_extent.
  const std::vector<int64_t>& index_extents() const { return index_extents_; }

  // The GPU that it runs on; null: none.
  const tf_device* device() const;
  // As tf_model_run_on.
  absl::Status run_in(std::span<const tf_memory> inputs, std::span<const tf_memory> outputs);

  // Of all its kernels, as their operators are defined.
  double flops() const;

  // Keeps worker t on CPU cpus[t % count], the calling thread being worker 0; no CPUs: nothing happens.
  // INVALID_ARGUMENT if this process may not use one of them.
  absl::Status set_affinity(const std::vector<int>& cpus);

  // INVALID_ARGUMENT if a value does not fit its input; OUT_OF_RANGE if an index lies outside its axis;
  // INTERNAL if the model fails otherwise.
  absl::StatusOr<std::vector<graph::HostTensor>> run(const std::vector<graph::HostTensor>& inputs);

  // Sets the inputs of the following runs, then runs without copying anything; returns nanoseconds.
  absl::Status bind(const std::vector<graph::HostTensor>& inputs);
  absl::StatusOr<double> run_bound();
  // Names, element types and shapes of the last run's outputs.
  std::vector<graph::HostTensor> last_outputs() const;

  // The same of the caller's memory, as compiler/runtime/model.h asks for it and of the right shapes: `outputs` are written,
  // unless the model has sizes that vary. Then results() has them, in the model's memory until its next run.
  absl::Status run_on(std::span<const tf_tensor> inputs, std::span<void* const> outputs);
  bool has_sizes() const;
  const std::vector<tf_tensor>& results() const;
  // As the C API describes them.
  const tf_tensor_info& input_info(size_t index) const;
  const tf_tensor_info& output_info(size_t index) const;

  // From now on, times of every kernel are kept, in order of execution.
  void profile();
  std::vector<KernelTime> kernel_times() const;

 private:
  std::string dims_text() const;  // "batch=1..64, sequence=1..512"
  // Whether the shape is one of the input's.
  bool is_shape_of(size_t input, const std::vector<int64_t>& shape) const;

  struct Impl;
  explicit LoadedModel(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
  std::vector<graph::HostTensor> inputs_, outputs_;
  std::vector<graph::NamedDimension> dims_;
  std::vector<int64_t> index_extents_;
};

// Seeded uniform values for each of the model's inputs: in [0, 1), or whole numbers below 100 and, if they
// are used as indices, within their axis. Shapes and errors are those of shapes_at.
absl::StatusOr<std::vector<graph::HostTensor>> random_inputs_at(const LoadedModel& model, uint64_t seed,
                                                                const tensor::Binding& sizes);
// At the greatest sizes.
std::vector<graph::HostTensor> random_inputs(const LoadedModel& model, uint64_t seed);

}  // namespace tf::driver
