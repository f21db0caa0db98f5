// Einsum: each pair of operands becomes a matrix product of what it shares and does not need any more (the sums), of
// what both keep (the batch) and of what each has alone (rows and columns); without sums it is a product by elements.
#include <algorithm>
#include <array>
#include <cctype>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "compiler/frontends/onnx/formula.h"

namespace tf::onnx {
namespace {

using graph::ReduceKind;
using tensor::Element;
using tensor::Expr;
using Ints = std::vector<int64_t>;
using Result = absl::StatusOr<NodeId>;

// A letter, or, for the axes of an ellipsis, a number below 0: -1 is the last.
using Labels = std::vector<int>;

struct Operand {
  Term x;
  Labels labels;
};

bool contains(const Labels& labels, int label) {
  return std::ranges::find(labels, label) != labels.end();
}
int64_t place(const Labels& labels, int label) {
  return std::ranges::find(labels, label) - labels.begin();
}
template <typename F>
Labels those(const Labels& labels, F&& wanted) {
  Labels found;
  std::ranges::copy_if(labels, std::back_inserter(found), wanted);
  return found;
}
Labels joined(std::initializer_list<Labels> parts) {
  Labels all;
  for (const Labels& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// The labels of one term of the equation, whose ellipsis stands for `covered` axes; nothing if it is malformed.
std::optional<Labels> labels_of(std::string_view text, int covered) {
  Labels labels;
  bool seen = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (std::isalpha(static_cast<unsigned char>(text[i])) != 0) {
      labels.push_back(text[i]);
    } else if (text.substr(i, 3) == "..." && !seen) {
      for (int k = covered; k > 0; --k) labels.push_back(-k);
      seen = true;
      i += 2;
    } else {
      return std::nullopt;
    }
  }
  return labels;
}

// The operand with its axes in that order.
Operand ordered(const Operand& operand, const Labels& labels) {
  Ints perm;
  for (const int label : labels) perm.push_back(place(operand.labels, label));
  return {transpose(operand.x, std::move(perm)), labels};
}

// The operand without the labels that are not wanted, over which it is summed.
Operand summed(const Operand& operand, const Labels& wanted) {
  Ints axes;
  for (size_t i = 0; i < operand.labels.size(); ++i)
    if (!contains(wanted, operand.labels[i])) axes.push_back(static_cast<int64_t>(i));
  if (axes.empty()) return operand;
  return {reduce(ReduceKind::kSum, operand.x, axes, false),
          those(operand.labels, [&](int label) { return contains(wanted, label); })};
}

// x[…, i, …, i, …] → x[…, i, …]: every (n + 1)-th of the n * n elements of both axes.
Operand without_repeats(Formula& f, Operand operand) {
  for (size_t i = 0; i < operand.labels.size() && f.ok(); ++i) {
    const int label = operand.labels[i];
    const auto again =
        std::find(operand.labels.begin() + static_cast<int64_t>(i) + 1, operand.labels.end(), label);
    if (again == operand.labels.end()) continue;
    const auto second = static_cast<size_t>(again - operand.labels.begin());
    const Ints shape = operand.x.shape();
    if (shape[i] != shape[second]) {
      f.invalid(absl::StrCat("a repeated index has sizes ", shape[i], " and ", shape[second]));
      return operand;
    }
    Ints perm;
    Labels rest;
    std::vector<Expr> extents;
    for (size_t d = 0; d < shape.size(); ++d) {
      if (d == i || d == second) continue;
      perm.push_back(static_cast<int64_t>(d));
      rest.push_back(operand.labels[d]);
      extents.push_back(operand.x.extents()[d]);
    }
    perm.push_back(static_cast<int64_t>(i));
    perm.push_back(static_cast<int64_t>(second));
    extents.push_back(tensor::imm(shape[i] * shape[i]));
    rest.push_back(label);
    const Term flat = reshape(transpose(operand.x, perm), extents);
    operand = {slice(flat, static_cast<int64_t>(rest.size()) - 1, 0, shape[i], shape[i] + 1), rest};
    i = static_cast<size_t>(-1);  // from the start again: the order has changed
  }
  return operand;
}

class Einsum {
 public:
  explicit Einsum(Formula& f) : f_(f) {}

  Result run() {
    TF_RETURN_IF_ERROR(read());
    Operand all = operands_[0];
    for (size_t i = 1; i < operands_.size() && f_.ok(); ++i)
      all = product_of(all, operands_[i], needed_after(i));
    all = ordered(summed(all, output_), output_);
    const Term y = cast(all.x, result_);
    return f_.result(all.x.id() == f_.input(0).id() ? identity(y) : y);
  }

 private:
  absl::Status invalid(std::string_view message) const { return f_.node().invalid(message); }

  absl::Status read() {
    std::string equation = f_.attribute("equation", "");
    std::erase_if(equation, [](unsigned char c) { return std::isspace(c) != 0; });
    const std::vector<std::string> sides = absl::StrSplit(equation, "->");
    const std::vector<std::string> terms = absl::StrSplit(sides[0], ',');
    const auto count = static_cast<size_t>(f_.node().input_count());
    if (!f_.ok()) return f_.status();
    if (sides.size() > 2 || terms.size() != count || count == 0)
      return invalid(absl::StrCat("equation '", equation, "' does not fit ", count, " operands"));
    for (size_t i = 0; i < count; ++i) TF_RETURN_IF_ERROR(read_operand(static_cast<int>(i), terms[i]));
    TF_RETURN_IF_ERROR(read_output(sides));
    result_ = operands_[0].x.element();
    if (result_ == Element::kBool) return invalid("it needs numbers, not bool");
    drop_broadcast_axes();
    for (Operand& operand : operands_) {
      if (operand.x.element() != result_) return invalid("its operands have different element types");
      operand.x = computed_in(operand.x);
    }
    return f_.status();
  }

  // Bytes are summed in i32; halves of which sums would be rounded in between, in f32.
  Term computed_in(const Term& x) const {
    if (x.element() == Element::kInt8 || x.element() == Element::kUInt8) return cast(x, Element::kInt32);
    return operands_.size() == 2 ? x : widened(x);
  }

  absl::Status read_operand(int i, const std::string& term) {
    const Term x = f_.input(i);
    if (!f_.ok()) return f_.status();
    const auto letters = std::ranges::count_if(term, [](unsigned char c) { return std::isalpha(c) != 0; });
    const bool open = term.find('.') != std::string::npos;
    const int covered = open ? x.rank() - static_cast<int>(letters) : 0;
    const std::optional<Labels> labels = covered < 0 ? std::nullopt : labels_of(term, covered);
    if (!labels || static_cast<int>(labels->size()) != x.rank())
      return invalid(absl::StrCat("term '", term, "' of its equation does not fit ", to_string(x.type())));
    covered_ = std::max(covered_, covered);
    for (const int label : *labels) ++uses_[label];
    operands_.push_back(without_repeats(f_, {x, *labels}));
    if (!f_.ok()) return f_.status();
    const Ints shape = operands_.back().x.shape();
    for (size_t d = 0; d < shape.size(); ++d) {
      const int label = operands_.back().labels[d];
      const auto [known, is_new] = extents_.try_emplace(label, operands_.back().x.extents()[d]);
      const int64_t size = f_.node().graph().value(known->second);
      if (size == 1) known->second = operands_.back().x.extents()[d];
      if (size != 1 && shape[d] != 1 && size != shape[d])
        return invalid(absl::StrCat("an index has sizes ", size, " and ", shape[d]));
    }
    return absl::OkStatus();
  }

  // Without an arrow the result has the ellipsis and, in the order of the alphabet, the letters that stand once.
  absl::Status read_output(const std::vector<std::string>& sides) {
    if (sides.size() < 2) {
      for (const auto& [label, uses] : uses_)
        if (label < 0 || uses == 1) output_.push_back(label);
      return absl::OkStatus();
    }
    const std::optional<Labels> labels = labels_of(sides[1], covered_);
    if (!labels) return invalid(absl::StrCat("the result '", sides[1], "' of its equation is malformed"));
    for (const int label : *labels)
      if (!uses_.contains(label) || std::ranges::count(*labels, label) != 1)
        return invalid(
            absl::StrCat("the result '", sides[1], "' of its equation has an index twice or a new one"));
    if (covered_ > 0 && sides[1].find('.') == std::string::npos)
      return invalid("its result has no ellipsis, but operands do");
    output_ = *labels;
    return absl::OkStatus();
  }

  // An axis of extent 1 where others have more is read everywhere: as if it were not there.
  void drop_broadcast_axes() {
    for (Operand& operand : operands_) {
      std::vector<Expr> extents;
      Labels kept;
      const Ints shape = operand.x.shape();
      for (size_t d = 0; d < shape.size(); ++d) {
        const int label = operand.labels[d];
        if (shape[d] == 1 && f_.node().graph().value(extents_.at(label)) != 1) continue;
        extents.push_back(operand.x.extents()[d]);
        kept.push_back(label);
      }
      if (kept.size() < operand.labels.size()) operand = {reshape(operand.x, extents), kept};
    }
  }

  Labels needed_after(size_t i) const {
    Labels needed = output_;
    for (size_t k = i + 1; k < operands_.size(); ++k) needed = joined({needed, operands_[k].labels});
    return needed;
  }

  std::vector<Expr> extents_of(const Labels& labels) const {
    std::vector<Expr> extents;
    for (const int label : labels) extents.push_back(extents_.at(label));
    return extents;
  }

  Operand product_of(const Operand& left, const Operand& right, const Labels& needed) {
    const Operand a = summed(left, joined({needed, right.labels})),
                  b = summed(right, joined({needed, left.labels}));
    const Labels shared = those(a.labels, [&](int label) { return contains(b.labels, label); });
    const Labels batch = those(shared, [&](int label) { return contains(needed, label); });
    const Labels sums = those(shared, [&](int label) { return !contains(needed, label); });
    const Labels rows = those(a.labels, [&](int label) { return !contains(b.labels, label); });
    const Labels columns = those(b.labels, [&](int label) { return !contains(a.labels, label); });
    const Labels result = joined({batch, rows, columns});
    if (sums.empty() || (rows.empty() && columns.empty() && !batch.empty())) {
      const Labels all = joined({batch, rows, columns, sums});
      const Term y =
          spread(a, joined({batch, rows, sums}), all) * spread(b, joined({batch, columns, sums}), all);
      if (sums.empty()) return {y, result};
      return {cast(summed({widened(y), all}, result).x, y.element()), result};
    }
    graph::MatMul op;
    op.transpose_a = a.labels == joined({batch, sums, rows}) && !rows.empty();
    op.transpose_b = b.labels == joined({batch, columns, sums}) && !columns.empty();
    const Term x = op.transpose_a ? matrices(a, batch, sums, rows) : matrices(a, batch, rows, sums);
    const Term w = op.transpose_b ? matrices(b, batch, columns, sums) : matrices(b, batch, sums, columns);
    return {reshape(matmul(x, w, op), extents_of(result)), result};
  }

  // The operand in that order, with an axis of extent 1 for each other of `all`.
  Term spread(const Operand& operand, const Labels& order, const Labels& all) const {
    std::vector<Expr> extents;
    for (const int label : all)
      extents.push_back(contains(order, label) ? extents_.at(label) : tensor::imm(1));
    return reshape(ordered(operand, order).x, std::move(extents));
  }

  Term matrices(const Operand& operand, const Labels& batch, const Labels& first,
                const Labels& second) const {
    const Operand in_order = ordered(operand, joined({batch, first, second}));
    std::vector<Expr> extents = extents_of(batch);
    extents.push_back(product(extents_of(first)));
    extents.push_back(product(extents_of(second)));
    return reshape(in_order.x, std::move(extents));
  }

  Formula& f_;
  std::vector<Operand> operands_;
  Labels output_;
  std::map<int, int> uses_;
  std::map<int, Expr> extents_;
  int covered_ = 0;
  Element result_ = Element::kFloat32;
};

Result einsum(NodeReader& node) {
  Formula f(node);
  return Einsum(f).run();
}

constexpr std::array kEinsumRules = {NamedRule{"Einsum", einsum}};

}  // namespace

std::span<const NamedRule> einsum_rules() {
  return kEinsumRules;
}

}  // namespace tf::onnx
