#pragma once
// Owns: the steps of a schedule, as plain values in one variant. steps/steps.h documents the legality and the
// effect of each step, with a before → after example. Does not know: the tuner, back ends.
//
// Names. Stages and inputs have the canonical names of the workload's text (inputs p0, p1 …, stages t0, t1
// …). A stage that a step adds is named after its source (t0.acc, p0.pack). Loops are initially the stage's
// axes (i0, i1 …, r0, r1 …). split(i1) creates i1.0 (outermost), i1.1, …; fuse(i0, i1.0) creates
// "i0*i1.0".

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "compiler/tensor/expr.h"

namespace tf::schedule {

// An integer that a sketch may leave open: a literal, or element `part` of the sketch's parameter
// `parameter`. In a Schedule, every size is a literal.
struct Size {
  int64_t value = 0;
  int parameter = -1;
  int part = 0;
  Size() = default;
  Size(int64_t v) : value(v) {}  // NOLINT(google-explicit-constructor): a literal size is a number.
  static Size open(int parameter, int part) {
    Size size;
    size.parameter = parameter;
    size.part = part;
    return size;
  }
  bool is_open() const { return parameter >= 0; }
  bool operator==(const Size&) const = default;
};

// A storage order like tensor::Layout, but a sketch may leave its blocks open. Without axes: row-major.
struct OpenLayoutAxis {
  int axis = 0;
  Size block = 0;  // 0: the rest of the axis
  bool operator==(const OpenLayoutAxis&) const = default;
};
struct OpenLayout {
  std::vector<OpenLayoutAxis> axes;
  tensor::Swizzle swizzle = {};
  OpenLayout() = default;
  OpenLayout(const tensor::Layout& layout);  // NOLINT(google-explicit-constructor): one with nothing open.
  bool is_open() const;
  bool is_row_major() const { return axes.empty(); }
  tensor::Layout closed() const;         // nothing may be open
  void push_back(int axis, Size block);  // a literal block of 1 is left out
  bool operator==(const OpenLayout&) const = default;
};

// How the last tile is handled if the factors do not divide the extent.
enum class Tail : uint8_t {
  kGuard,  // iterations beyond the extent are masked
  kShift,  // the last tile starts earlier and computes some points twice: element-wise stages only, extent >=
           // tile
};

enum class Annotation : uint8_t {
  kSerial,
  kParallel,
  kVectorize,
  kUnroll,
  kGridX,
  kGridY,
  kGridZ,
  kThreadX,
  kThreadY,
  kThreadZ
};

// Whether the loop's iterations are blocks of a GPU's grid, or threads of a block.
inline bool is_grid(Annotation annotation) {
  return annotation >= Annotation::kGridX && annotation <= Annotation::kGridZ;
}
inline bool is_thread(Annotation annotation) {
  return annotation >= Annotation::kThreadX && annotation <= Annotation::kThreadZ;
}

struct Split {  // loop → 1 + factors.size() loops; the outermost gets what is left, rounded up
  std::string stage, loop;
  std::vector<Size> factors;
  Tail tail = Tail::kGuard;
  bool operator==(const Split&) const = default;
};
struct Fuse {  // adjacent loops, outermost first → one
  std::string stage;
  std::vector<std::string> loops;
  bool operator==(const Fuse&) const = default;
};
struct Reorder {  // all loops of the stage, in their new order
  std::string stage;
  std::vector<std::string> loops;
  bool operator==(const Reorder&) const = default;
};
struct Annotate {
  std::string stage, loop;
  Annotation annotation = Annotation::kSerial;
  bool operator==(const Annotate&) const = default;
};
// Computes the region of `stage` that one iteration of the consumer's loop needs, just inside that loop. The
// stage's loops then run over that region; so it comes before any split of the stage.
struct ComputeAt {
  std::string stage, consumer, loop;
  tensor::Scope scope =
      tensor::Scope::kGlobal;  // where the region lives; kRegister needs constant indices after unrolling
  bool operator==(const ComputeAt&) const = default;
};
struct Inline {  // an element-wise stage is substituted into each reader's body
  std::string stage;
  bool operator==(const Inline&) const = default;
};
struct Root {  // undoes compute_at: the whole stage is computed before its readers
  std::string stage;
  bool operator==(const Root&) const = default;
};
struct Recompute {  // the reader reads a copy of the stage (stage.again), which is computed separately
  std::string stage, reader;
  bool operator==(const Recompute&) const = default;
};
struct CacheRead {  // a copy of a buffer, stored in `layout`, that `reader` reads instead
  std::string source, reader;
  OpenLayout layout;
  tensor::Scope scope = tensor::Scope::kGlobal;
  bool operator==(const CacheRead&) const = default;
};
struct CacheWrite {  // the stage computes into a copy (stage.acc); the stage itself becomes the copy's
                     // element-wise reader
  std::string stage;
  bool operator==(const CacheWrite&) const = default;
};
struct RFactor {  // partial results over one reduce loop become a separate stage (stage.rf) with that loop as
                  // first axis
  std::string stage, loop;
  bool operator==(const RFactor&) const = default;
};
struct LayoutRewrite {  // storage order of a constant input or of a stage's own buffer. Layouts of
                        // activations belong to ports
  std::string buffer;
  OpenLayout layout;
  bool operator==(const LayoutRewrite&) const = default;
};
struct StorageAlign {  // pads the buffer's row pitch over `axis` to a multiple of `factor` plus `offset`
                       // elements
  std::string buffer;
  int axis = 0;
  Size factor, offset;
  bool operator==(const StorageAlign&) const = default;
};
enum class PragmaKind : uint8_t {
  kUnrollLimit
};  // statements that automatic unrolling of the innermost loops may make
struct Pragma {
  std::string stage;
  PragmaKind kind = PragmaKind::kUnrollLimit;
  Size value;
  bool operator==(const Pragma&) const = default;
};

struct Winograd {  // a 3x3 or 5x5 convolution of stride 1 → transforms and fewer products, `tile` x `tile`
                   // outputs at once
  std::string stage;
  int64_t tile = 0;
  bool operator==(const Winograd&) const = default;
};

// A sum of products over any axes → a product of two gathered matrices. Rows and columns are axes of the sum,
// terms are its reduce axes. Each list is joined in order.
struct Matrices {
  std::string stage;
  std::vector<std::string> rows, terms;
  bool turns = false;  // whether b's lines in memory run along the terms
  Size part;           // split-K: the number of terms of each part; 0: all
  bool operator==(const Matrices&) const = default;
};

// The softmax of rows that weights values → the same by blocks of keys, which MAXIMUM, SUM, RESULT combine.
struct Rescale {
  std::string maximum, sum, result;
  Size block;
  bool operator==(const Rescale&) const = default;
};

struct Narrow {  // an f32 constant's or element-wise stage's buffer holds bf16 or f16
  std::string buffer;
  tensor::Element element = tensor::Element::kBFloat16;
  bool operator==(const Narrow&) const = default;
};

struct Offset {  // shifts the operand `factor`, of bytes, of the sum of products `stage` by `value`; readers
                 // subtract the effect on the sums
  std::string stage, factor;
  int64_t value = 0;
  bool operator==(const Offset&) const = default;
};

// The three innermost loops, from `loop` on, become one matrix instruction (compiler/tensor_units).
struct Tensorize {
  std::string stage, loop, unit;
  bool operator==(const Tensorize&) const = default;
};

// Tiles that the loop copies into shared memory are prefetched `stages` - 1 iterations ahead.
struct Pipeline {
  std::string stage, loop;
  Size stages;
  Size bulk = 0;  // 1: whole tiles of inputs are copied by the device's copy engine, not by threads
  bool operator==(const Pipeline&) const = default;
};

// The blocks of a grid run in groups of `group` rows, down the columns of a group, to share cached data.
struct Raster {
  std::string stage;
  Size group;
  bool operator==(const Raster&) const = default;
};

// Adds a loop over `threads` threads inside the stage's spatial loops.
struct CrossThread {
  std::string stage;
  Annotation axis = Annotation::kThreadX;
  Size threads;
  bool operator==(const CrossThread&) const = default;
};

using Step = std::variant<Split, Fuse, Reorder, Annotate, ComputeAt, Inline, Root, CacheRead, CacheWrite,
                          RFactor, LayoutRewrite, StorageAlign, Pragma, Winograd, Narrow, Offset, Tensorize,
                          Pipeline, Raster, CrossThread, Matrices, Rescale, Recompute>;

}  // namespace tf::schedule
