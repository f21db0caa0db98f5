#pragma once
// Owns: the workload, a DAG of tensor computations that is tuned and compiled as one kernel (for example
// conv2d + bias + add + relu); its canonical text, its key, and binding of its named dimensions.
// Does not know: loops, layouts, targets. A workload is a value: build it, then share it const between
// threads.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/digest.h"
#include "compiler/tensor/expr.h"

namespace tf::tensor {

// A named dimension and its inclusive range.
struct Dimension {
  Var var;
  int64_t low = 1;
  int64_t high = 1 << 20;
};

// Values of named dimensions, by name; its text form is "batch=4,sequence=128", sorted by name.
using Binding = std::map<std::string, int64_t>;
std::string binding_text(const Binding& binding);
// INVALID_ARGUMENT unless text is "" or NAME=VALUE pairs joined by commas, each name once.
absl::StatusOr<Binding> parse_binding(std::string_view text);

// An index variable that runs over [0, extent).
struct Axis {
  Var var;
  Expr extent;
};

enum class Combiner : uint8_t { kSum, kMax, kMin, kProd };
// The neutral element of the combiner in that element type (0, lowest or -inf, highest or +inf, 1).
Expr identity(Combiner combiner, Element element);
Expr combine(Combiner combiner, const Expr& a, const Expr& b);

// One computation: output[axes] = body, or output[axes] = combine over reduce_axes of body. The body reads
// inputs and the outputs of earlier stages by Load nodes. Values outside a loaded buffer are never asked for:
// the body guards with select.
struct Stage {
  Buffer output;
  std::vector<Axis> axes;
  std::vector<Axis> reduce_axes;     // empty: element-wise
  std::optional<Combiner> combiner;  // set exactly if reduce_axes is not empty
  Expr body;
};

// A placeholder. Constants are known when a model is built and are packed then, outside the measured time.
// The domain is what test inputs are drawn from (for example [0.5, 2] for a variance).
struct Input {
  Buffer buffer;
  bool constant = false;
  double low = -1.0;
  double high = 1.0;
};

struct Workload {
  std::string
      label;  // "conv2d+bias+relu": for people and for choosing templates by structure; not in the key
  std::vector<Dimension> dims;
  std::vector<Input> inputs;
  std::vector<Stage> stages;    // in topological order
  std::vector<Buffer> outputs;  // of the stages
};

// The canonical text: one line each for dimensions, inputs, stages and outputs,
//   workload v1
//   dim d0 in 1..64
//   input p0: f32[d0, 16, 8, 8]
//   constant p1: f32[32, 16, 3, 3] in 0..2
//   stage t0: f32[i0 < d0, i1 < 32, i2 < 6, i3 < 6] = reduce sum[r0 < 16, r1 < 3, r2 < 3] p0[…] * p1[…]
//   output t0
// It parses back to an equal workload, and does not depend on names (inputs are p0, p1, …,
// stages t0, …, axes i0 …, r0 …, dimensions d0 …, in order). The label is not part of it.
std::string canonical_text(const Workload& workload);
// INVALID_ARGUMENT with line and column, or verify's error. Lines of # that stand before it are skipped.
absl::StatusOr<Workload> parse_workload(std::string_view text);
// Like canonical_text with the workload's own names, for people.
std::string to_string(const Workload& workload);

// SHA-256 of the canonical text: the computation's key everywhere.
Digest workload_key(const Workload& workload);

// Checks what every user of a workload relies on: types agree, all is scalar, loads have the buffer's rank,
// no predicate, and come from inputs or earlier stages, combiners go with reduce axes, every variable is
// bound, a variable is an axis of one stage only, an output's extents are its stage's, buffers are global and
// row-major, dimensions have different names. INVALID_ARGUMENT names the stage.
absl::Status verify(const Workload& workload);

// The workload with dimensions replaced by their values. Call it as tensor::bind: std::bind takes any
// arguments and wins where a binding, a std::map, brings it into the lookup. INVALID_ARGUMENT names a
// dimension that is unbound, unknown or out of its range.
absl::StatusOr<Workload> bind(const Workload& workload, const Binding& binding);
// The binding with the dimensions' names of the canonical text (d0, d1, …), so that it fits whoever knows the
// workload by its key. Names that are no dimension of the workload are dropped.
Binding canonical_binding(const Workload& workload, const Binding& binding);

// For each output y, adds an output of the same extents, f32 (f64 if any stage is), with the magnitude
// Σ|a||b| that the answer check scales its tolerance by. Outputs: the originals, then the magnitudes in
// order. A value e computed with relative rounding error ε an operation is wrong by at most c · ε · M(e),
// where to first order
//   M(input x) = |x|         M(a ± b) = M(a) + M(b)       M(a · b) = M(a) · M(b)
//   M(a / b) = M(a)/|b| · M(b)/|b|                        M(min, max) = max(M(a), M(b))
//   M(select(c, a, b)) = select(c, M(a), M(b)) if c is of indices only, else max(M(a), M(b)): c may flip
//   M(f(x)) = |f(x)| + |f'| · M(x), with |f'| at x for exp, log, sqrt, rsqrt and pow, a bound on it for tanh,
//             sigmoid, erf, sin and cos
// and a stage's sum adds magnitudes, its product multiplies them, its max and min take their maximum.
// Infinite constants (the padding of a max pool) count 0.
Workload with_magnitudes(const Workload& workload);

// Floating-point operations of one run (an FMA counts 2; exp and friends count 1 per element as well), and
// compulsory bytes: inputs and outputs once. The workload must be bound.
double count_flops(const Workload& workload);
double count_bytes(const Workload& workload);

}  // namespace tf::tensor
