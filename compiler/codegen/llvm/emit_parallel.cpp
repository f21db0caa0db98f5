// Parallel loops: the body becomes a task function; what it needs of the frame travels in a closure on the
// stack.

#include <set>
#include <unordered_set>

#include "absl/strings/str_cat.h"
#include "compiler/codegen/llvm/emitter.h"
#include "compiler/runtime/kernel_abi.h"

namespace tf::codegen {
namespace {

constexpr unsigned kRuntimeField = 6;  // of tf_call

// Variables and buffers that occur in a statement; those that it defines itself are not in the frame, so they
// do no harm here.
class UseCollector final : public ir::Visitor {
 public:
  std::set<const ir::VarNode*> vars;
  std::set<const ir::BufferNode*> buffers;

 private:
  bool enter(const ir::Stmt& s) override {
    if (auto* store = ir::as<ir::Store>(s)) buffers.insert(store->buffer.get());
    if (auto* copy = ir::as<ir::AsyncCopy>(s)) {
      buffers.insert(copy->source.get());
      buffers.insert(copy->target.get());
    }
    return true;
  }
  bool enter(const ir::Expr& e) override {
    if (!seen_.insert(e.get()).second) return false;  // shared parts make a tree walk exponential
    if (auto* load = ir::as<ir::Load>(e)) buffers.insert(load->buffer.get());
    if (auto* var = ir::as<ir::VarNode>(e)) vars.insert(var);
    return true;
  }
  std::unordered_set<const tensor::ExprNode*> seen_;
};

}  // namespace

void Emitter::emit_parallel(const ir::For& loop) {
  UseCollector uses;
  uses(loop.body);
  // Extents of multi-dimensional buffers are used by their accesses.
  for (const ir::BufferNode* buffer : uses.buffers) {
    for (const ir::Expr& extent : buffer->extents) uses(extent);
  }
  Frame outer = frame_;
  std::vector<llvm::Value*> captured;
  captured.push_back(outer.call);
  captured.push_back(value(loop.min));
  if (outer.workspace) captured.push_back(outer.workspace);
  std::vector<const ir::VarNode*> vars;
  std::vector<const ir::BufferNode*> buffers;
  for (const ir::VarNode* var : uses.vars) {
    if (auto it = outer.vars.find(var); it != outer.vars.end()) {
      vars.push_back(var);
      captured.push_back(it->second);
    }
  }
  for (const ir::BufferNode* buffer : uses.buffers) {
    if (auto it = outer.buffers.find(buffer); it != outer.buffers.end()) {
      buffers.push_back(buffer);
      captured.push_back(it->second);
    }
  }
  std::vector<llvm::Type*> types;
  for (llvm::Value* v : captured) types.push_back(v->getType());
  auto* closure_type = llvm::StructType::get(context_, types);

  llvm::Value* count = value(loop.extent);
  llvm::IRBuilderBase::InsertPoint here = b_.saveIP();
  llvm::BasicBlock& entry = outer.llvm_function->getEntryBlock();
  b_.SetInsertPoint(&entry, entry.begin());
  llvm::Value* closure = b_.CreateAlloca(closure_type);
  b_.restoreIP(here);
  for (unsigned i = 0; i < captured.size(); ++i) {
    b_.CreateStore(captured[i], b_.CreateStructGEP(closure_type, closure, i));
  }

  here = b_.saveIP();
  frame_ = {};
  llvm::Type* pointer = b_.getPtrTy();
  frame_.llvm_function = make_function(absl::StrCat(function_.name, ".parallel", parallel_count_++),
                                       {pointer, b_.getInt64Ty(), b_.getInt32Ty()}, /*external=*/false);
  llvm::Function* task = frame_.llvm_function;
  frame_.thread = task->getArg(2);
  unsigned field = 0;
  auto next = [&] {
    llvm::Value* at = b_.CreateStructGEP(closure_type, task->getArg(0), field);
    return load_invariant(types[field++], at);
  };
  frame_.call = next();
  llvm::Value* min = next();
  if (outer.workspace) frame_.workspace = next();
  for (const ir::VarNode* var : vars) frame_.vars[var] = next();
  for (const ir::BufferNode* buffer : buffers) frame_.buffers[buffer] = next();
  loop_body(loop, b_.CreateNSWAdd(min, task->getArg(1)), analysis::iterations(loop, ranges_));
  b_.CreateRet(b_.getInt32(TF_KERNEL_OK));
  frame_ = std::move(outer);
  b_.restoreIP(here);

  auto* runtime_type = llvm::StructType::get(context_, {b_.getInt32Ty(), pointer});
  llvm::Value* runtime = call_field(kRuntimeField, pointer);
  llvm::Value* run = load_invariant(pointer, b_.CreateStructGEP(runtime_type, runtime, 1));
  auto* run_type =
      llvm::FunctionType::get(b_.getInt32Ty(), {pointer, b_.getInt64Ty(), pointer, pointer}, false);
  llvm::Value* code = b_.CreateCall(run_type, run, {runtime, count, task, closure});
  return_if(b_.CreateICmpNE(code, b_.getInt32(TF_KERNEL_OK)), code);
}

// A parallel loop of one iteration is no task: it runs in the caller, which uses the first slice.
llvm::Value* Emitter::thread_workspace() {
  llvm::Value* thread = frame_.thread ? b_.CreateSExt(frame_.thread, b_.getInt64Ty()) : b_.getInt64(0);
  llvm::Value* slice = b_.CreateMul(thread, b_.getInt64(plan_.per_thread_bytes), "", true, true);
  llvm::Value* offset = b_.CreateAdd(slice, b_.getInt64(plan_.shared_bytes), "", true, true);
  return b_.CreateGEP(b_.getInt8Ty(), frame_.workspace, offset);
}

}  // namespace tf::codegen
