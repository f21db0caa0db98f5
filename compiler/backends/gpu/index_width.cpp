#include "compiler/backends/gpu/index_width.h"

#include <cstdint>

#include "compiler/analysis/bounds.h"

namespace tf::backends {
namespace {

using analysis::Interval;
using ir::Expr;
using ir::Stmt;

// Half of it, so that the sum of a base and a lane's or thread's offset still fits.
constexpr Interval kNarrow{-(int64_t{1} << 30), int64_t{1} << 30};

// Walks in the order of execution, so that a variable's range is known where it is used.
class Widest final : public ir::Visitor {
 public:
  explicit Widest(const ir::Function& function) : ranges_(analysis::ranges_of(function.dims)) {}
  bool fits = true;

 protected:
  bool enter(const Stmt& stmt) override {
    if (const auto* loop = ir::as<ir::For>(stmt)) {
      ranges_[loop->var.get()] = analysis::iterations(*loop, ranges_, data_);
      data_.enter(*loop);
      check(loop->min + loop->extent);
    } else if (const auto* let = ir::as<ir::Let>(stmt)) {
      if (let->value->type().element == ir::Element::kInt64)
        ranges_[let->var.get()] = analysis::interval_of(let->value, ranges_, data_);
      data_.enter(*let);
    }
    return fits;
  }
  bool enter(const Expr& expr) override {
    check(expr);
    return fits;
  }

 private:
  void check(const Expr& expr) {
    if (expr->type().element != ir::Element::kInt64 || data_.contains(expr)) return;
    fits = fits && kNarrow.contains(analysis::interval_of(expr, ranges_, data_));
  }

  analysis::RangeMap ranges_;
  ir::Data data_;
};

}  // namespace

bool fits_narrow_indices(const ir::Function& function) {
  Widest widest(function);
  widest(function.body);
  return widest.fits;
}

}  // namespace tf::backends
