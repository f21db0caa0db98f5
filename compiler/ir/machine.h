#pragma once
// Owns: what the interpreter runs: instructions over a frame of slots, and the statements around them.
// Private to compiler/ir. Does not know: how IR becomes a program (interpret_compile.cpp does).
//
// A value of n lanes is n consecutive C++ values in the frame: uint8_t for bool, the integers as they are,
// float for f16, bf16 and f32, double for f64. Slots are byte offsets, 8-byte aligned.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/ir/physical.h"
#include "compiler/ir/stmt.h"

namespace tf::ir::machine {

inline constexpr size_t kMaxRank = 16;  // of a buffer

struct Machine;
struct Instruction;
using Kernel = void (*)(Machine&, const Instruction&);

struct Instruction {
  Kernel run = nullptr;
  int32_t target = 0;
  int32_t a = 0, b = 0, c = 0;  // operands' slots
  int32_t mask = -1;            // slot of bools, or -1: all lanes
  int32_t lanes = 1;
  int32_t site = -1;    // index in Program::sites
  int32_t group = 1;    // of a dot: products a lane
  bool shared = false;  // of a dot: whether all lanes take the same group of a
  bool total = false;   // of a division: of data, whose divisor may be zero
};

// A range of Program::code.
struct Code {
  int32_t begin = 0, end = 0;
};

// One load or store: where its indices are and what to say if they are wrong.
struct Site {
  const BufferNode* buffer = nullptr;
  int32_t buffer_slot = 0;
  bool is_store = false;
  bool is_flat = false;  // one physical offset instead of an index a dimension
  std::vector<int32_t> indices;
  std::vector<uint8_t> moves;                             // per index: 1 if it has a value for each lane
  std::vector<std::pair<const VarNode*, int32_t>> scope;  // loop variables around it, outermost first
};

// Extents and the way to the physical offset, worked out when a buffer comes to life.
struct Shape {
  struct Axis {
    int axis;
    int64_t divisor, modulus, extent;
  };
  std::vector<int64_t> extents;
  std::vector<int64_t> row_strides;  // used when is_row_major
  std::vector<Axis> axes;
  int64_t elements = 0;
  int swizzle_bits = 0;
  bool is_row_major = true;
};

// INVALID_ARGUMENT where an extent is negative or the size overflows.
absl::StatusOr<Shape> make_shape(const BufferNode& buffer, std::vector<int64_t> extents);

struct BufferState {
  std::byte* data = nullptr;
  const Shape* shape = nullptr;
};

struct Node {
  StmtKind kind = StmtKind::kSeq;
  Code code;                       // expressions of the statement; a store and a copy are all code
  int32_t slot = 0, a = 0, b = 0;  // For: variable, min, extent; If: condition in a
  std::vector<int32_t> extents;    // Allocate: slots
  ForKind for_kind = ForKind::kSerial;
  bool has_barrier = false;
  const BufferNode* buffer = nullptr;
  int32_t buffer_slot = 0;
  std::vector<Node> children;
};

struct Program {
  std::vector<Instruction> code;
  std::vector<Site> sites;
  std::vector<std::byte> frame;  // as it starts, constants filled in
  Node body;
  int32_t buffer_count = 0;
  std::vector<const BufferNode*> params;
  std::vector<std::vector<int32_t>> param_extents;  // slots
  Code param_code;
  std::vector<int32_t> dim_slots;
};

// What all threads of a run share.
struct Run {
  const Program* program = nullptr;
  absl::Status status;
  bool failed = false;
  // Reports the first problem only.
  void fail(absl::Status error) {
    if (!failed) status = std::move(error);
    failed = true;
  }
};

// One thread's frame and view of the buffers.
struct Machine {
  Run* run = nullptr;
  std::vector<std::byte> frame;
  std::vector<BufferState> buffers;
  template <typename T>
  T* at(int32_t slot) {
    return reinterpret_cast<T*>(frame.data() + slot);
  }
  void execute(const Code& code) {
    const Instruction* first = run->program->code.data();
    for (const Instruction* i = first + code.begin; i != first + code.end; ++i) i->run(*this, *i);
  }
};

// INVALID_ARGUMENT names what is undefined or ill-typed.
absl::StatusOr<Program> compile(const Function& function);

Kernel binary_kernel(BinaryOp op, Element element);
Kernel unary_kernel(UnaryOp op, Element element);
Kernel call_kernel(Intrinsic function, Element element);
Kernel dot_kernel(Element sum, Element a, Element b);  // lanes: of the sum; group and shared as below
Kernel cast_kernel(Element to, Element from);
Kernel select_kernel(Element element);
Kernel ramp_kernel(Element element);       // a + b * lane
Kernel broadcast_kernel(Element element);  // a in every lane
Kernel copy_kernel(Element element);
Kernel load_kernel(Element element);
Kernel store_kernel(Element element);  // a: the value; b: 1 if it has a value for each lane
// Site `a` from site `b`, c elements.
Kernel async_copy_kernel();
Kernel any_kernel();  // target: whether any of the lanes at a holds

// Writes one value (an integer or float constant) into the frame.
void write_constant(const Expr& imm, int lanes, std::byte* slot);
int slot_bytes(Element element);

}  // namespace tf::ir::machine
