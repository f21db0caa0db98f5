#include "compiler/backends/cuda/cuda_source.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/backends/cuda/cuda_expr.h"
#include "compiler/ir/verify.h"
#include "compiler/tensor/text.h"

namespace tf::backends {
namespace {

using ir::ForKind;
using ir::Stmt;

constexpr int64_t kSharedAlignment = 16;

bool is_launch(ForKind kind) {
  return kind >= ForKind::kGridX;
}
bool is_thread(ForKind kind) {
  return kind >= ForKind::kThreadX;
}

// Buffers that something is stored to.
class Stored final : public ir::Visitor {
 public:
  std::set<const ir::BufferNode*> buffers;

 protected:
  bool enter(const Stmt& stmt) override {
    if (const auto* store = ir::as<ir::Store>(stmt)) buffers.insert(store->buffer.get());
    return true;
  }
};

class CudaEmitter {
 public:
  CudaEmitter(const ir::Function& function, const target::Target& target)
      : function_(function), target_(target) {}

  absl::StatusOr<CudaSource> run() {
    const std::string head = signature();
    margin_ = 1;
    stmt(function_.body);
    TF_RETURN_IF_ERROR(status_);
    TF_RETURN_IF_ERROR(check_launch());
    absl::StrAppend(
        &source_.text, "#ifndef NAN\n#define NAN __int_as_float(0x7fffffff)\n#endif\n#ifndef INFINITY\n",
        "#define INFINITY __int_as_float(0x7f800000)\n#endif\n", std::string(cuda_prelude()), head);
    if (source_.shared_bytes > 0)
      absl::StrAppend(&source_.text, "  extern __shared__ __align__(", kSharedAlignment,
                      ") unsigned char shared_memory[];\n");
    absl::StrAppend(&source_.text, body_, "}\n");
    return std::move(source_);
  }

 private:
  // Made first, so that parameters get the plainest names.
  std::string signature() {
    Stored stored;
    stored(function_.body);
    std::string parameters;
    for (size_t i = 0; i < function_.params.size(); ++i) {
      const ir::Buffer& param = function_.params[i];
      const bool overlaps =
          !function_.in_place.empty() && (i + 1 == function_.params.size() ||
                                          std::ranges::count(function_.in_place, static_cast<int>(i)) > 0);
      absl::StrAppend(&parameters, parameters.empty() ? "" : ", ",
                      stored.buffers.contains(param.get()) ? "" : "const ", type(param->element),
                      overlaps ? "* " : "* __restrict__ ", names_.of(param.get(), param->name));
    }
    for (const tensor::Dimension& dim : function_.dims)
      absl::StrAppend(&parameters, parameters.empty() ? "" : ", ", "long long ",
                      names_.of(dim.var.get(), dim.var->name));
    return absl::StrCat("extern \"C\" __global__ void ", function_.name, "(", parameters, ") {\n");
  }

  void stmt(const Stmt& s) {
    if (!status_.ok()) return;
    ir::visit(s, [&](const auto& node) { emit(node); });
  }

  void emit(const ir::For& s) {
    if (is_launch(s.for_kind)) return launch_loop(s);
    if (s.for_kind == ForKind::kParallel)
      return fail("a parallel loop is for CPUs: bind it to a grid or to threads");
    const std::string var = names_.of(s.var.get(), s.var->name);
    line(absl::StrCat("for (long long ", var, " = ", expr(s.min), "; ", var, " < ", expr(s.min + s.extent),
                      "; ++", var, ") {"));
    data_.enter(s);
    block(s.body);
  }

  // The loop's variable is the block's or the thread's own.
  void launch_loop(const ir::For& s) {
    if (extents_.contains(s.for_kind))
      return fail(
          "a kernel can have only one nest of grid or thread loops: place the other stages inside the last "
          "nest");
    extents_[s.for_kind] = s.extent;
    const bool thread = is_thread(s.for_kind);
    const int axis =
        static_cast<int>(s.for_kind) - static_cast<int>(thread ? ForKind::kThreadX : ForKind::kGridX);
    entered_.insert(s.for_kind);
    line(absl::StrCat("{ const long long ", names_.of(s.var.get(), s.var->name), " = ", expr(s.min), " + ",
                      thread ? "threadIdx." : "blockIdx.", std::string(1, static_cast<char>('x' + axis)),
                      ";"));
    block(s.body);
    entered_.erase(s.for_kind);
  }

  void emit(const ir::Seq& s) {
    for (const Stmt& child : s.stmts) stmt(child);
  }

  void emit(const ir::Store& s) {
    if (s.buffer->scope != ir::Scope::kRegister) shared_stores_.push_back(entered_);
    const std::string assignment = absl::StrCat(names_.of(s.buffer.get(), s.buffer->name), "[",
                                                expr(s.indices[0]), "] = ", expr(s.value), ";");
    line(s.predicate ? absl::StrCat("if (", expr(s.predicate), ") ", assignment) : assignment);
  }

  void emit(const ir::If& s) {
    line(absl::StrCat("if (", expr(s.condition), ") {"));
    block(s.then_body);
    if (!s.else_body) return;
    line("else {");
    block(s.else_body);
  }

  void emit(const ir::Let& s) {
    line(absl::StrCat("{ const ", type(s.value->type().element), " ", names_.of(s.var.get(), s.var->name),
                      " = ", expr(s.value), ";"));
    data_.enter(s);
    block(s.body);
  }

  void emit(const ir::Allocate& s) {
    const ir::BufferNode& buffer = *s.buffer;
    const std::string name = names_.of(s.buffer.get(), buffer.name), element = type(buffer.element);
    const std::optional<int64_t> count = tensor::as_int(buffer.extents[0]);
    if (!count) return fail(absl::StrCat("buffer ", buffer.name, " has no constant size"));
    if (buffer.scope == ir::Scope::kShared) {
      line(absl::StrCat("{ ", element, "* const ", name, " = (", element, "*)(shared_memory + ",
                        source_.shared_bytes, ");"));
      const int64_t bytes = *count * tensor::element_bytes(buffer.element);
      source_.shared_bytes += (bytes + kSharedAlignment - 1) / kSharedAlignment * kSharedAlignment;
    } else if (buffer.scope == ir::Scope::kRegister) {
      line(absl::StrCat("{ ", element, " ", name, "[", *count, "];"));
    } else {
      return fail(absl::StrCat("buffer ", buffer.name, " is scratch memory of scope ",
                               buffer.scope == ir::Scope::kFragment ? "fragment" : "global",
                               "; a kernel's is register or shared, by compute_at"));
    }
    block(s.body);
  }

  void emit(const ir::Barrier&) { line("__syncthreads();"); }
  void emit(const ir::AsyncCopy&) { fail_unimplemented("asynchronous copies"); }
  void emit(const ir::AsyncWait&) { fail_unimplemented("asynchronous copies"); }

  absl::Status check_launch() {
    if (extents_.empty())
      return absl::FailedPreconditionError(
          "no loop is bound to blocks or threads: annotate loops with grid_x, thread_x and so on");
    for (const std::set<ForKind>& entered : shared_stores_) {
      if (entered.size() < extents_.size())
        return absl::FailedPreconditionError(
            "a store is outside the grid and thread loops, where every block and thread would repeat it");
    }
    int64_t threads = 1;
    for (const auto& [kind, extent] : extents_) {
      if (!is_thread(kind)) {
        source_.grid[static_cast<size_t>(kind) - static_cast<size_t>(ForKind::kGridX)] =
            tensor::to_string(extent);
        continue;
      }
      const std::optional<int64_t> count = tensor::as_int(extent);
      if (!count) return absl::FailedPreconditionError("a thread loop has no constant extent");
      source_.block[static_cast<size_t>(kind) - static_cast<size_t>(ForKind::kThreadX)] = *count;
      threads *= *count;
    }
    if (threads > target_.gpu.block_threads || source_.shared_bytes > target_.gpu.shared_bytes)
      return absl::FailedPreconditionError(absl::StrCat(
          "a block of ", threads, " threads with ", source_.shared_bytes, " bytes of shared memory; ",
          target_.text(), " has ", target_.gpu.block_threads, " and ", target_.gpu.shared_bytes));
    return absl::OkStatus();
  }

  void line(const std::string& text) {
    absl::StrAppend(&body_, std::string(static_cast<size_t>(2 * margin_), ' '), text, "\n");
  }
  // What the line before opened.
  void block(const Stmt& body) {
    ++margin_;
    stmt(body);
    --margin_;
    line("}");
  }
  std::string expr(const ir::Expr& e) { return cuda_expr(e, data_, names_, status_); }
  std::string type(tensor::Element element) {
    absl::StatusOr<std::string> name = cuda_type(element);
    if (!name.ok() && status_.ok()) status_ = name.status();
    return name.value_or("");
  }
  void fail(const std::string& why) {
    if (status_.ok()) status_ = absl::FailedPreconditionError(why);
  }
  void fail_unimplemented(const char* what) {
    if (status_.ok())
      status_ = absl::UnimplementedError(absl::StrCat("CUDA C of ", what, " is not supported yet"));
  }

  const ir::Function& function_;
  const target::Target& target_;
  CudaSource source_;
  std::string body_;
  int margin_ = 0;
  ir::Data data_;
  CudaNames names_;
  absl::Status status_;
  std::map<ForKind, ir::Expr> extents_;
  std::set<ForKind> entered_;
  std::vector<std::set<ForKind>> shared_stores_;  // the launch loops around each store that others may see
};

}  // namespace

absl::StatusOr<CudaSource> cuda_source(const ir::Function& function, const target::Target& target) {
  if (target.arch != target::Arch::kCuda)
    return absl::InvalidArgumentError(absl::StrCat("CUDA C is for cuda targets, not for ", target.text()));
  TF_RETURN_IF_ERROR(ir::verify(function, {.flat = true, .explicit_vectors = true}));
  return CudaEmitter(function, target).run();
}

}  // namespace tf::backends
