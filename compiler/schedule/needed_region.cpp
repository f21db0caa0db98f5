#include "compiler/schedule/needed_region.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <utility>

#include "base/check.h"
#include "compiler/analysis/access.h"
#include "compiler/analysis/region.h"
#include "compiler/analysis/simplifier.h"
#include "compiler/analysis/simplify.h"
#include "compiler/schedule/stage_loops.h"

namespace tf::schedule {
namespace {

using tensor::as;
using tensor::Expr;

Expr truth(bool value) {
  return tensor::imm({tensor::Element::kBool, 1}, value ? 1 : 0);
}

// How many values the atom has: a variable, or the digit of one that stands for places in runs. Nothing for others.
std::optional<int64_t> count_of(const Expr& atom, const analysis::RangeMap& inner) {
  const auto* binary = as<ir::Binary>(atom);
  const auto* var = as<tensor::VarNode>(binary ? binary->a : atom);
  const auto found = var ? inner.find(var) : inner.end();
  if (found == inner.end()) return std::nullopt;
  const int64_t iterations = found->second.max + 1;
  if (!binary) return iterations;
  const std::optional<int64_t> length = tensor::as_int(binary->b);
  if (!length || *length < 1 || iterations % *length != 0) return std::nullopt;
  if (binary->op == ir::BinaryOp::kFloorDiv) return iterations / *length;
  return binary->op == ir::BinaryOp::kFloorMod ? length : std::nullopt;
}

// The values of the form while the inner variables range, in a span of that extent.
Runs runs_of(const analysis::Linear& form, const analysis::RangeMap& inner, int64_t extent) {
  std::vector<std::pair<int64_t, int64_t>> steps;  // with the number of them
  for (const analysis::Term& term : form.terms) {
    const bool varies =
        std::ranges::any_of(inner, [&](const auto& i) { return analysis::uses(term.atom, i.first); });
    const std::optional<int64_t> count = count_of(term.atom, inner);
    if (varies && !count) return {};
    if (varies) steps.emplace_back(term.coefficient, *count);
  }
  std::ranges::sort(steps);
  Runs runs;
  for (const auto& [step, count] : steps) {
    if (count == 1) continue;
    if (runs.count == 0 && step == runs.length)
      runs.length *= count;
    else if (runs.count == 0 && step > runs.length)
      runs = {.length = runs.length, .count = count, .step = step};
    else if (runs.count > 0 && step == runs.step * runs.count)
      runs.count *= count;
    else
      return {};
  }
  return runs.count > 0 && (runs.count - 1) * runs.step + runs.length == extent ? runs : Runs();
}

bool is_of_one_thread(tensor::Scope scope) {
  return scope != tensor::Scope::kShared && scope != tensor::Scope::kFragment;
}

// The values of the axes of `stage` for fixed loops of `consumer` up to `loop` and those around it.
class NeedFinder {
 public:
  NeedFinder(const StateData& data, const StageState& consumer, int loop, tensor::Scope scope)
      : data_(data),
        consumer_(consumer),
        loop_(loop),
        is_of_one_thread_(is_of_one_thread(scope)),
        may_lie_apart_(scope == tensor::Scope::kRegister && is_in_thread()) {
    open_.sizes = data.open_ranges();
    for (const StageState& stage : data.stages) add_ranges(stage, 0, &all_);
    if (scope == tensor::Scope::kShared || scope == tensor::Scope::kFragment) add_threads_around(scope);
    whole_tiles_ = scope == tensor::Scope::kFragment;
  }

  Region find(const StageState& stage) {
    const std::vector<Expr>& extents = stage.stage.output->extents;
    const std::vector<const StageState*> readers = data_.readers(stage.stage.output.get());
    std::optional<analysis::Region> all;
    for (const StageState* reader : readers) {
      add_reader(stage, *reader, is_of_one_thread_, &all);
      whole_tiles_ = whole_tiles_ || reader->scope == tensor::Scope::kFragment;
    }
    // What one thread reads may lie far from what another reader's thread does; what all threads read of both, close together.
    if (is_of_one_thread_ && readers.size() > 1) {
      std::optional<analysis::Region> of_all;
      for (const StageState* reader : readers) add_reader(stage, *reader, false, &of_all);
      if (elements_of(*of_all, stage) < elements_of(*all, stage)) all = of_all;
    }
    TF_CHECK(all) << stage.name << " is read and its extents are constant";
    Region region;
    analysis::RangeMap known = all_;
    known.insert(open_.sizes.begin(), open_.sizes.end());
    region.runs.resize(extents.size());
    for (size_t d = 0; d < extents.size(); ++d) {
      const auto& [low, span] = (*all)[d];
      const SymInt extent = extent_of_axis(stage.stage.axes[d]);
      if ((whole_tiles_ || (data_.has_dims(extent) && !span.is_open())) && !analysis::contains_load(low)) {
        // A number keeps the loops over the region such that they can be unrolled: what it has beyond the axis is
        // computed and never read.
        region.origin.push_back(analysis::simplify(low, known));
        region.extents.push_back(span);
        continue;
      }
      // Where open sizes decide whether all of the axis is needed, the region is as long as the axis at most,
      // and the origin counts only where it is shorter.
      const bool unknown = analysis::contains_load(low);
      const Expr narrow = unknown ? truth(false) : analysis::simplify(span.expr() < extent.expr(), known);
      const Expr needed =
          tensor::as_int(narrow) == 0 ? extent.expr() : tensor::min(span.expr(), extent.expr());
      region.origin.push_back(tensor::as_int(narrow) == 0 ? tensor::imm(0) : analysis::simplify(low, known));
      region.extents.push_back(SymInt(analysis::simplify(needed, known)));
      if (may_lie_apart_ && readers.size() == 1 && tensor::as_int(narrow) == 1)
        region.runs[d] = runs_along(stage, *readers[0], d, span, known);
    }
    return region;
  }

 private:
  bool is_in_thread() const {
    for (int i = 0; i <= loop_; ++i)
      if (is_thread(consumer_.loops[static_cast<size_t>(i)].annotation)) return true;
    return std::ranges::any_of(
        std::initializer_list<Annotation>{Annotation::kThreadX, Annotation::kThreadY, Annotation::kThreadZ},
        [&](Annotation axis) { return data_.thread_around(consumer_, axis).has_value(); });
  }

  // Of one load, along an axis of the stage.
  Runs runs_along(const StageState& stage, const StageState& reader, size_t axis, const SymInt& span,
                  const analysis::RangeMap& known) {
    const std::vector<std::vector<Expr>> loads = indices_of(stage, reader, true);
    const analysis::RangeMap inner = inner_ranges(reader);
    if (loads.size() != 1 || span.is_open() ||
        std::ranges::any_of(inner, [&](const auto& i) { return open_.extents.contains(i.first); }))
      return {};
    return runs_of(analysis::Simplifier(known).linear(loads[0][axis]), inner, span);
  }

  // All loops of the stage range, from number `from` on; the others and those of the stages around are fixed.
  void add_ranges(const StageState& stage, int from, analysis::RangeMap* ranges) {
    for (size_t i = static_cast<size_t>(from); i < stage.loops.size(); ++i) {
      const tensor::VarNode* var = stage.loop_vars[i].get();
      (*ranges)[var] = data_.iterations(stage.loops[i].extent);
      if (stage.loops[i].extent.is_open()) open_.extents.insert_or_assign(var, stage.loops[i].extent);
    }
  }

  // A warp's are its lanes.
  void add_threads(const StageState& stage, int last, tensor::Scope scope) {
    for (size_t i = 0; i <= static_cast<size_t>(last); ++i)
      if (scope == tensor::Scope::kFragment ? stage.loops[i].annotation == Annotation::kThreadX
                                            : is_thread(stage.loops[i].annotation))
        threads_[stage.loop_vars[i].get()] = data_.iterations(stage.loops[i].extent);
  }

  void add_threads_around(tensor::Scope scope) {
    add_threads(consumer_, loop_, scope);
    for (const StageState* at = &consumer_; at->place == StageState::Place::kAt;) {
      const StageState* holder = data_.find_stage(at->consumer);
      add_threads(*holder, holder->find_loop(at->consumer_loop), scope);
      at = holder;
    }
  }

  analysis::RangeMap inner_ranges(const StageState& reader) {
    analysis::RangeMap inner = threads_;
    add_ranges(consumer_, loop_ + 1, &inner);
    // The reader, and the stages between it and the consumer, range in full.
    for (const StageState* at = &reader; at != &consumer_; at = data_.find_stage(at->consumer))
      add_ranges(*at, 0, &inner);
    return inner;
  }

  // Of the reader and the stages between it and the consumer, the loops over threads that stand still in the consumer's loop: each
  // thread has one iteration of them.
  tensor::Substitution own_threads(const StageState& reader) const {
    tensor::Substitution own;
    for (const StageState* at = &reader; at != &consumer_; at = data_.find_stage(at->consumer)) {
      for (size_t i = 0; i < at->loops.size(); ++i) {
        if (!is_thread(at->loops[i].annotation)) continue;
        const auto around = data_.thread_around(*at, at->loops[i].annotation);
        if (!around || data_.is_inside(*around->stage, consumer_, 0) ||
            (around->stage == &consumer_ && around->loop > loop_))
          continue;
        own[at->loop_vars[i].get()] = around->stage->loop_vars[static_cast<size_t>(around->loop)];
      }
    }
    return own;
  }

  // As far as they are numbers.
  static int64_t elements_of(const analysis::Region& region, const StageState& stage) {
    int64_t elements = 1;
    for (size_t d = 0; d < region.size(); ++d) {
      const SymInt extent = min(region[d].extent, extent_of_axis(stage.stage.axes[d]));
      if (!extent.is_open()) elements *= static_cast<int64_t>(extent);
    }
    return elements;
  }

  // Of each of the reader's loads.
  std::vector<std::vector<Expr>> indices_of(const StageState& stage, const StageState& reader,
                                            bool of_own_threads) const {
    tensor::Substitution axes;
    std::vector<Expr> values = reader.absolute_values();
    const tensor::Substitution own = of_own_threads ? own_threads(reader) : tensor::Substitution();
    for (Expr& value : values) value = tensor::substitute(value, own);
    const tensor::Stage& s = reader.stage;
    for (size_t d = 0; d < s.axes.size(); ++d) axes[s.axes[d].var.get()] = values[d];
    for (size_t r = 0; r < s.reduce_axes.size(); ++r)
      axes[s.reduce_axes[r].var.get()] = values[s.axes.size() + r];
    std::vector<std::vector<Expr>> loads;
    tensor::for_each(s.body, [&](const Expr& e) {
      const auto* load = as<tensor::Load>(e);
      if (!load || !load->buffer.same_as(stage.stage.output)) return true;
      std::vector<Expr>& indices = loads.emplace_back();
      for (const Expr& index : load->indices) indices.push_back(tensor::substitute(index, axes));
      return true;
    });
    return loads;
  }

  void add_reader(const StageState& stage, const StageState& reader, bool of_own_threads,
                  std::optional<analysis::Region>* all) {
    const analysis::RangeMap inner = inner_ranges(reader);
    const std::vector<Expr>& extents = stage.stage.output->extents;
    for (const std::vector<Expr>& indices : indices_of(stage, reader, of_own_threads)) {
      const std::optional<analysis::Region> touched = analysis::touched(indices, extents, inner, all_, open_);
      TF_CHECK(touched) << stage.name << " has constant extents";
      *all = *all ? analysis::unite(**all, *touched, extents, all_, open_) : touched;
    }
  }

  const StateData& data_;
  const StageState& consumer_;
  const int loop_;
  const bool is_of_one_thread_, may_lie_apart_;
  analysis::RangeMap all_;
  analysis::OpenExtents open_;
  bool whole_tiles_ = false;    // what reaches beyond the axis is part of tiles, too
  analysis::RangeMap threads_;  // of a block around the loop, if it shares the region
};

}  // namespace

Expr Runs::place(const Expr& n) const {
  if (count == 0) return n;
  if (length == 1) return n * step;
  return tensor::floor_div(n, tensor::imm(length)) * step + tensor::floor_mod(n, tensor::imm(length));
}

bool fixes_threads(const StateData& data, const StageState& stage, int loop) {
  if (stage.place != StageState::Place::kAt || !is_thread(stage.loops[static_cast<size_t>(loop)].annotation))
    return false;
  return std::ranges::any_of(data.stages, [&](const StageState& other) {
    if (other.place != StageState::Place::kAt || !is_of_one_thread(other.scope) || &other == &stage ||
        data.is_inside(other, stage, 0))
      return false;
    return std::ranges::any_of(data.readers(other.stage.output.get()), [&](const StageState* reader) {
      return reader == &stage || data.is_inside(*reader, stage, 0);
    });
  });
}

Region needed_region(const StateData& data, const StageState& stage, const StageState& consumer, int loop,
                     tensor::Scope scope) {
  return NeedFinder(data, consumer, loop, scope).find(stage);
}

}  // namespace tf::schedule
