#include <algorithm>
#include <optional>

#include "compiler/analysis/simplifier.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/vectors/constant_lanes.h"

namespace tf::passes {
namespace {

using analysis::Linear;
using ir::as;
using ir::Expr;

using Lanes = std::vector<int64_t>;

// index = base + offsets[lane].
struct Address {
  Linear base;
  Lanes offsets;
};

class LoadSplitter final : public ir::Rewriter {
 public:
  explicit LoadSplitter(const ir::Function& function)
      : ranges_(analysis::ranges_of(function.dims)), simplifier_(ranges_) {}

 protected:
  Expr rewrite(const Expr& expr) override {
    Expr out = recurse(expr);
    const auto* load = as<ir::Load>(out);
    if (!load || load->indices.size() != 1 || !load->indices[0]->type().is_vector()) return out;
    if (as<ir::Ramp>(load->indices[0]) || as<ir::Broadcast>(load->indices[0])) return out;
    const std::optional<Address> address = address_of(load->indices[0]);
    return address ? by_runs(*load, *address, out) : out;
  }

 private:
  std::optional<Address> address_of(const Expr& index) {
    const int lanes = index->type().lanes;
    const Linear form = simplifier_.linear(index);
    Address address{analysis::constant_form(form.constant), Lanes(static_cast<size_t>(lanes), 0)};
    for (const analysis::Term& term : form.terms) {
      if (!term.atom->type().is_vector()) {
        address.base.add(term);
        continue;
      }
      const std::optional<Lanes> values = constant_lanes(term.atom, lanes);
      if (!values) return std::nullopt;
      for (size_t lane = 0; lane < values->size(); ++lane)
        address.offsets[lane] += term.coefficient * (*values)[lane];
    }
    return address;
  }

  static Expr by_runs(const ir::Load& load, const Address& address, const Expr& whole) {
    const Lanes& offsets = address.offsets;
    std::vector<int> starts = {0};
    for (int lane = 1; lane < static_cast<int>(offsets.size()); ++lane)
      if (offsets[static_cast<size_t>(lane)] != offsets[static_cast<size_t>(lane) - 1] + 1)
        starts.push_back(lane);
    const int lanes = static_cast<int>(offsets.size());
    if (static_cast<int>(starts.size()) > std::min(kMaxRuns, lanes / 2)) return whole;
    const Expr lane = tensor::ramp(tensor::imm(0), tensor::imm(1), lanes),
               base = analysis::to_expr(address.base);
    auto before = [&](int end) { return lane < tensor::broadcast(tensor::imm(end), lanes); };
    // From the last run to the first, each chosen below its end.
    Expr value;
    for (size_t run = starts.size(); run-- > 0;) {
      const int start = starts[run];
      const bool last = run + 1 == starts.size();
      Expr inside = last ? Expr() : before(starts[run + 1]);
      if (start > 0) inside = tensor::both(tensor::broadcast(tensor::imm(start), lanes) <= lane, inside);
      Expr predicate = load.predicate;
      if (predicate && !predicate->type().is_vector()) predicate = tensor::broadcast(predicate, lanes);
      const Expr first = base + (offsets[static_cast<size_t>(start)] - start);
      const Expr part = tensor::load(load.buffer, {tensor::ramp(first, tensor::imm(1), lanes)},
                                     tensor::both(predicate, inside));
      value = last ? part : tensor::select(before(starts[run + 1]), part, value);
    }
    return value;
  }

  analysis::RangeMap ranges_;
  analysis::Simplifier simplifier_;
};

}  // namespace

ir::Function split_loads(const ir::Function& function) {
  ir::Function out = function;
  out.body = LoadSplitter(function)(function.body);
  return out;
}

}  // namespace tf::passes
