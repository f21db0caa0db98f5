// The function's frame: entry point, checks of the call, alias scopes, attributes.

#include <algorithm>
#include <set>
#include <unordered_set>

#include "absl/strings/str_cat.h"
#include "compiler/backends/llvm/emitter.h"
#include "compiler/ir/physical.h"
#include "compiler/runtime/kernel_abi.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Verifier.h"

namespace tf::backends {
namespace {

enum CallField : unsigned {
  kAbiVersion,
  kBufferCount,
  kBuffers,
  kSizesBytes,
  kDims,
  kWorkspace,
  kRuntime,
};

// All buffers that the function touches.
class BufferCollector final : public ir::Visitor {
 public:
  std::set<const ir::BufferNode*> found;

 private:
  bool enter(const ir::Stmt& s) override {
    if (auto* store = ir::as<ir::Store>(s)) found.insert(store->buffer.get());
    if (auto* allocate = ir::as<ir::Allocate>(s)) found.insert(allocate->buffer.get());
    if (auto* copy = ir::as<ir::AsyncCopy>(s)) {
      found.insert(copy->source.get());
      found.insert(copy->target.get());
    }
    return true;
  }
  bool enter(const ir::Expr& e) override {
    if (!seen_.insert(e.get()).second) return false;  // shared parts make a tree walk exponential
    if (auto* load = ir::as<ir::Load>(e)) found.insert(load->buffer.get());
    return true;
  }
  std::unordered_set<const tensor::ExprNode*> seen_;
};

}  // namespace

Emitter::Emitter(llvm::Module& module, const ir::Function& function, const target::Target& target,
                 const WorkspacePlan& plan)
    : module_(module),
      context_(module.getContext()),
      function_(function),
      target_(target),
      plan_(plan),
      b_(module.getContext()) {
  llvm::FastMathFlags contract;
  contract.setAllowContract(true);
  b_.setFastMathFlags(contract);
}

absl::Status Emitter::emit() {
  BufferCollector buffers;
  buffers(function_.body);
  llvm::MDBuilder md(context_);
  llvm::MDNode* domain = md.createAnonymousAliasScopeDomain();
  std::vector<std::pair<const ir::BufferNode*, llvm::Metadata*>> scopes;
  for (const ir::BufferNode* buffer : buffers.found) {
    scopes.emplace_back(buffer, md.createAnonymousAliasScope(domain, buffer->name));
  }
  auto may_overlap = [&](const ir::BufferNode* a, const ir::BufferNode* b) {
    return std::ranges::any_of(function_.in_place, [&](int i) {
      const ir::BufferNode* input = function_.params[static_cast<size_t>(i)].get();
      const ir::BufferNode* output = function_.params.back().get();
      return (a == input && b == output) || (a == output && b == input);
    });
  };
  for (const auto& [buffer, scope] : scopes) {
    std::vector<llvm::Metadata*> others;
    for (const auto& [other, other_scope] : scopes) {
      if (other != buffer && !may_overlap(buffer, other)) others.push_back(other_scope);
    }
    alias_scopes_[buffer] = {llvm::MDNode::get(context_, {scope}), llvm::MDNode::get(context_, others)};
  }

  frame_.llvm_function = make_function(function_.name, {b_.getPtrTy()}, /*external=*/true);
  frame_.call = frame_.llvm_function->getArg(0);
  emit_checks();
  memo_.emplace_back();
  if (status_.ok()) stmt(function_.body);
  if (!status_.ok()) return status_;
  b_.CreateRet(b_.getInt32(TF_KERNEL_OK));

  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyModule(module_, &stream)) {
    return absl::InternalError(
        absl::StrCat("kernel '", function_.name, "' gave invalid LLVM IR: ", stream.str()));
  }
  return absl::OkStatus();
}

llvm::Type* Emitter::call_type() {
  llvm::Type* i32 = b_.getInt32Ty();
  llvm::Type* pointer = b_.getPtrTy();
  return llvm::StructType::get(context_, {i32, i32, pointer, pointer, pointer, pointer, pointer});
}

llvm::Value* Emitter::load_invariant(llvm::Type* type, llvm::Value* address) {
  llvm::LoadInst* load = b_.CreateLoad(type, address);
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
  return load;
}

llvm::Value* Emitter::call_field(unsigned field, llvm::Type* type) {
  return load_invariant(type, b_.CreateStructGEP(call_type(), frame_.call, field));
}

llvm::Function* Emitter::make_function(const std::string& name, llvm::ArrayRef<llvm::Type*> params,
                                       bool external) {
  auto* type = llvm::FunctionType::get(b_.getInt32Ty(), params, false);
  auto linkage = external ? llvm::Function::ExternalLinkage : llvm::Function::InternalLinkage;
  llvm::Function* function = llvm::Function::Create(type, linkage, name, module_);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  function->addFnAttr("no-trapping-math", "true");
  function->addFnAttr("prefer-vector-width", absl::StrCat(target_.vector.bits));
  function->addFnAttr("min-legal-vector-width", "0");
  b_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", function));
  return function;
}

void Emitter::return_if(llvm::Value* condition, llvm::Value* code) {
  llvm::Function* f = frame_.llvm_function;
  auto* fail_block = llvm::BasicBlock::Create(context_, "fail", f);
  auto* next = llvm::BasicBlock::Create(context_, "ok", f);
  llvm::MDBuilder md(context_);
  b_.CreateCondBr(condition, fail_block, next, md.createBranchWeights(1, 1 << 20));
  b_.SetInsertPoint(fail_block);
  b_.CreateRet(code);
  b_.SetInsertPoint(next);
}

// Refuses a call of another version or with buffers that are too small, and names what the rest needs.
void Emitter::emit_checks() {
  llvm::Type* i64 = b_.getInt64Ty();
  llvm::Type* pointer = b_.getPtrTy();
  llvm::Value* version = call_field(kAbiVersion, b_.getInt32Ty());
  return_if(b_.CreateICmpNE(version, b_.getInt32(TF_ABI_VERSION)), b_.getInt32(TF_KERNEL_BAD_ABI));
  llvm::Value* count = call_field(kBufferCount, b_.getInt32Ty());
  uint32_t params = static_cast<uint32_t>(function_.params.size());
  return_if(b_.CreateICmpULT(count, b_.getInt32(params)), b_.getInt32(TF_KERNEL_SHORT_BUFFER));

  if (!function_.dims.empty()) {
    llvm::Value* dims = call_field(kDims, pointer);
    for (size_t i = 0; i < function_.dims.size(); ++i) {
      const tensor::Dimension& dim = function_.dims[i];
      frame_.vars[dim.var.get()] = load_invariant(i64, b_.CreateConstGEP1_64(i64, dims, i));
      ranges_[dim.var.get()] = {dim.low, dim.high};
    }
  }
  if (!function_.params.empty()) {
    llvm::Value* buffers = call_field(kBuffers, pointer);
    llvm::Value* sizes = call_field(kSizesBytes, pointer);
    llvm::Value* short_buffer = b_.getFalse();
    memo_.emplace_back();
    for (size_t i = 0; i < function_.params.size(); ++i) {
      const ir::BufferNode* buffer = function_.params[i].get();
      ir::Expr bytes = ir::physical_elements(*buffer) * tensor::element_bytes(buffer->element);
      llvm::Value* size = load_invariant(i64, b_.CreateConstGEP1_64(i64, sizes, i));
      short_buffer = b_.CreateOr(short_buffer, b_.CreateICmpULT(size, value(bytes)));
      frame_.buffers[buffer] = load_invariant(pointer, b_.CreateConstGEP1_64(pointer, buffers, i));
    }
    memo_.pop_back();
    return_if(short_buffer, b_.getInt32(TF_KERNEL_SHORT_BUFFER));
  }
  if (plan_.shared_bytes + plan_.per_thread_bytes > 0) frame_.workspace = call_field(kWorkspace, pointer);
}

}  // namespace tf::backends
