// Statements, but for loads, stores and parallel loops.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "compiler/backends/llvm/emitter.h"
#include "compiler/ir/physical.h"
#include "compiler/ir/print.h"
#include "compiler/runtime/kernel_abi.h"

namespace tf::backends {

void Emitter::stmt(const ir::Stmt& s) {
  if (!s || !status_.ok()) return;
  switch (s->kind()) {
    case ir::StmtKind::kFor:
      return stmt_for(*ir::as<ir::For>(s));
    case ir::StmtKind::kSeq:
      for (const ir::Stmt& each : ir::as<ir::Seq>(s)->stmts) stmt(each);
      return;
    case ir::StmtKind::kStore:
      memo_.back().clear();
      return store(*ir::as<ir::Store>(s));
    case ir::StmtKind::kIf:
      return stmt_if(*ir::as<ir::If>(s));
    case ir::StmtKind::kLet: {
      auto* let = ir::as<ir::Let>(s);
      memo_.back().clear();
      frame_.vars[let->var.get()] = value(let->value);
      if (tensor::is_float(let->value->type().element))
        float_ranges_[let->var.get()] = analysis::float_interval_of(let->value, float_ranges_);
      else
        ranges_[let->var.get()] = range_of(let->value);
      data_.enter(*let);
      depths_[let->var.get()] = depth_;
      return stmt(let->body);
    }
    case ir::StmtKind::kAllocate:
      return stmt_allocate(*ir::as<ir::Allocate>(s));
    case ir::StmtKind::kAsyncCopy:
      return stmt_async_copy(*ir::as<ir::AsyncCopy>(s));
    case ir::StmtKind::kMatrixOp:
    case ir::StmtKind::kLaneFold:
      fail(absl::InvalidArgumentError("statements of warps are for GPUs"), b_.getInt64Ty());
      return;
    case ir::StmtKind::kBarrier:
    case ir::StmtKind::kAsyncWait:
      return;  // a thread block of one thread: what it wrote is visible to itself
  }
}

void Emitter::stmt_for(const ir::For& loop) {
  if (loop.for_kind >= ir::ForKind::kGridX) {
    fail(absl::InvalidArgumentError(absl::StrCat("loop '", loop.var->name, "' is bound to ",
                                                 std::string(ir::kind_name(loop.for_kind)),
                                                 ", which CPU target ", target_.text(), " does not have")),
         b_.getInt64Ty());
    return;
  }
  memo_.back().clear();
  std::optional<int64_t> count = tensor::as_int(loop.extent);
  if (count && *count <= 0) return;
  if (count && *count == 1) return loop_body(loop, value(loop.min));
  // A nested parallel loop would run its iterations in this thread anyway.
  if (loop.for_kind == ir::ForKind::kParallel && !frame_.thread) return emit_parallel(loop);

  llvm::Value* first = value(loop.min);
  llvm::Value* end = b_.CreateNSWAdd(first, value(loop.extent));
  llvm::Function* f = frame_.llvm_function;
  auto* body = llvm::BasicBlock::Create(context_, loop.var->name, f);
  auto* after = llvm::BasicBlock::Create(context_, "", f);
  llvm::BasicBlock* before = b_.GetInsertBlock();
  if (count) {
    b_.CreateBr(body);
  } else {
    b_.CreateCondBr(b_.CreateICmpSLT(first, end), body, after);
  }
  b_.SetInsertPoint(body);
  llvm::PHINode* index = b_.CreatePHI(b_.getInt64Ty(), 2);
  index->addIncoming(first, before);
  loop_body(loop, index);
  llvm::Value* next = b_.CreateNSWAdd(index, b_.getInt64(1));
  index->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpSLT(next, end), body, after);
  b_.SetInsertPoint(after);
}

void Emitter::block(const ir::Stmt& body) {
  auto memo = std::move(memo_);
  memo_.clear();
  memo_.emplace_back();
  stmt(body);
  memo_ = std::move(memo);
}

void Emitter::loop_body(const ir::For& loop, llvm::Value* index) {
  ++depth_;
  frame_.vars[loop.var.get()] = index;
  ranges_[loop.var.get()] = analysis::iterations(loop, ranges_, data_);
  data_.enter(loop);
  depths_[loop.var.get()] = depth_;
  block(loop.body);
  --depth_;
}

void Emitter::stmt_if(const ir::If& branch) {
  memo_.back().clear();
  llvm::Value* condition = value(branch.condition);
  llvm::Function* f = frame_.llvm_function;
  auto* yes = llvm::BasicBlock::Create(context_, "then", f);
  auto* after = llvm::BasicBlock::Create(context_, "", f);
  auto* no = branch.else_body ? llvm::BasicBlock::Create(context_, "else", f) : after;
  b_.CreateCondBr(condition, yes, no);
  b_.SetInsertPoint(yes);
  block(branch.then_body);
  b_.CreateBr(after);
  if (branch.else_body) {
    b_.SetInsertPoint(no);
    block(branch.else_body);
    b_.CreateBr(after);
  }
  b_.SetInsertPoint(after);
}

void Emitter::stmt_allocate(const ir::Allocate& allocate) {
  const ir::BufferNode* buffer = allocate.buffer.get();
  const Slot& slot = plan_.slots.at(buffer);
  if (slot.place == Place::kStack) {
    llvm::IRBuilderBase::InsertPoint here = b_.saveIP();
    llvm::BasicBlock& entry = frame_.llvm_function->getEntryBlock();
    b_.SetInsertPoint(&entry, entry.begin());
    llvm::Type* element = memory_type(buffer->element);
    uint64_t count = std::max<uint64_t>(1, slot.size_bytes / tensor::element_bytes(buffer->element));
    llvm::AllocaInst* memory = b_.CreateAlloca(llvm::ArrayType::get(element, count), nullptr, buffer->name);
    memory->setAlignment(llvm::Align(TF_ALIGNMENT));
    b_.restoreIP(here);
    frame_.buffers[buffer] = memory;
  } else {
    llvm::Value* base = slot.place == Place::kPerThread ? thread_workspace() : frame_.workspace;
    frame_.buffers[buffer] = b_.CreateConstGEP1_64(b_.getInt8Ty(), base, slot.offset_bytes, buffer->name);
  }
  stmt(allocate.body);
}

// On a CPU a copy takes effect at once, as in the interpreter.
void Emitter::stmt_async_copy(const ir::AsyncCopy& copy) {
  memo_.back().clear();
  auto at = [&](const ir::Buffer& buffer, const std::vector<ir::Expr>& indices) {
    std::optional<AffineIndex> index = affine_index(ir::physical_offset(*buffer, indices), depths_);
    return index ? address(buffer.get(), *index)
                 : fail(absl::InvalidArgumentError("async copy from a vector of places"), b_.getPtrTy());
  };
  if (copy.predicate || !copy.box.empty()) {
    fail(absl::UnimplementedError("async copies with a predicate or of a box are for GPUs"), b_.getPtrTy());
    return;
  }
  llvm::Value* target = at(copy.target, copy.target_indices);
  llvm::Value* source = at(copy.source, copy.source_indices);
  int64_t bytes = copy.elements * tensor::element_bytes(copy.source->element);
  b_.CreateMemCpy(target, llvm::Align(1), source, llvm::Align(1), static_cast<uint64_t>(bytes));
}

}  // namespace tf::backends
