#pragma once
// Owns: the loop IR's statements and functions. Expressions are compiler/tensor/expr.h's. Nodes are
// immutable. Does not know: schedules, targets, back ends.
//
// A function runs its body once. Loops run their variable over [min, min + extent), by default in order. A parallel loop's
// iterations may run in any order on several threads and must not race. A vectorized loop means the same as a serial one, as
// does a folded one, whose iterations may be combined in any order; both are gone after the pass vectorize, unrolled ones after
// unroll. Grid and thread loops map to a GPU's launch. An allocation exists while its body runs and starts undefined. Inside a
// launch, of scope shared it is the block's, of scope fragment the warp's, else, also of scope global, the thread's own.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/tensor/expr.h"
#include "compiler/tensor/workload.h"
#include "compiler/tensor_units/tensor_unit.h"

namespace tf::ir {

using tensor::as;
using tensor::as_int;
using tensor::Binary;
using tensor::BinaryOp;
using tensor::Broadcast;
using tensor::Buffer;
using tensor::BufferNode;
using tensor::Call;
using tensor::Cast;
using tensor::Element;
using tensor::Expr;
using tensor::ExprKind;
using tensor::FloatImm;
using tensor::IntImm;
using tensor::Intrinsic;
using tensor::Layout;
using tensor::Load;
using tensor::Ramp;
using tensor::Scope;
using tensor::Select;
using tensor::Type;
using tensor::Unary;
using tensor::UnaryOp;
using tensor::Var;
using tensor::VarNode;

#define TF_STMT_KINDS(X) \
  X(For) X(Seq) X(Store) X(If) X(Let) X(Allocate) X(Barrier) X(AsyncCopy) X(AsyncWait) X(MatrixOp) X(LaneFold)

enum class StmtKind : uint8_t {
#define TF_KIND(name) k##name,
  TF_STMT_KINDS(TF_KIND)
#undef TF_KIND
};

class StmtNode : public RefCounted {
 public:
  StmtKind kind() const { return kind_; }

 protected:
  explicit StmtNode(StmtKind kind) : kind_(kind) {}

 private:
  StmtKind kind_;
};

using Stmt = Ref<StmtNode>;

template <typename T>
const T* as(const Stmt& stmt) {
  return stmt && stmt->kind() == T::kKind ? static_cast<const T*>(stmt.get()) : nullptr;
}

enum class ForKind : uint8_t {
  kSerial,
  kParallel,
  kVectorized,
  kFolded,
  kUnrolled,
  kGridX,
  kGridY,
  kGridZ,
  kThreadX,
  kThreadY,
  kThreadZ
};

struct For final : StmtNode {
  static constexpr StmtKind kKind = StmtKind::kFor;
  For(Var v, Expr m, Expr e, ForKind k, Stmt b)
      : StmtNode(kKind),
        var(std::move(v)),
        min(std::move(m)),
        extent(std::move(e)),
        for_kind(k),
        body(std::move(b)) {}
  const Var var;
  const Expr min, extent;
  const ForKind for_kind;
  const Stmt body;
};

struct Seq final : StmtNode {  // may be empty: a statement that does nothing
  static constexpr StmtKind kKind = StmtKind::kSeq;
  explicit Seq(std::vector<Stmt> s) : StmtNode(kKind), stmts(std::move(s)) {}
  const std::vector<Stmt> stmts;
};

// buffer[indices] = value, in lanes where the predicate holds. Indices are logical until flattening, after
// which there is one physical element offset. Vector stores to overlapping lanes write in lane order.
struct Store final : StmtNode {
  static constexpr StmtKind kKind = StmtKind::kStore;
  Store(Buffer b, std::vector<Expr> i, Expr v, Expr p = nullptr)
      : StmtNode(kKind),
        buffer(std::move(b)),
        indices(std::move(i)),
        value(std::move(v)),
        predicate(std::move(p)) {}
  const Buffer buffer;
  const std::vector<Expr> indices;
  const Expr value;
  const Expr predicate;  // null: always
};

struct If final : StmtNode {
  static constexpr StmtKind kKind = StmtKind::kIf;
  If(Expr c, Stmt t, Stmt e = nullptr)
      : StmtNode(kKind), condition(std::move(c)), then_body(std::move(t)), else_body(std::move(e)) {}
  const Expr condition;  // a scalar
  const Stmt then_body;
  const Stmt else_body;  // may be null
};

struct Let final : StmtNode {  // names a value for its body
  static constexpr StmtKind kKind = StmtKind::kLet;
  Let(Var v, Expr x, Stmt b) : StmtNode(kKind), var(std::move(v)), value(std::move(x)), body(std::move(b)) {}
  const Var var;
  const Expr value;
  const Stmt body;
};

struct Allocate final : StmtNode {
  static constexpr StmtKind kKind = StmtKind::kAllocate;
  Allocate(Buffer b, Stmt s) : StmtNode(kKind), buffer(std::move(b)), body(std::move(s)) {}
  const Buffer buffer;
  const Stmt body;
};

struct Barrier final : StmtNode {  // of one thread block; all memory it wrote is visible after it
  static constexpr StmtKind kKind = StmtKind::kBarrier;
  Barrier() : StmtNode(kKind) {}
};

// Starts copying `elements` consecutive elements from global into shared memory, zeros instead where the
// predicate does not hold: then the source's indices may be anything. Until it has arrived, the thread's next
// AsyncWait that waits for it, nobody may touch the target, or write to the source; other threads see the
// target after a barrier behind that.
//
// With a box, the block's first thread copies for all, and others pass. The source is a row-major tensor of the axes'
// extents, flat or not, and its indices say where a box in it begins: the box's elements, zeros for those outside of the
// tensor, arrive one behind the other from the target's place on.
struct BoxAxis {
  int64_t extent = 0, box = 0;
  bool operator==(const BoxAxis&) const = default;
};
struct AsyncCopy final : StmtNode {
  static constexpr StmtKind kKind = StmtKind::kAsyncCopy;
  AsyncCopy(Buffer t, std::vector<Expr> ti, Buffer s, std::vector<Expr> si, int64_t n, Expr p = nullptr,
            std::vector<BoxAxis> b = {})
      : StmtNode(kKind),
        target(std::move(t)),
        target_indices(std::move(ti)),
        source(std::move(s)),
        source_indices(std::move(si)),
        elements(n),
        predicate(std::move(p)),
        box(std::move(b)) {}
  const Buffer target;
  const std::vector<Expr> target_indices;
  const Buffer source;
  const std::vector<Expr> source_indices;
  const int64_t elements;
  const Expr predicate;  // null: always
  const std::vector<BoxAxis> box;
};

// Of one thread: what it started to copy since its last AsyncWait becomes a group, which may be empty; then it waits
// until at most `groups_in_flight` groups of its own, the newest, are in flight.
struct AsyncWait final : StmtNode {
  static constexpr StmtKind kKind = StmtKind::kAsyncWait;
  explicit AsyncWait(int groups) : StmtNode(kKind), groups_in_flight(groups) {}
  const int groups_in_flight;
};

// A matrix in a buffer: its element (row, column) stands at indices + row * row_steps + column * column_steps, a step an
// index. Of scope register it is a tile of which the lane holds a part, and its elements in their order stand from the
// one index on, which is the same in all lanes of a warp; the steps say nothing.
struct MatrixTile {
  Buffer buffer;
  std::vector<Expr> indices;
  std::vector<int64_t> row_steps, column_steps;
  // Of flat memory: so many columns stand so, the next so many `next_block` elements behind them; 0: all do.
  int64_t block_columns = 0, next_block = 0;
};

enum class MatrixAction : uint8_t {
  kZero,      // c = 0
  kLoadA,     // a = a tile of memory
  kLoadB,     // b = a tile of memory
  kMultiply,  // c += a * b
  // Of units that read shared memory and multiply asynchronously, whose a and b are tiles of it:
  kPublish,  // of one thread: what it wrote to shared memory can be a factor, behind a barrier
  kFence,    // what other statements do with the buffer of c comes before what the next multiplications do
  kWait      // the multiplications since the last become a group; waits until few enough groups are in flight
};

// A warp's 32 lanes, the neighbours in thread_x, run it once and together. A buffer of scope fragment belongs to a warp:
// its tiles are c, a or b of one unit, whose lane maps say which lane holds which element, and other statements touch
// elements of a c only, each lane its own. A pass gives lanes their parts as buffers of scope register.
//
// Of a unit that reads shared memory the 128 lanes of four warps run it, to which fragments belong. It multiplies
// asynchronously: until a kWait has waited for it, other statements may not touch c nor write to a and b. What others
// do with c before needs a kFence in between, what threads wrote to a and b a kPublish of theirs and then a barrier.
struct MatrixOp final : StmtNode {
  static constexpr StmtKind kKind = StmtKind::kMatrixOp;
  MatrixOp(const tensor_units::TensorUnit* u, MatrixAction a, std::vector<MatrixTile> t, int groups = 0)
      : StmtNode(kKind), unit(u), action(a), tiles(std::move(t)), groups_in_flight(groups) {}
  const tensor_units::TensorUnit* const unit;  // a row of the table
  const MatrixAction action;
  // Of zero: c; of a load: the fragment, the memory; of multiply: c, a, b; of a fence and a wait: all of c's buffer.
  const std::vector<MatrixTile> tiles;
  const int groups_in_flight;  // of a wait: at most so many, the newest
};

// buffer[indices], of scope register, becomes in each lane what the combiner makes of it in all `lanes` lanes of the lane's group:
// neighbours in thread_x, a power of two of them. A warp's 32 lanes run it once and together.
struct LaneFold final : StmtNode {
  static constexpr StmtKind kKind = StmtKind::kLaneFold;
  LaneFold(Buffer b, std::vector<Expr> i, tensor::Combiner c, int n)
      : StmtNode(kKind), buffer(std::move(b)), indices(std::move(i)), combiner(c), lanes(n) {}
  const Buffer buffer;
  const std::vector<Expr> indices;
  const tensor::Combiner combiner;
  const int lanes;
};
inline constexpr int kWarpLanes = 32;
std::string_view fold_name(tensor::Combiner combiner);  // "sum", "max", "min"

// How many tiles a statement of that action has.
size_t tile_count(MatrixAction action);

// The lane map of tile number `tile` of the statement; null for a tile of memory.
const tensor_units::LaneMap* lane_map(const MatrixOp& op, size_t tile);
tensor::Element element_of(const MatrixOp& op, size_t tile);  // that the unit takes there

// A kernel: parameters in call order (inputs, constants as the workload lists them, then outputs).
struct Function {
  std::string name;
  std::vector<tensor::Dimension> dims;  // named dimensions still unbound
  std::vector<Buffer> params;
  Stmt body;
  // Positions of params that may lie exactly where the last one, the output, lies: an element of theirs is
  // read only for the output's element in its place, before that is written. No other params overlap.
  std::vector<int> in_place = {};
};

// --- Walking. visit and rewrite mirror those of expressions.
template <typename F>
decltype(auto) visit(const Stmt& stmt, F&& f) {
  switch (stmt->kind()) {
#define TF_CASE(name)     \
  case StmtKind::k##name: \
    return f(*static_cast<const name*>(stmt.get()));
    TF_STMT_KINDS(TF_CASE)
#undef TF_CASE
  }
  __builtin_unreachable();
}

// Override what a pass changes; the rest recurses and keeps unchanged nodes. One class a pass.
class Rewriter {
 public:
  virtual ~Rewriter() = default;
  Stmt operator()(const Stmt& stmt) { return stmt ? rewrite(stmt) : stmt; }
  Expr operator()(const Expr& expr) { return expr ? rewrite(expr) : expr; }

 protected:
  virtual Stmt rewrite(const Stmt& stmt) { return recurse(stmt); }
  virtual Expr rewrite(const Expr& expr) { return recurse(expr); }
  Stmt recurse(const Stmt& stmt);
  Expr recurse(const Expr& expr);
};

// Pre-order over statements and the expressions in them; return false to skip what is below.
class Visitor {
 public:
  virtual ~Visitor() = default;
  void operator()(const Stmt& stmt);
  void operator()(const Expr& expr);

 protected:
  virtual bool enter(const Stmt&) { return true; }
  virtual bool enter(const Expr&) { return true; }
};

// --- Building.
// The node as it is: make_stmt<Allocate>(buffer, body).
template <typename T, typename... Args>
Stmt make_stmt(Args&&... args) {
  return Stmt(new T(std::forward<Args>(args)...));
}
Stmt make_for(const Var& var, const Expr& min, const Expr& extent, ForKind kind, const Stmt& body);
Stmt seq(std::vector<Stmt> stmts);  // flattens nested sequences; one statement stands alone
Stmt store(const Buffer& buffer, std::vector<Expr> indices, const Expr& value,
           const Expr& predicate = nullptr);

Stmt substitute(const Stmt& stmt, const tensor::Substitution& values);

}  // namespace tf::ir
