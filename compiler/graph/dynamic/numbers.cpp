#include "compiler/graph/dynamic/numbers.h"

#include <algorithm>

#include "compiler/graph/dynamic/polynomial.h"

namespace tf::graph {
namespace {

using tensor::Expr;
using Values = std::vector<int64_t>;

// Calls `visit` with each choice of `count` of the variables, until it returns true.
template <typename Visit>
bool any_choice(const std::vector<Variable>& all, size_t count, size_t from, std::vector<Variable>& chosen,
                const Visit& visit) {
  if (chosen.size() == count) return visit(chosen);
  for (size_t i = from; i < all.size(); ++i) {
    chosen.push_back(all[i]);
    if (any_choice(all, count, i + 1, chosen, visit)) return true;
    chosen.pop_back();
  }
  return false;
}

struct Form {
  size_t count, degree;
};

// A polynomial of the form, which some points more than it has coefficients confirm.
std::optional<Expr> fit_form(const std::vector<Variable>& all, const Values& values, const Form& form) {
  constexpr size_t kConfirming = 3;
  size_t terms = 1;  // (count + degree) over degree
  for (size_t i = 1; i <= form.degree; ++i) terms = terms * (form.count + i) / i;
  if (values.size() < terms + kConfirming) return std::nullopt;
  std::optional<Expr> found;
  std::vector<Variable> chosen;
  any_choice(all, form.count, 0, chosen, [&](const std::vector<Variable>& few) {
    const std::optional<Polynomial> fitted = polynomial(few, values, form.degree);
    if (fitted) found = fitted->expr(few);
    return found.has_value();
  });
  return found;
}

std::optional<Expr> fit_forms(const std::vector<Variable>& all, const Values& values,
                              std::span<const Form> forms) {
  for (const Form& form : forms)
    if (std::optional<Expr> found = fit_form(all, values, form)) return found;
  return std::nullopt;
}

// A multiple of the variable, which two points tell.
std::optional<Expr> fit_multiple(const Variable& variable, const Values& values) {
  const auto other = std::ranges::find_if(values, [](int64_t value) { return value != 0; });
  if (other == values.end()) return std::nullopt;
  const int64_t divisor = variable.at[static_cast<size_t>(other - values.begin())];
  if (divisor == 0 || *other % divisor != 0) return std::nullopt;
  for (size_t p = 0; p < values.size(); ++p)
    if (values[p] != *other / divisor * variable.at[p]) return std::nullopt;
  return variable.expr * (*other / divisor);
}

// floor((variable + shift) / divisor), as every second element has it.
std::optional<Expr> fit_quotient(const Variable& variable, const Values& values) {
  constexpr int64_t kGreatest = 16;
  std::optional<Expr> found;
  for (int64_t divisor = 2; divisor <= kGreatest; ++divisor) {
    for (int64_t shift = 0; shift < divisor; ++shift) {
      bool fits = true;
      for (size_t p = 0; p < values.size(); ++p)
        fits = fits && values[p] == (variable.at[p] + shift) / divisor;
      if (!fits) continue;
      if (found) return std::nullopt;  // the points do not tell which it is
      found = tensor::floor_div(variable.expr + shift, divisor);
    }
  }
  return found;
}

// The number where it is not the limit.
std::optional<Expr> fit_within(std::vector<Variable> all, const Values& values, int64_t limit) {
  constexpr Form kForms[] = {{1, 1}, {2, 1}};
  Values within;
  for (Variable& variable : all) {
    Values at;
    for (size_t p = 0; p < values.size(); ++p)
      if (values[p] != limit) at.push_back(variable.at[p]);
    variable.at = std::move(at);
  }
  for (const int64_t value : values)
    if (value != limit) within.push_back(value);
  if (within.empty() || within.size() + 2 > values.size()) return std::nullopt;
  for (const Variable& variable : all)
    if (std::optional<Expr> found = fit_multiple(variable, within)) return found;
  return fit_forms(all, within, kForms);
}

}  // namespace

Numbers::Numbers(const Samples& samples) : samples_(samples) {
  for (size_t d = 0; d < samples.dims.size(); ++d) {
    Values values;
    for (const Values& point : samples.points) values.push_back(point[d]);
    const NamedDimension& dim = samples.dims[d];
    known_.try_emplace(values, dim.var);
    if (dim.multiple_of == 1) continue;
    for (int64_t& value : values) value /= dim.multiple_of;
    known_.try_emplace(std::move(values), tensor::floor_div(dim.var, dim.multiple_of));
  }
}

std::optional<Expr> Numbers::known(const Values& values) const {
  if (std::ranges::count(values, values[0]) == std::ssize(values)) return tensor::imm(values[0]);
  const auto found = known_.find(values);
  return found == known_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<Expr> Numbers::find(const Values& values, std::span<const Expr> nearby) {
  if (std::optional<Expr> found = known(values)) return found;
  std::optional<Expr> found = search(values, nearby);
  if (found) known_[values] = *found;
  return found;
}

void Numbers::add(const Expr& expr) {
  known_.try_emplace(values_of(expr), expr);
}

std::optional<Expr> Numbers::search(const Values& values, std::span<const Expr> nearby) const {
  std::vector<Variable> all;
  for (const Expr& expr : nearby) {
    if (tensor::as_int(expr)) continue;
    const bool is_new =
        std::ranges::none_of(all, [&](const Variable& v) { return v.expr.get() == expr.get(); });
    if (is_new) all.push_back({expr, values_of(expr)});
  }
  constexpr Form kForms[] = {{1, 1}, {1, 2}, {1, 3}, {2, 1}, {2, 2}, {3, 1}, {3, 2}};
  constexpr size_t kMostTogether = 8, kOfOne = 3;
  const std::span<const Form> forms = all.size() > kMostTogether ? std::span(kForms).first(kOfOne) : kForms;
  if (std::optional<Expr> found = fit_forms(all, values, forms)) return found;
  if (all.size() > kMostTogether) all.clear();
  for (const Variable& variable : all)
    if (std::optional<Expr> found = fit_quotient(variable, values)) return found;
  for (const auto& [limit, limited] : {std::pair{std::ranges::max(values), &tensor::min},
                                       std::pair{std::ranges::min(values), &tensor::max}}) {
    const std::optional<Expr> within = fit_within(all, values, limit);
    if (!within) continue;
    const Expr number = limited(*within, tensor::imm(limit));
    if (values_of(number) == values) return number;
  }
  for (const auto& [at, expr] : known_)
    if (std::optional<Expr> found = fit_multiple({expr, at}, values)) return found;
  constexpr size_t kFew = 6;
  if (samples_.dims.size() > kFew) return std::nullopt;
  std::vector<Variable> dims;
  for (const NamedDimension& dim : samples_.dims) dims.push_back({dim.var, values_of(dim.var)});
  const Form of_dims[] = {{1, 1}, {2, 1}, {3, 1}, {dims.size(), 1}, {1, 2}, {2, 2}, {1, 3}, {3, 2}, {2, 3}};
  return fit_forms(dims, values, of_dims);
}

Values Numbers::values_of(const Expr& expr) const {
  Values values;
  for (const Values& point : samples_.points) {
    tensor::Substitution sizes;
    for (size_t d = 0; d < samples_.dims.size(); ++d)
      sizes[samples_.dims[d].var.get()] = tensor::imm(point[d]);
    values.push_back(*tensor::as_int(tensor::substitute(expr, sizes)));
  }
  return values;
}

}  // namespace tf::graph
