// Parallel loops: the body becomes a task function; what it needs of the frame travels in a closure on the
// stack.

#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/backends/llvm/emitter.h"
#include "compiler/runtime/kernel_abi.h"

namespace tf::backends {
namespace {

constexpr unsigned kRuntimeField = 6;  // of tf_call

// Variables and buffers that occur in a statement, in the order in which they first do, so that equal loops
// give equal code; those that it defines itself are not in the frame, so they do no harm here.
class UseCollector final : public ir::Visitor {
 public:
  std::vector<const ir::VarNode*> vars;
  std::vector<const ir::BufferNode*> buffers;

 private:
  bool enter(const ir::Stmt& s) override {
    if (auto* store = ir::as<ir::Store>(s)) add(store->buffer);
    if (auto* copy = ir::as<ir::AsyncCopy>(s)) {
      add(copy->source);
      add(copy->target);
    }
    return true;
  }
  bool enter(const ir::Expr& e) override {
    if (!seen_.insert(e.get()).second) return false;  // shared parts make a tree walk exponential
    if (auto* load = ir::as<ir::Load>(e)) add(load->buffer);
    if (auto* var = ir::as<ir::VarNode>(e)) vars.push_back(var);
    return true;
  }
  // Extents of multi-dimensional buffers are used by their accesses.
  void add(const ir::Buffer& buffer) {
    if (!seen_.insert(buffer.get()).second) return;
    buffers.push_back(buffer.get());
    for (const ir::Expr& extent : buffer->extents) (*this)(extent);
  }
  std::unordered_set<const void*> seen_;
};

}  // namespace

// The call, the loop's first value, the workspace if there is one, and what the body uses of that is around.
Emitter::Closure Emitter::captured(const ir::For& loop) {
  UseCollector uses;
  uses(loop.body);
  Closure closure;
  closure.values = {frame_.call, value(loop.min)};
  if (frame_.workspace) closure.values.push_back(frame_.workspace);
  for (const ir::VarNode* var : uses.vars) {
    if (auto it = frame_.vars.find(var); it != frame_.vars.end()) {
      closure.vars.push_back(var);
      closure.values.push_back(it->second);
    }
  }
  for (const ir::BufferNode* buffer : uses.buffers) {
    if (auto it = frame_.buffers.find(buffer); it != frame_.buffers.end()) {
      closure.buffers.push_back(buffer);
      closure.values.push_back(it->second);
    }
  }
  std::vector<llvm::Type*> types;
  for (llvm::Value* v : closure.values) types.push_back(v->getType());
  closure.type = llvm::StructType::get(context_, types);
  return closure;
}

// On the stack, in the entry block, so that loops around take no more of it.
llvm::Value* Emitter::stored(const Closure& closure) {
  const llvm::IRBuilderBase::InsertPoint here = b_.saveIP();
  llvm::BasicBlock& entry = frame_.llvm_function->getEntryBlock();
  b_.SetInsertPoint(&entry, entry.begin());
  llvm::Value* place = b_.CreateAlloca(closure.type);
  b_.restoreIP(here);
  for (unsigned i = 0; i < closure.values.size(); ++i)
    b_.CreateStore(closure.values[i], b_.CreateStructGEP(closure.type, place, i));
  return place;
}

// A function of the closure, the iteration and the thread.
llvm::Function* Emitter::parallel_body(const ir::For& loop, const Closure& closure) {
  const llvm::IRBuilderBase::InsertPoint here = b_.saveIP();
  Frame outer = std::exchange(frame_, {});
  llvm::Function* body = make_function(absl::StrCat(function_.name, ".parallel", parallel_count_++),
                                       {b_.getPtrTy(), b_.getInt64Ty(), b_.getInt32Ty()}, /*external=*/false);
  frame_.llvm_function = body;
  frame_.thread = body->getArg(2);
  unsigned field = 0;
  auto next = [&] {
    llvm::Value* at = b_.CreateStructGEP(closure.type, body->getArg(0), field);
    return load_invariant(closure.values[field++]->getType(), at);
  };
  frame_.call = next();
  llvm::Value* min = next();
  if (outer.workspace) frame_.workspace = next();
  for (const ir::VarNode* var : closure.vars) frame_.vars[var] = next();
  for (const ir::BufferNode* buffer : closure.buffers) frame_.buffers[buffer] = next();
  loop_body(loop, b_.CreateNSWAdd(min, body->getArg(1)));
  b_.CreateRet(b_.getInt32(TF_KERNEL_OK));
  frame_ = std::move(outer);
  b_.restoreIP(here);
  return body;
}

void Emitter::emit_parallel(const ir::For& loop) {
  const Closure closure = captured(loop);
  llvm::Value* count = value(loop.extent);
  llvm::Value* place = stored(closure);
  llvm::Function* body = parallel_body(loop, closure);
  llvm::Type* pointer = b_.getPtrTy();
  auto* runtime_type = llvm::StructType::get(context_, {b_.getInt32Ty(), pointer});
  llvm::Value* runtime = call_field(kRuntimeField, pointer);
  llvm::Value* run = load_invariant(pointer, b_.CreateStructGEP(runtime_type, runtime, 1));
  auto* run_type =
      llvm::FunctionType::get(b_.getInt32Ty(), {pointer, b_.getInt64Ty(), pointer, pointer}, false);
  llvm::Value* code = b_.CreateCall(run_type, run, {runtime, count, body, place});
  return_if(b_.CreateICmpNE(code, b_.getInt32(TF_KERNEL_OK)), code);
}

// A parallel loop of one iteration is no task: it runs in the caller, which uses the first slice.
llvm::Value* Emitter::thread_workspace() {
  llvm::Value* thread = frame_.thread ? b_.CreateSExt(frame_.thread, b_.getInt64Ty()) : b_.getInt64(0);
  llvm::Value* slice = b_.CreateMul(thread, b_.getInt64(plan_.per_thread_bytes), "", true, true);
  llvm::Value* offset = b_.CreateAdd(slice, b_.getInt64(plan_.shared_bytes), "", true, true);
  return b_.CreateGEP(b_.getInt8Ty(), frame_.workspace, offset);
}

}  // namespace tf::backends
