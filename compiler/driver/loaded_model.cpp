#include "compiler/driver/loaded_model.h"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "compiler/driver/element_number.h"
#include "compiler/driver/library_file.h"
#include "compiler/graph/element_values.h"
#include "compiler/graph/graph.h"
#include "compiler/runtime/kernel_abi.h"
#include "compiler/runtime/model.h"
#include "compiler/runtime/model_abi.h"

namespace tf::driver {
namespace {

using graph::HostTensor;

struct FreeAligned {
  void operator()(void* memory) const { std::free(memory); }
};
using AlignedBytes = std::unique_ptr<void, FreeAligned>;

AlignedBytes allocate(uint64_t bytes) {
  const uint64_t whole = (bytes + TF_ALIGNMENT - 1) / TF_ALIGNMENT * TF_ALIGNMENT;
  return AlignedBytes(std::aligned_alloc(TF_ALIGNMENT, std::max<uint64_t>(whole, TF_ALIGNMENT)));
}

HostTensor describe(const tf_tensor_info& info) {
  return {info.name, element_of_number(info.element), {info.extents, info.extents + info.rank}, nullptr};
}

}  // namespace

struct LoadedModel::Impl {
  void* library = nullptr;
  tf_model* model = nullptr;
  decltype(&tf_model_open) open = nullptr;
  decltype(&tf_model_close) close = nullptr;
  decltype(&tf_model_set_affinity) set_affinity = nullptr;
  decltype(&tf_model_input_count) input_count = nullptr;
  decltype(&tf_model_output_count) output_count = nullptr;
  decltype(&tf_model_dim_count) dim_count = nullptr;
  decltype(&tf_model_dim) dim = nullptr;
  decltype(&tf_model_input) input = nullptr;
  decltype(&tf_model_output) output = nullptr;
  decltype(&tf_model_run) run = nullptr;
  decltype(&tf_model_run_sizes) run_sizes = nullptr;
  decltype(&tf_model_kernel_count) kernel_count = nullptr;
  decltype(&tf_model_kernel) kernel = nullptr;
  decltype(&tf_model_set_profile) set_profile = nullptr;
  decltype(&tf_model_error_text) error_text = nullptr;
  decltype(&tf_model_open_on) open_on = nullptr;
  decltype(&tf_model_device) device = nullptr;
  decltype(&tf_model_run_on) run_on = nullptr;
  std::vector<AlignedBytes> input_bytes, output_bytes;
  std::vector<std::vector<int64_t>> input_shapes;  // as bound
  // Of the last run: where the outputs are, the model's own memory if it has dimensions.
  std::vector<tf_tensor> results;
  std::vector<KernelTime> times;
  // Of this run so far.
  struct Calls {
    int64_t count = 0;
    double total_ns = 0;
  };
  std::vector<Calls> calls;

  void finish_run() {
    for (size_t i = 0; i < calls.size(); ++i) {
      if (calls[i].count == 0) continue;
      const tf_kernel_info& info = *kernel(model, static_cast<int32_t>(i));
      times[i].flops = info.flops * static_cast<double>(calls[i].count);
      times[i].bytes = info.bytes * static_cast<double>(calls[i].count);
      times[i].samples_ns.push_back(calls[i].total_ns);
      calls[i] = {};
    }
  }

  absl::Status status_of(int32_t code) const {
    if (code == TF_MODEL_BAD_INDEX) return absl::OutOfRangeError(error_text(code));
    if (code == TF_MODEL_BAD_SIZE) return absl::InvalidArgumentError(error_text(code));
    if (code != TF_MODEL_OK) return absl::InternalError(absl::StrCat("the model failed: ", error_text(code)));
    return absl::OkStatus();
  }

  template <typename F>
  bool find(const std::string& name, F& function) {
    function = reinterpret_cast<F>(dlsym(library, name.c_str()));
    return function != nullptr;
  }
  // False if the library has no prefix, or not every function by it.
  bool find_all() {
    const char* prefix = nullptr;
    if (!find("tf_model_prefix", prefix)) return false;
    bool all = true;
#define TF_FIND(name) all = find(absl::StrCat(prefix, "_" #name), name) && all;
    TF_MODEL_FUNCTIONS(TF_FIND)
#undef TF_FIND
    return all;
  }
};

LoadedModel::LoadedModel(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

LoadedModel::~LoadedModel() {
  if (impl_->model) impl_->close(impl_->model);
  if (impl_->library) dlclose(impl_->library);
}

absl::StatusOr<std::unique_ptr<LoadedModel>> LoadedModel::open(const std::string& folder, int threads,
                                                               const tf_device* device) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::absolute(folder, error) / "model.so";
  if (!std::filesystem::exists(path, error))
    return absl::NotFoundError(
        absl::StrCat("there is no ", path.string(), ": build it with `compiler build -o ", folder, "`"));
  TF_RETURN_IF_ERROR(check_library_file(path.string()));
  auto impl = std::make_unique<Impl>();
  impl->library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  std::unique_ptr<LoadedModel> loaded(new LoadedModel(std::move(impl)));
  Impl& m = *loaded->impl_;
  if (!m.library) return absl::FailedPreconditionError(absl::StrCat("cannot load the model: ", dlerror()));
  if (!m.find_all()) {
    const bool is_old = dlsym(m.library, "tf_model_open") != nullptr;
    return absl::FailedPreconditionError(absl::StrCat(
        path.string(), is_old
                           ? " was built by an older version of the compiler: build the model again"
                           : " is not a model: its functions are missing; build it with `compiler build`"));
  }
  if (const int32_t code = m.open_on(threads, device, &m.model); code != TF_MODEL_OK)
    return absl::FailedPreconditionError(
        absl::StrCat("cannot open ", path.string(), ": ", m.error_text(code)));
  for (int32_t i = 0; i < m.input_count(m.model); ++i) {
    loaded->inputs_.push_back(describe(*m.input(m.model, i)));
    loaded->index_extents_.push_back(m.input(m.model, i)->index_extent);
    m.input_bytes.push_back(allocate(m.input(m.model, i)->size_bytes));
  }
  for (int32_t i = 0; i < m.output_count(m.model); ++i) {
    loaded->outputs_.push_back(describe(*m.output(m.model, i)));
    m.output_bytes.push_back(allocate(m.output(m.model, i)->size_bytes));
    m.results.push_back({m.output_bytes.back().get(), m.output(m.model, i)->extents});
  }
  // Those that a run finds come last, and are of no input.
  int32_t given = 0;
  for (int32_t i = 0; i < m.input_count(m.model); ++i) {
    const tf_tensor_info& info = *m.input(m.model, i);
    for (int32_t d = 0; d < info.rank; ++d) given = std::max(given, info.dims[d] + 1);
  }
  for (int32_t i = 0; i < given; ++i) {
    const tf_dim_info& dim = *m.dim(m.model, i);
    loaded->dims_.push_back({{tensor::var(dim.name), dim.low, dim.high}, dim.multiple_of});
  }
  return loaded;
}

absl::StatusOr<std::vector<std::vector<int64_t>>> LoadedModel::shapes_at(const tensor::Binding& sizes) const {
  for (const auto& [name, size] : sizes) {
    const auto dim = std::ranges::find_if(dims_, [&](const auto& each) { return each.var->name == name; });
    if (dim == dims_.end())
      return absl::InvalidArgumentError(absl::StrCat(
          "--dim ", name, "=", size, ": the model has no such dimension",
          dims_.empty() ? ": all its sizes are fixed" : absl::StrCat("; it has: ", dims_text())));
    if (size < dim->low || size > dim->high || size % dim->multiple_of != 0)
      return absl::InvalidArgumentError(absl::StrCat(
          "--dim ", name, "=", size, ": the model was built for ", name, " from ", dim->low, " to ",
          dim->high, dim->multiple_of > 1 ? absl::StrCat(" in multiples of ", dim->multiple_of) : ""));
  }
  std::vector<std::vector<int64_t>> shapes;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    std::vector<int64_t>& shape = shapes.emplace_back(inputs_[i].shape);
    const tf_tensor_info& info = *impl_->input(impl_->model, static_cast<int32_t>(i));
    for (size_t d = 0; d < shape.size(); ++d) {
      if (info.dims[d] < 0) continue;
      const auto size = sizes.find(dims_[static_cast<size_t>(info.dims[d])].var->name);
      if (size != sizes.end()) shape[d] = size->second;
    }
  }
  return shapes;
}

std::string LoadedModel::dims_text() const {
  return absl::StrJoin(dims_, ", ", [](std::string* out, const graph::NamedDimension& dim) {
    absl::StrAppend(out, dim.var->name, "=", dim.low, "..", dim.high);
    if (dim.multiple_of > 1) absl::StrAppend(out, ":", dim.multiple_of);
  });
}

double LoadedModel::flops() const {
  double sum = 0;
  for (int32_t i = 0; i < impl_->kernel_count(impl_->model); ++i)
    sum += impl_->kernel(impl_->model, i)->flops;
  return sum;
}

absl::Status LoadedModel::set_affinity(const std::vector<int>& cpus) {
  if (cpus.empty()) return absl::OkStatus();
  const std::vector<int32_t> numbers(cpus.begin(), cpus.end());
  if (impl_->set_affinity(impl_->model, numbers.data(), static_cast<int32_t>(numbers.size())) != TF_MODEL_OK)
    return absl::InvalidArgumentError(
        absl::StrCat("--affinity ", absl::StrJoin(cpus, ","),
                     ": this process may not use some of these CPUs; see `taskset -p $$`"));
  return absl::OkStatus();
}

absl::Status LoadedModel::bind(const std::vector<HostTensor>& inputs) {
  if (inputs.size() != inputs_.size())
    return absl::InvalidArgumentError(
        absl::StrCat(inputs.size(), " inputs are given, but the model has ", inputs_.size()));
  impl_->input_shapes.clear();
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].element != inputs_[i].element || !is_shape_of(i, inputs[i].shape))
      return absl::InvalidArgumentError(
          absl::StrCat("input '", inputs_[i].name, "' has the type ",
                       graph::to_string(graph::tensor_type(inputs[i].element, inputs[i].shape)),
                       ", but the model expects ",
                       graph::to_string(graph::tensor_type(inputs_[i].element, inputs_[i].shape)),
                       dims_.empty() ? "" : absl::StrCat(", or less of ", dims_text())));
    impl_->input_shapes.push_back(inputs[i].shape);
    std::memcpy(impl_->input_bytes[i].get(), inputs[i].data->bytes().data(), inputs[i].data->bytes().size());
  }
  return absl::OkStatus();
}

bool LoadedModel::is_shape_of(size_t input, const std::vector<int64_t>& shape) const {
  const tf_tensor_info& info = *impl_->input(impl_->model, static_cast<int32_t>(input));
  if (shape.size() != inputs_[input].shape.size()) return false;
  for (size_t d = 0; d < shape.size(); ++d) {
    const int64_t greatest = inputs_[input].shape[d];
    const graph::NamedDimension dim = info.dims[d] >= 0
                                          ? dims_[static_cast<size_t>(info.dims[d])]
                                          : graph::NamedDimension{{nullptr, greatest, greatest}};
    if (shape[d] < dim.low || shape[d] > dim.high || shape[d] % dim.multiple_of != 0) return false;
  }
  return true;
}

bool LoadedModel::has_sizes() const {
  return impl_->dim_count(impl_->model) > 0;
}

const std::vector<tf_tensor>& LoadedModel::results() const {
  return impl_->results;
}

const tf_tensor_info& LoadedModel::input_info(size_t index) const {
  return *impl_->input(impl_->model, static_cast<int32_t>(index));
}

const tf_tensor_info& LoadedModel::output_info(size_t index) const {
  return *impl_->output(impl_->model, static_cast<int32_t>(index));
}

absl::Status LoadedModel::run_on(std::span<const tf_tensor> inputs, std::span<void* const> outputs) {
  int32_t code = TF_MODEL_OK;
  if (has_sizes()) {
    code = impl_->run_sizes(impl_->model, inputs.data(), impl_->results.data());
  } else {
    std::vector<const void*> data;
    data.reserve(inputs.size() + 1);  // a model without inputs is still given an array
    for (const tf_tensor& input : inputs) data.push_back(input.data);
    code = impl_->run(impl_->model, data.data(), outputs.data());
  }
  impl_->finish_run();
  return impl_->status_of(code);
}

absl::Status LoadedModel::run_in(std::span<const tf_memory> inputs, std::span<const tf_memory> outputs) {
  const int32_t code = impl_->run_on(impl_->model, inputs.data(), outputs.data());
  impl_->finish_run();
  return impl_->status_of(code);
}

const tf_device* LoadedModel::device() const {
  return impl_->device(impl_->model);
}

absl::StatusOr<double> LoadedModel::run_bound() {
  std::vector<void*> outputs;
  for (const AlignedBytes& bytes : impl_->output_bytes) outputs.push_back(bytes.get());
  std::vector<tf_tensor> inputs;
  inputs.reserve(impl_->input_shapes.size() + 1);
  for (size_t i = 0; i < impl_->input_shapes.size(); ++i)
    inputs.push_back({impl_->input_bytes[i].get(), impl_->input_shapes[i].data()});
  const auto start = std::chrono::steady_clock::now();
  TF_RETURN_IF_ERROR(run_on(inputs, outputs));
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
  return took.count();
}

absl::StatusOr<std::vector<HostTensor>> LoadedModel::run(const std::vector<HostTensor>& inputs) {
  TF_RETURN_IF_ERROR(bind(inputs));
  // An output that a kernel forgets must not look like the last run's.
  for (size_t i = 0; i < outputs_.size(); ++i)
    std::memset(impl_->output_bytes[i].get(), 0xff,
                impl_->output(impl_->model, static_cast<int32_t>(i))->size_bytes);
  TF_RETURN_IF_ERROR(run_bound().status());
  std::vector<HostTensor> values = last_outputs();
  for (size_t i = 0; i < values.size(); ++i) {
    int64_t size_bytes = tensor::element_bytes(values[i].element);
    for (const int64_t extent : values[i].shape) size_bytes *= extent;
    values[i].data = std::make_shared<const graph::Blob>(
        std::string(static_cast<const char*>(impl_->results[i].data), static_cast<size_t>(size_bytes)));
  }
  return values;
}

std::vector<HostTensor> LoadedModel::last_outputs() const {
  std::vector<HostTensor> outputs = outputs_;
  for (size_t i = 0; i < outputs.size(); ++i)
    outputs[i].shape = {impl_->results[i].extents, impl_->results[i].extents + outputs[i].shape.size()};
  return outputs;
}

void LoadedModel::profile() {
  for (int32_t i = 0; i < impl_->kernel_count(impl_->model); ++i) {
    const tf_kernel_info& info = *impl_->kernel(impl_->model, i);
    impl_->times.push_back({info.name, info.key, info.flops, info.bytes, {}});
  }
  impl_->calls.resize(impl_->times.size());
  impl_->set_profile(
      impl_->model,
      [](void* context, int32_t kernel, int64_t start_ns, int64_t end_ns) {
        Impl::Calls& calls = static_cast<Impl*>(context)->calls[kernel];
        ++calls.count;
        calls.total_ns += static_cast<double>(end_ns - start_ns);
      },
      impl_.get());
}

std::vector<KernelTime> LoadedModel::kernel_times() const {
  std::vector<KernelTime> called = impl_->times;
  std::erase_if(called, [](const KernelTime& kernel) { return kernel.samples_ns.empty(); });
  return called;
}

std::vector<HostTensor> random_inputs(const LoadedModel& model, uint64_t seed) {
  return random_inputs_at(model, seed, {}).value();
}

absl::StatusOr<std::vector<HostTensor>> random_inputs_at(const LoadedModel& model, uint64_t seed,
                                                         const tensor::Binding& sizes) {
  std::mt19937_64 generator(seed);
  TF_ASSIGN_OR_RETURN(const std::vector<std::vector<int64_t>> shapes, model.shapes_at(sizes));
  std::vector<HostTensor> values = model.inputs();
  for (size_t i = 0; i < values.size(); ++i) values[i].shape = shapes[i];
  for (size_t i = 0; i < values.size(); ++i) {
    HostTensor& value = values[i];
    const int64_t most = model.index_extents()[i];
    const uint64_t below = most > 0 ? static_cast<uint64_t>(std::min<int64_t>(most, 100)) : 100;
    int64_t count = 1;
    for (int64_t extent : value.shape) count *= extent;
    std::vector<double> elements(count);
    const bool real = tensor::is_float(value.element);
    for (double& e : elements)
      e = real ? static_cast<double>(generator() >> 11) * 0x1p-53 : static_cast<double>(generator() % below);
    value.data = std::make_shared<const graph::Blob>(graph::write_floats(value.element, elements));
  }
  return values;
}

}  // namespace tf::driver
