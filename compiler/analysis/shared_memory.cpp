#include "compiler/analysis/shared_memory.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <set>
#include <vector>

#include "base/whole_division.h"
#include "compiler/ir/physical.h"

namespace tf::analysis {
namespace {

using ir::as;
using ir::BufferNode;
using ir::Stmt;

// Statements are counted in the order of the text.
struct Around {  // a loop or a branch
  int64_t begin = 0, end = std::numeric_limits<int64_t>::max();
  bool is_loop = false;
};
using Chain =
    std::vector<size_t>;  // what is around a statement, as positions in Lives::around, from the outside

struct Life {
  const BufferNode* buffer = nullptr;
  Chain chain;
  int64_t first = -1, last = -1;  // accesses; none: -1
};

struct Meeting {
  int64_t at = 0;
  Chain chain;
};

class Lives final : public ir::Visitor {
 public:
  std::vector<Life> lives;
  std::vector<Meeting> barriers;
  std::vector<Around> around;

 protected:
  bool enter(const Stmt& stmt) override {
    ++now_;
    if (const auto* loop = as<ir::For>(stmt)) {
      (*this)(loop->min);
      (*this)(loop->extent);
      // Blocks and threads do not repeat anything.
      if (loop->for_kind >= ir::ForKind::kGridX) return true;
      inside(true, [&] { (*this)(loop->body); });
      return false;
    }
    if (const auto* branch = as<ir::If>(stmt)) {
      (*this)(branch->condition);
      for (const Stmt& side : {branch->then_body, branch->else_body}) inside(false, [&] { (*this)(side); });
      return false;
    }
    if (const auto* allocate = as<ir::Allocate>(stmt);
        allocate && allocate->buffer->scope == ir::Scope::kShared)
      lives.push_back({allocate->buffer.get(), chain_});
    if (const auto* store = as<ir::Store>(stmt)) touch(store->buffer.get());
    if (as<ir::Barrier>(stmt)) barriers.push_back({now_, chain_});
    if (const auto* op = as<ir::MatrixOp>(stmt)) {
      for (const ir::MatrixTile& tile : op->tiles) {
        touch(tile.buffer.get());
        if (op->unit->reads_shared && tile.buffer->scope == ir::Scope::kShared)
          late_.insert(tile.buffer.get());
      }
      if (op->action == ir::MatrixAction::kWait) touch_late();
    }
    if (const auto* copy = as<ir::AsyncCopy>(stmt)) {
      touch(copy->target.get());
      late_.insert(copy->target.get());
    }
    if (as<ir::AsyncWait>(stmt)) touch_late();
    return true;
  }

  bool enter(const ir::Expr& expr) override {
    if (const auto* load = as<ir::Load>(expr)) touch(load->buffer.get());
    return true;
  }

 private:
  template <typename F>
  void inside(bool is_loop, F&& walk) {
    const size_t own = around.size();
    around.push_back({now_, 0, is_loop});
    chain_.push_back(own);
    walk();
    chain_.pop_back();
    around[own].end = ++now_;
    if (!is_loop) return;
    // What lives longer than an iteration is alive in all of them.
    for (Life& life : lives)
      if (life.last >= around[own].begin && std::ranges::count(life.chain, own) == 0) {
        life.first = std::min(life.first, around[own].begin);
        life.last = around[own].end;
      }
  }

  void touch(const BufferNode* buffer) {
    for (Life& life : lives)
      if (life.buffer == buffer) {
        if (life.first < 0) life.first = now_;
        life.last = now_;
      }
  }

  // Copies arrive and multiplications read until they are waited for.
  void touch_late() {
    for (const BufferNode* buffer : late_) touch(buffer);
  }

  int64_t now_ = 0;
  Chain chain_;
  std::set<const BufferNode*> late_;
};

bool is_prefix(const Chain& a, const Chain& b) {
  return a.size() <= b.size() && std::equal(a.begin(), a.end(), b.begin());
}

// Whether `before` is dead for all threads when `after` comes to life, and the other way round in the next iteration.
bool are_apart(const Lives& all, const Life& before, const Life& after) {
  if (before.last >= after.first) return false;
  const size_t most = std::min(before.chain.size(), after.chain.size());
  size_t common = 0;
  while (common < most && before.chain[common] == after.chain[common]) ++common;
  const Chain both(before.chain.begin(), before.chain.begin() + static_cast<std::ptrdiff_t>(common));
  const auto meets = [&](int64_t from, int64_t to) {
    return std::ranges::any_of(all.barriers, [&](const Meeting& barrier) {
      return barrier.at > from && barrier.at < to && is_prefix(barrier.chain, both);
    });
  };
  if (!meets(before.last, after.first)) return false;
  for (size_t i = common; i-- > 0;) {
    const Around& loop = all.around[both[i]];
    if (loop.is_loop) return meets(after.last, loop.end) || meets(loop.begin, before.first);
  }
  return true;
}

}  // namespace

int64_t shared_alignment(const ir::BufferNode& buffer) {
  const tensor::Swizzle& swizzle = buffer.layout.swizzle;
  return std::max(kSharedAlignment, swizzle ? swizzle.period() * tensor::element_bytes(buffer.element) : 0);
}

SharedMemory plan_shared_memory(const ir::Stmt& kernel) {
  Lives all;
  all(kernel);
  std::vector<const Life*> order;
  for (const Life& life : all.lives) order.push_back(&life);
  const auto size_of = [](const Life* life) {
    return round_up(tensor::as_int(ir::physical_elements(*life->buffer)).value_or(0) *
                        tensor::element_bytes(life->buffer->element),
                    shared_alignment(*life->buffer));
  };
  std::ranges::stable_sort(order, std::greater(), size_of);
  SharedMemory memory;
  std::vector<const Life*> placed;
  for (const Life* life : order) {
    int64_t offset = 0;
    const int64_t alignment = shared_alignment(*life->buffer);
    for (bool moved = true; moved;) {
      moved = false;
      for (const Life* other : placed) {
        const int64_t begin = memory.offsets.at(other->buffer), end = begin + size_of(other);
        if (offset >= end || offset + size_of(life) <= begin) continue;
        if (are_apart(all, *life, *other) || are_apart(all, *other, *life)) continue;
        offset = round_up(end, alignment);
        moved = true;
      }
    }
    memory.offsets[life->buffer] = offset;
    memory.bytes = std::max(memory.bytes, offset + size_of(life));
    memory.alignment = std::max(memory.alignment, alignment);
    placed.push_back(life);
  }
  return memory;
}

}  // namespace tf::analysis
