#pragma once
// Owns: the kernels that are compared, as a table of data, and what each computes: its workload, its
// operands, the bytes that it has to move, single elements of its answer in double precision. Does not know:
// who computes it, how it is timed.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "compiler/tensor/workload.h"
#include "tests/bench/kernels/network_kernel.h"

namespace tf::bench {

// y[m, n] = a[m, k] · b[k, n], all row-major. A constant b may be packed before the clock starts.
struct Gemm {
  int64_t m, n, k;
  bool constant_b = false;
};

enum class Activation : uint8_t { kNone, kRelu, kRelu6 };

// y = activation(conv(x, w) + bias), batch 1, square kernel; w and bias are constant.
struct Convolution {
  int64_t channels, filters, extent;  // of the input: channels x extent x extent
  int64_t kernel = 1, stride = 1, groups = 1;
  Activation activation = Activation::kRelu;
  bool padded = true;  // by half a kernel on all sides
  int64_t padding() const { return padded ? kernel / 2 : 0; }
  int64_t output_extent() const { return (extent + 2 * padding() - kernel) / stride + 1; }
  bool is_depthwise() const { return groups > 1 && groups == channels; }
};

struct Kernel {
  std::string name;
  std::variant<Gemm, Convolution, NetworkKernel> shape;
  // Of x and w: f32, bf16, i8, or u8 (x; w then is i8). The answer and bias are i32 for bytes, else the same.
  // A network's kernel has its own elements, and this stays as it is.
  tensor::Element element = tensor::Element::kFloat32;
};

// The core set: GEMMs, then convolutions; all of f32.
std::span<const Kernel> kernel_table();

// The kernel, which is no network's, with such elements, and its name with theirs.
Kernel with_element(Kernel kernel, tensor::Element element);

// With numbers for all extents.
tensor::Workload workload_of(const Kernel& kernel);

Family family_of(const Kernel& kernel);

// A multiply-add counts 2. Of table kernels bias and activation count nothing; of a network's kernel every
// operation counts (tensor::count_flops).
double flops_of(const Kernel& kernel);

// What any code for the kernel reads and writes: each operand once, of a table that rows are taken from
// (gather) as many rows as the result has, and the result once.
struct Traffic {
  int64_t read_bytes = 0, written_bytes = 0;
};
Traffic traffic_of(const Kernel& kernel);

// Row-major, drawn by a fixed seed uniformly from [-1, 1], from all that bytes can be, or from the domain
// that a network's workload declares; each is one of the kernel's elements.
struct Operands {
  // One a workload input: a and b; the feature map, filters and bias; or as the network has them.
  std::vector<std::vector<float>> inputs;
  int64_t output_elements = 0;
};
Operands make_operands(const Kernel& kernel);

// Element `index` of the row-major answer, and Σ|a||b| of its terms, by which errors are scaled. Not of a
// network's kernel: no formula here knows what it fuses.
struct Expected {
  double value, magnitude;
};
Expected expected_element(const Kernel& kernel, const Operands& operands, int64_t index);

}  // namespace tf::bench
