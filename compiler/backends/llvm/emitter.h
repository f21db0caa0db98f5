#pragma once
// Owns: the state and the parts of emission, loop IR → LLVM IR. Internal to this folder: includes LLVM. Does
// not know: optimisation, object files.
//
// Values. bool is i1, integers are themselves, and f16 and bf16 values are floats that are already rounded to
// their type: + - * / and sqrt of such floats, rounded again, are the correctly rounded results. Memory holds
// bool as a byte and f16 and bf16 as 16 bits.

#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "compiler/analysis/bounds.h"
#include "compiler/analysis/float_bounds.h"
#include "compiler/backends/llvm/index.h"
#include "compiler/backends/llvm/workspace.h"
#include "compiler/ir/data.h"
#include "compiler/ir/stmt.h"
#include "compiler/target/target.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace tf::backends {

// Emits one function into a module. One use.
class Emitter {
 public:
  Emitter(llvm::Module& module, const ir::Function& function, const target::Target& target,
          const WorkspacePlan& plan);

  // UNIMPLEMENTED or INVALID_ARGUMENT as codegen.h's compile().
  absl::Status emit();

 private:
  // What names mean in the LLVM function that is being written: the entry, or the body of a parallel loop.
  struct Frame {
    llvm::Function* llvm_function = nullptr;
    std::map<const ir::VarNode*, llvm::Value*> vars;
    std::map<const ir::BufferNode*, llvm::Value*> buffers;
    llvm::Value* call = nullptr;    // const tf_call*
    llvm::Value* thread = nullptr;  // i32; null outside of parallel loops
    llvm::Value* workspace = nullptr;
  };

  // entry.cpp
  llvm::Function* make_function(const std::string& name, llvm::ArrayRef<llvm::Type*> params, bool external);
  void emit_checks();
  llvm::Value* call_field(unsigned field, llvm::Type* type);
  llvm::Value* load_invariant(llvm::Type* type, llvm::Value* address);
  void return_if(llvm::Value* condition, llvm::Value* code);
  llvm::Type* call_type();

  // emit_parallel.cpp
  // What the body of a parallel loop, a function of its own, is given.
  struct Closure {
    std::vector<llvm::Value*> values;
    std::vector<const ir::VarNode*> vars;        // whose values stand last but for the buffers'
    std::vector<const ir::BufferNode*> buffers;  // whose bases stand last
    llvm::StructType* type = nullptr;
  };
  void emit_parallel(const ir::For& loop);
  Closure captured(const ir::For& loop);
  llvm::Value* stored(const Closure& closure);
  llvm::Function* parallel_body(const ir::For& loop, const Closure& closure);
  llvm::Value* thread_workspace();

  // emit_stmt.cpp
  void stmt(const ir::Stmt& stmt);
  void stmt_for(const ir::For& loop);
  void stmt_if(const ir::If& branch);
  void stmt_allocate(const ir::Allocate& allocate);
  void stmt_async_copy(const ir::AsyncCopy& copy);
  void block(const ir::Stmt& body);  // a statement that runs under its own conditions
  void loop_body(const ir::For& loop, llvm::Value* index);

  // emit_memory.cpp
  llvm::Value* load(const ir::Load& e);
  void store(const ir::Store& s);
  llvm::Value* load_strided(const ir::BufferNode* buffer, const AffineIndex& index, int lanes);
  llvm::Value* load_masked(const ir::BufferNode* buffer, const ir::Expr& flat,
                           const std::optional<AffineIndex>& index, int lanes, llvm::Value* mask);
  // The address of constant and terms of the index, and the alignment that is sure there.
  llvm::Value* address(const ir::BufferNode* buffer, const AffineIndex& index);
  llvm::Value* addresses(const ir::BufferNode* buffer, const ir::Expr& flat);  // a vector of them
  llvm::Align alignment(const ir::BufferNode* buffer, const AffineIndex& index);
  llvm::Instruction* tag(llvm::Instruction* access, const ir::BufferNode* buffer);
  llvm::Value* buffer_base(const ir::BufferNode* buffer);
  // condition ? f() : 0, without running f otherwise.
  llvm::Value* guarded(llvm::Value* condition, llvm::Type* type, const std::function<llvm::Value*()>& f);
  llvm::Value* any_lane(llvm::Value* mask);

  // emit_expr.cpp
  llvm::Value* value(const ir::Expr& expr);
  llvm::Value* value_uncached(const ir::Expr& expr);
  llvm::Value* unary(const ir::Unary& e);
  llvm::Value* binary(const ir::Binary& e);
  llvm::Value* compare(const ir::Binary& e);
  llvm::Value* lane_limit_mask(const ir::Binary& e);  // null unless it is `ramp < limit`
  llvm::Value* select(const ir::Select& e);
  llvm::Value* call(const ir::Call& e);
  llvm::Value* ramp(const ir::Ramp& e);
  llvm::Value* to_lanes(llvm::Value* v, int lanes);
  llvm::Value* sum_of_terms(const AffineIndex& index);

  // emit_arith.cpp
  // The values of an integer expression.
  analysis::Interval range_of(const ir::Expr& e) const { return analysis::interval_of(e, ranges_, data_); }
  // In which lanes a divisor is one that not every processor divides by; null: in none.
  struct OddDivisors {
    llvm::Value* zero = nullptr;
    llvm::Value* minus_one = nullptr;  // sought only where the dividend may be the lowest number
  };
  OddDivisors odd_divisors(const ir::Binary& e, llvm::Value* divisor);
  llvm::Value* floor_division(const ir::Binary& e);
  llvm::Value* min_max(bool is_max, tensor::Element element, llvm::Value* a, llvm::Value* b);
  llvm::Value* cast(const ir::Cast& e);
  llvm::Value* reduce(tensor::Intrinsic function, const ir::Expr& vector);
  llvm::Value* fma(llvm::Value* a, llvm::Value* b, llvm::Value* c, tensor::Element element);
  llvm::Value* fma_by_doubles(llvm::Value* a, llvm::Value* b, llvm::Value* c);  // of f32
  llvm::Value* fma_by_parts(llvm::Value* a, llvm::Value* b, llvm::Value* c);    // of f64
  llvm::Value* rounding(tensor::Intrinsic function, llvm::Value* a);
  llvm::Value* ldexp(const ir::Call& e);
  llvm::Value* logb(llvm::Value* x);
  llvm::Value* significand(llvm::Value* x);

  // emit_dot.cpp
  llvm::Value* dot(const ir::Call& e);
  llvm::Value* dot_bytes(llvm::Value* c, llvm::Value* a, llvm::Value* b, bool a_signed, bool b_signed);
  llvm::Value* dot_by_parts(const ir::Call& e, llvm::Value* c, llvm::Value* a, llvm::Value* b, int group);

  // emit_half.cpp
  // The value as its element type rounds it (f16 and bf16; others unchanged).
  llvm::Value* rounded(tensor::Element element, llvm::Value* v);
  llvm::Value* to_memory(tensor::Element element, llvm::Value* v);
  llvm::Value* from_memory(tensor::Element element, llvm::Value* v);
  llvm::Value* float_to_half_bits(llvm::Value* v);
  // f64 as f32 so that rounding that to a half gives what rounding once would have given.
  llvm::Value* rounded_to_odd(llvm::Value* v);
  llvm::Value* half_bits_to_float(llvm::Value* bits);

  llvm::Type* value_type(tensor::Element element, int lanes = 1);
  llvm::Type* memory_type(tensor::Element element, int lanes = 1);
  llvm::Type* with_lanes_of(llvm::Type* scalar, llvm::Value* like);
  llvm::Constant* integer(llvm::Value* like, uint64_t v);  // a constant of that type, splat if a vector
  // Records the first failure; gives a value of the type so that emission can go on.
  llvm::Value* fail(absl::Status status, llvm::Type* type);
  bool is_x86() const { return target_.arch == target::Arch::kX86_64; }

  llvm::Module& module_;
  llvm::LLVMContext& context_;
  const ir::Function& function_;
  const target::Target& target_;
  const WorkspacePlan& plan_;
  llvm::IRBuilder<> b_;
  Frame frame_;
  analysis::RangeMap ranges_;
  analysis::FloatRangeMap float_ranges_;
  ir::Data data_;
  DepthTable depths_;
  int depth_ = 0;
  int parallel_count_ = 0;
  absl::Status status_;
  // Values of expressions within the statement that is being emitted; one map for each guarded load that is
  // open. Holding the expression keeps its address its own.
  std::vector<std::unordered_map<const tensor::ExprNode*, std::pair<ir::Expr, llvm::Value*>>> memo_;
  // The f32 values that stand for f16 or bf16 in memory, and the bits that they were made of.
  std::unordered_map<llvm::Value*, std::pair<tensor::Element, llvm::Value*>> half_bits_;
  // Each buffer's alias scope; filled in for all buffers before emission.
  std::map<const ir::BufferNode*, std::pair<llvm::MDNode*, llvm::MDNode*>> alias_scopes_;
};

}  // namespace tf::backends
