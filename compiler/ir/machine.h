#pragma once
// Owns: what the interpreter runs: instructions over a frame of slots, and the statements around them.
// Private to compiler/ir. Does not know: how IR becomes a program (interpret_compile.cpp does).
//
// A value of n lanes is n consecutive C++ values in the frame: uint8_t for bool, the integers as they are,
// float for f16, bf16 and f32, double for f64. Slots are byte offsets, 8-byte aligned.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/ir/physical.h"
#include "compiler/ir/stmt.h"

namespace tf::ir::machine {

inline constexpr size_t kMaxRank = 16;  // of a buffer
inline constexpr size_t kWarpThreads = 32;

struct Machine;
struct Instruction;
struct Node;
struct Shadow;  // of machine_watch.h, as the next
struct Watch;
using Kernel = void (*)(Machine&, const Instruction&);

struct Instruction {
  Kernel run = nullptr;
  int32_t target = 0;
  int32_t a = -1, b = -1, c = -1;  // operands' slots
  int32_t mask = -1;               // slot of bools, or -1: all lanes
  int32_t lanes = 1;
  int32_t site = -1;    // index in Program::sites
  int32_t group = 1;    // of a dot: products a lane
  bool shared = false;  // of a dot: whether all lanes take the same group of a
  bool total = false;   // of a division: of data, whose divisor may be zero
};

// The values that an instruction makes, and of what: so whether they are defined can be followed.
struct Flow {
  struct Values {
    int32_t slot = -1, lanes = 0, lane_bytes = 0;  // no slot: none
  };
  Values target, operands[3];
  bool is_select = false;
};

// A range of Program::code.
struct Code {
  int32_t begin = 0, end = 0;
};

// Which lane holds an element of a fragment, if the map is set: that of the row and the column of its tile.
struct Held {
  const tensor_units::LaneMap* map = nullptr;
  std::vector<int64_t> row_steps, column_steps;  // as of compiler/ir/stmt.h's MatrixTile
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
  Held held = {};
  std::vector<BoxAxis> box = {};  // of an asynchronous copy's source: whose indices say where it begins
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
  tensor::Swizzle swizzle = {};
  bool is_row_major = true;
};

// INVALID_ARGUMENT where an extent is negative or the size overflows.
absl::StatusOr<Shape> make_shape(const BufferNode& buffer, std::vector<int64_t> extents);

struct BufferState {
  std::byte* data = nullptr;
  const Shape* shape = nullptr;
  Shadow* shadow = nullptr;  // null: not watched
};

// An asynchronous copy in flight.
struct Copy {
  const Site* site = nullptr;
  BufferState to;
  int64_t first = 0, elements = 0;  // of the target
  int64_t element_bytes = 0;
  const std::byte* from = nullptr;  // null: zeros
  std::vector<std::byte> bytes;     // as they were when it began
  std::vector<bool> defined;        // likewise, by elements
  bool is_published = false;        // to what reads it asynchronously
};

// A multiplication in flight: the elements that it makes and those that it reads.
struct Product {
  struct Use {
    const Site* site = nullptr;
    BufferState buffer;
    int64_t offset = 0;
  };
  std::vector<Use> sums, factors;
};

// What a warp (or four) executes once, after all its lanes have arrived: lanes[i] is lane i's machine, with the node's code executed.
using Collective = void (*)(const Node& node, std::span<Machine* const> lanes);

struct Node {
  StmtKind kind = StmtKind::kSeq;
  Code code;                       // expressions of the statement; a store and a copy are all code
  int32_t slot = 0, a = 0, b = 0;  // For: variable, min, extent; If: condition in a; AsyncWait: groups in a
  std::vector<int32_t> extents;    // Allocate: slots
  ForKind for_kind = ForKind::kSerial;
  bool meets_block =
      false;  // the threads of a block run side by side through it: it has a barrier or shared memory
  size_t meets_lanes =
      0;  // likewise so many neighbours: it has a collective statement or a fragment of theirs
  bool is_launch = false;  // a kernel of its own
  Collective collective = nullptr;
  size_t fragment_lanes = 0;         // Allocate: to so many it belongs
  const MatrixOp* matrix = nullptr;  // with a site for each of its tiles
  const LaneFold* fold = nullptr;    // with one site
  std::vector<int32_t> sites;
  const BufferNode* buffer = nullptr;
  int32_t buffer_slot = 0;
  std::vector<Node> children;
};

struct Program {
  std::vector<Instruction> code;
  std::vector<Flow> flows;  // as many, where the run is watched
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
  Watch* watch = nullptr;  // null: nothing is watched
  absl::Status status;
  bool failed = false;
  // Reports the first problem only.
  void fail(absl::Status error) {
    if (!failed) status = std::move(error);
    failed = true;
  }
};

// A thread's place in its block, in the order of warps: x counts fastest.
struct ThreadId {
  int32_t z = 0, y = 0, x = 0;
  auto operator<=>(const ThreadId&) const = default;
};

// One thread's frame and view of the buffers.
struct Machine {
  Run* run = nullptr;
  std::vector<std::byte> frame;
  std::vector<BufferState> buffers;
  ThreadId thread = {};
  std::vector<uint8_t> undefined =
      {};  // of a watched run: by the slots of lanes, whether they hold what nobody wrote
  std::vector<std::vector<Copy>> copies = {};       // in flight, by groups; the last is still open
  std::vector<std::vector<Product>> products = {};  // likewise, of the first lane of those that multiply
  template <typename T>
  T* at(int32_t slot) {
    return reinterpret_cast<T*>(frame.data() + slot);
  }
  void execute(const Code& code) {
    if (run->watch != nullptr) return execute_watched(code);
    const Instruction* first = run->program->code.data();
    for (const Instruction* i = first + code.begin; i != first + code.end; ++i) i->run(*this, *i);
  }
  void execute_watched(const Code& code);  // of machine_watch.cpp
  void set_index(int32_t slot, int64_t value) {
    *at<int64_t>(slot) = value;
    if (!undefined.empty()) undefined[static_cast<size_t>(slot)] = 0;
  }
};

// INVALID_ARGUMENT names what is undefined or ill-typed. Accesses are shown to the run's watch where `watched`.
absl::StatusOr<Program> compile(const Function& function, bool watched);

// Runs a matrix statement (machine_matrix.cpp).
void run_matrix_op(const Node& node, std::span<Machine* const> lanes);
// Runs a fold of lanes (machine_fold.cpp).
void run_lane_fold(const Node& node, std::span<Machine* const> lanes);
// One that a thread runs alone.
void publish(Machine& m);
// The checked physical element offset of the indices (site.is_flat: of the one offset); -1 after reporting what is wrong.
int64_t locate_indices(Machine& m, const Site& site, const Shape& shape, const int64_t* index, int32_t lane);

// Runs the program's body.
void execute(const Node& node, Machine& machine);
std::vector<int64_t> read_slots(Machine& machine, const std::vector<int32_t>& slots);

Kernel binary_kernel(BinaryOp op, Element element);
Kernel unary_kernel(UnaryOp op, Element element);
Kernel call_kernel(Intrinsic function, Element element);
Kernel dot_kernel(Element sum, Element a, Element b);  // lanes: of the sum; group and shared as below
Kernel cast_kernel(Element to, Element from);
Kernel select_kernel(Element element);
Kernel ramp_kernel(Element element);       // a + b * lane
Kernel broadcast_kernel(Element element);  // a in every lane
Kernel copy_kernel(Element element);
Kernel load_kernel(Element element, bool watched);
Kernel store_kernel(Element element, bool watched);  // a: the value; b: 1 if it has a value for each lane
// Site `a` from site `b`, c elements, or zeros where the mask's one lane does not hold.
Kernel async_copy_kernel();
Kernel any_kernel();  // target: whether any of the lanes at a holds

// Writes one value (an integer or float constant) into the frame.
void write_constant(const Expr& imm, int lanes, std::byte* slot);
int slot_bytes(Element element);

}  // namespace tf::ir::machine
