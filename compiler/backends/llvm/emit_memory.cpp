// Loads and stores. Consecutive lanes become one vector access, equal lanes a scalar and a broadcast, small
// constant strides a few vector accesses and shuffles, anything else gathers and scatters. Masks become
// masked accesses.

#include <algorithm>
#include <numeric>
#include <utility>

#include "compiler/backends/llvm/emitter.h"
#include "compiler/ir/physical.h"
#include "compiler/runtime/kernel_abi.h"

namespace tf::backends {
namespace {

constexpr int64_t kMaxShuffledStride = 4;

}  // namespace

llvm::Instruction* Emitter::tag(llvm::Instruction* access, const ir::BufferNode* buffer) {
  auto found = alias_scopes_.find(buffer);
  if (found == alias_scopes_.end()) return access;
  access->setMetadata(llvm::LLVMContext::MD_alias_scope, found->second.first);
  access->setMetadata(llvm::LLVMContext::MD_noalias, found->second.second);
  return access;
}

llvm::Value* Emitter::buffer_base(const ir::BufferNode* buffer) {
  auto found = frame_.buffers.find(buffer);
  if (found != frame_.buffers.end()) return found->second;
  return fail(
      absl::InvalidArgumentError("buffer '" + buffer->name + "' is neither a parameter nor allocated"),
      b_.getPtrTy());
}

llvm::Align Emitter::alignment(const ir::BufferNode* buffer, const AffineIndex& index) {
  int64_t elements = index.constant;
  for (const AffineIndex::Term& term : index.terms) elements = std::gcd(elements, term.coefficient);
  int64_t bytes = std::gcd(elements * tensor::element_bytes(buffer->element), int64_t{TF_ALIGNMENT});
  return llvm::Align(static_cast<uint64_t>(bytes));
}

// One GEP a loop depth and one for the constant: what is invariant in inner loops stays a pointer of its own,
// and the constant ends up in the instruction's displacement.
llvm::Value* Emitter::address(const ir::BufferNode* buffer, const AffineIndex& index) {
  llvm::Type* element = memory_type(buffer->element);
  llvm::Value* pointer = buffer_base(buffer);
  for (size_t i = 0; i < index.terms.size();) {
    AffineIndex level;
    int depth = index.terms[i].depth;
    for (; i < index.terms.size() && index.terms[i].depth == depth; ++i)
      level.terms.push_back(index.terms[i]);
    pointer = b_.CreateGEP(element, pointer, sum_of_terms(level));
  }
  if (index.constant != 0) pointer = b_.CreateGEP(element, pointer, b_.getInt64(index.constant));
  return pointer;
}

llvm::Value* Emitter::addresses(const ir::BufferNode* buffer, const ir::Expr& flat) {
  llvm::Value* index = value(flat);
  // 32-bit indices fit twice as many lanes into one gather.
  if (analysis::Interval{0, INT32_MAX}.contains(range_of(flat))) {
    index = b_.CreateTrunc(index, with_lanes_of(b_.getInt32Ty(), index));
  }
  return b_.CreateGEP(memory_type(buffer->element), buffer_base(buffer), index);
}

llvm::Value* Emitter::any_lane(llvm::Value* mask) {
  return mask->getType()->isVectorTy() ? b_.CreateOrReduce(mask) : mask;
}

llvm::Value* Emitter::guarded(llvm::Value* condition, llvm::Type* type,
                              const std::function<llvm::Value*()>& f) {
  llvm::Function* function = frame_.llvm_function;
  auto* yes = llvm::BasicBlock::Create(context_, "guarded", function);
  auto* after = llvm::BasicBlock::Create(context_, "", function);
  llvm::BasicBlock* before = b_.GetInsertBlock();
  b_.CreateCondBr(condition, yes, after);
  b_.SetInsertPoint(yes);
  memo_.emplace_back();
  llvm::Value* v = f();
  memo_.pop_back();
  llvm::BasicBlock* end = b_.GetInsertBlock();
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  llvm::PHINode* phi = b_.CreatePHI(type, 2);
  phi->addIncoming(v, end);
  phi->addIncoming(llvm::Constant::getNullValue(type), before);
  return phi;
}

llvm::Value* Emitter::load(const ir::Load& e) {
  const ir::BufferNode* buffer = e.buffer.get();
  int lanes = e.type().lanes;
  ir::Expr flat = ir::physical_offset(*buffer, e.indices);
  std::optional<AffineIndex> index = affine_index(flat, depths_);
  llvm::Type* memory = memory_type(buffer->element);

  // A predicate that is one value for all lanes is a branch.
  const ir::Expr* predicate = e.predicate ? &e.predicate : nullptr;
  if (predicate && tensor::as<ir::Broadcast>(*predicate)) {
    predicate = &tensor::as<ir::Broadcast>(*predicate)->value;
  }
  if (predicate && !(*predicate)->type().is_vector()) {
    ir::Expr open = tensor::make<ir::Load>(e.buffer, e.indices);
    return guarded(value(*predicate), value_type(buffer->element, lanes), [&] { return value(open); });
  }
  llvm::Value* mask = predicate ? value(*predicate) : nullptr;
  if (!mask && index && index->stride == 0) {
    llvm::LoadInst* l = b_.CreateAlignedLoad(memory, address(buffer, *index), alignment(buffer, *index));
    return to_lanes(from_memory(buffer->element, tag(l, buffer)), lanes);
  }
  llvm::Value* raw = nullptr;
  if (!mask && index && index->stride >= 1 && index->stride <= kMaxShuffledStride) {
    raw = load_strided(buffer, *index, lanes);
  } else {
    if (!mask) mask = llvm::Constant::getAllOnesValue(value_type(tensor::Element::kBool, lanes));
    raw = load_masked(buffer, flat, index, lanes, mask);
  }
  return from_memory(buffer->element, raw);
}

// Loads all elements from the first lane's to the last one's, in vectors of `lanes` of which the last may
// overlap its neighbour (never beyond the last lane), and picks every stride-th.
llvm::Value* Emitter::load_strided(const ir::BufferNode* buffer, const AffineIndex& index, int lanes) {
  llvm::Type* vector = memory_type(buffer->element, lanes);
  int stride = static_cast<int>(index.stride);
  int span = (lanes - 1) * stride + 1;
  llvm::Value* result = nullptr;
  for (int start = 0; start < span; start += lanes) {
    AffineIndex at = index;
    int from = std::min(start, span - lanes);
    at.constant += from;
    llvm::Value* piece =
        tag(b_.CreateAlignedLoad(vector, address(buffer, at), alignment(buffer, at)), buffer);
    if (stride == 1) return piece;
    std::vector<int> pick(static_cast<size_t>(lanes));
    for (int lane = 0; lane < lanes; ++lane) {
      int element = lane * stride;
      bool here = element >= start && element < start + lanes;
      pick[static_cast<size_t>(lane)] = here ? lanes + element - from : (element < start ? lane : -1);
    }
    result = b_.CreateShuffleVector(result ? result : llvm::PoisonValue::get(vector), piece, pick);
  }
  return result;
}

llvm::Value* Emitter::load_masked(const ir::BufferNode* buffer, const ir::Expr& flat,
                                  const std::optional<AffineIndex>& index, int lanes, llvm::Value* mask) {
  llvm::Type* vector = memory_type(buffer->element, lanes);
  llvm::Value* zero = llvm::Constant::getNullValue(vector);
  if (index && index->stride == 1) {
    return tag(b_.CreateMaskedLoad(vector, address(buffer, *index), alignment(buffer, *index), mask, zero),
               buffer);
  }
  if (index && index->stride == 0) {
    llvm::Type* scalar = memory_type(buffer->element);
    llvm::Value* v = guarded(any_lane(mask), scalar, [&]() -> llvm::Value* {
      return tag(b_.CreateAlignedLoad(scalar, address(buffer, *index), alignment(buffer, *index)), buffer);
    });
    return b_.CreateSelect(mask, to_lanes(v, lanes), zero);
  }
  llvm::Align element_align(static_cast<uint64_t>(tensor::element_bytes(buffer->element)));
  return tag(b_.CreateMaskedGather(vector, addresses(buffer, flat), element_align, mask, zero), buffer);
}

void Emitter::store(const ir::Store& s) {
  const ir::BufferNode* buffer = s.buffer.get();
  const ir::Expr* predicate = s.predicate ? &s.predicate : nullptr;
  if (predicate && tensor::as<ir::Broadcast>(*predicate)) {
    predicate = &tensor::as<ir::Broadcast>(*predicate)->value;
  }
  if (predicate && !(*predicate)->type().is_vector()) {
    ir::Stmt open = ir::make_stmt<ir::Store>(s.buffer, s.indices, s.value);
    return stmt_if(ir::If(*predicate, open));
  }
  int lanes = s.value->type().lanes;
  for (const ir::Expr& index : s.indices) lanes = std::max(lanes, index->type().lanes);
  llvm::Value* v = to_memory(buffer->element, to_lanes(value(s.value), lanes));
  llvm::Value* mask = predicate ? value(*predicate) : nullptr;
  ir::Expr flat = ir::physical_offset(*buffer, s.indices);
  std::optional<AffineIndex> index = affine_index(flat, depths_);
  if (index && (lanes == 1 || index->stride == 1)) {
    llvm::Value* pointer = address(buffer, *index);
    llvm::Align align = alignment(buffer, *index);
    if (mask) {
      tag(b_.CreateMaskedStore(v, pointer, align, mask), buffer);
    } else {
      tag(b_.CreateAlignedStore(v, pointer, align), buffer);
    }
    return;
  }
  // A scatter writes in lane order, so that overlapping lanes leave the last one's value.
  if (!mask) mask = llvm::Constant::getAllOnesValue(value_type(tensor::Element::kBool, lanes));
  llvm::Value* pointers =
      index && index->stride == 0 ? to_lanes(address(buffer, *index), lanes) : addresses(buffer, flat);
  llvm::Align element_align(static_cast<uint64_t>(tensor::element_bytes(buffer->element)));
  tag(b_.CreateMaskedScatter(v, pointers, element_align, mask), buffer);
}

}  // namespace tf::backends
