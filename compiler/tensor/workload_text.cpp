// The text forms of a workload: canonical, for people, and the parser of both.
#include <algorithm>
#include <charconv>
#include <functional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"
#include "compiler/tensor/text.h"
#include "compiler/tensor/workload.h"

namespace tf::tensor {
namespace {

std::string_view combiner_name(Combiner combiner) {
  switch (combiner) {
    case Combiner::kSum:
      return "sum";
    case Combiner::kMax:
      return "max";
    case Combiner::kMin:
      return "min";
    case Combiner::kProd:
      return "prod";
  }
  __builtin_unreachable();
}

std::string number(double value) {
  char buffer[32];
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}

class Writer {
 public:
  Writer(const Workload& workload, bool canonical) : workload_(workload), canonical_(canonical) {}

  std::string write() {
    out_ = "workload v1\n";
    for (size_t i = 0; i < workload_.dims.size(); ++i) {
      const Dimension& dim = workload_.dims[i];
      absl::StrAppend(&out_, "dim ", name(dim.var, "d", i), " in ", dim.low, "..", dim.high, "\n");
    }
    for (size_t i = 0; i < workload_.inputs.size(); ++i) write_input(workload_.inputs[i], i);
    for (size_t i = 0; i < workload_.stages.size(); ++i) write_stage(workload_.stages[i], i);
    out_ += "output";
    for (size_t i = 0; i < workload_.outputs.size(); ++i)
      absl::StrAppend(&out_, i == 0 ? " " : ", ", names_.name(workload_.outputs[i].get()));
    out_ += "\n";
    return std::move(out_);
  }

 private:
  // Canonical names are set, others are made unique by Names.
  template <typename Node>
  std::string name(const Ref<Node>& node, const char* prefix, size_t index) {
    if (canonical_) names_.set(node.get(), absl::StrCat(prefix, index));
    return names_.name(node.get());
  }

  void write_input(const Input& input, size_t index) {
    absl::StrAppend(&out_, input.constant ? "constant " : "input ", name(input.buffer, "p", index), ": ",
                    std::string(element_name(input.buffer->element)), "[");
    for (size_t d = 0; d < input.buffer->extents.size(); ++d)
      absl::StrAppend(&out_, d == 0 ? "" : ", ", print(input.buffer->extents[d], names_));
    out_ += "]";
    if (input.low != Input().low || input.high != Input().high)
      absl::StrAppend(&out_, " in ", number(input.low), "..", number(input.high));
    out_ += "\n";
  }

  void write_axes(const std::vector<Axis>& axes, const char* prefix) {
    out_ += "[";
    for (size_t i = 0; i < axes.size(); ++i)
      absl::StrAppend(&out_, i == 0 ? "" : ", ", name(axes[i].var, prefix, i), " < ",
                      print(axes[i].extent, names_));
    out_ += "]";
  }

  void write_stage(const Stage& stage, size_t index) {
    absl::StrAppend(&out_, "stage ", name(stage.output, "t", index), ": ",
                    std::string(element_name(stage.output->element)));
    write_axes(stage.axes, "i");
    out_ += " = ";
    if (stage.combiner) {
      absl::StrAppend(&out_, "reduce ", std::string(combiner_name(*stage.combiner)));
      write_axes(stage.reduce_axes, "r");
      out_ += " ";
    }
    absl::StrAppend(&out_, print(stage.body, names_), "\n");
  }

  const Workload& workload_;
  const bool canonical_;
  Names names_;
  std::string out_;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : reader_(text) {}

  absl::StatusOr<Workload> parse() {
    TF_RETURN_IF_ERROR(reader_.expect("workload"));
    TF_RETURN_IF_ERROR(reader_.expect("v1"));
    for (;;) {
      if (reader_.accept("dim")) {
        TF_RETURN_IF_ERROR(dimension());
      } else if (reader_.accept("input")) {
        TF_RETURN_IF_ERROR(input(false));
      } else if (reader_.accept("constant")) {
        TF_RETURN_IF_ERROR(input(true));
      } else if (reader_.accept("stage")) {
        TF_RETURN_IF_ERROR(stage());
      } else {
        break;
      }
    }
    TF_RETURN_IF_ERROR(reader_.expect("output"));
    do {
      const absl::Status unknown = reader_.error("expected the name of a stage");
      TF_ASSIGN_OR_RETURN(const std::string name, reader_.expect_name());
      auto found = scope_.buffers.find(name);
      if (found == scope_.buffers.end()) return unknown;
      workload_.outputs.push_back(found->second);
    } while (reader_.accept(","));
    if (reader_.peek().kind != TokenKind::kEnd) return reader_.error("expected the end of the workload");
    TF_RETURN_IF_ERROR(verify(workload_));
    return std::move(workload_);
  }

 private:
  absl::StatusOr<std::string> new_name() {
    const absl::Status taken = reader_.error("expected a name that is not taken");
    TF_ASSIGN_OR_RETURN(std::string name, reader_.expect_name());
    if (scope_.vars.contains(name) || scope_.buffers.contains(name)) return taken;
    return name;
  }

  absl::Status dimension() {
    TF_ASSIGN_OR_RETURN(const std::string name, new_name());
    TF_RETURN_IF_ERROR(reader_.expect("in"));
    TF_ASSIGN_OR_RETURN(const int64_t low, reader_.expect_int());
    TF_RETURN_IF_ERROR(reader_.expect(".."));
    TF_ASSIGN_OR_RETURN(const int64_t high, reader_.expect_int());
    const Var dim = var(name);
    scope_.vars[name] = dim;
    workload_.dims.push_back({dim, low, high});
    return absl::OkStatus();
  }

  absl::StatusOr<Element> element() {
    auto parsed = element_from_name(reader_.peek().text);
    if (!parsed.ok()) return reader_.error("expected an element type such as f32");
    reader_.next();
    return parsed;
  }

  // A plain double, as in 0.5, -1 or 1e-05.
  absl::StatusOr<double> real() {
    const bool negative = reader_.accept("-");
    const Token& token = reader_.peek();
    double value = 0;
    const char* end = token.text.data() + token.text.size();
    const auto parsed = std::from_chars(token.text.data(), end, value);
    if ((token.kind != TokenKind::kInt && token.kind != TokenKind::kFloat) || parsed.ec != std::errc() ||
        parsed.ptr != end)
      return reader_.error("expected a number");
    reader_.next();
    return negative ? -value : value;
  }

  absl::Status input(bool constant) {
    TF_ASSIGN_OR_RETURN(const std::string name, new_name());
    TF_RETURN_IF_ERROR(reader_.expect(":"));
    TF_ASSIGN_OR_RETURN(const Element type, element());
    TF_RETURN_IF_ERROR(reader_.expect("["));
    std::vector<Expr> extents;
    while (!reader_.accept("]")) {
      if (!extents.empty()) TF_RETURN_IF_ERROR(reader_.expect(","));
      TF_ASSIGN_OR_RETURN(Expr extent, reader_.expr(scope_));
      extents.push_back(fold(extent));
    }
    Input input{buffer(name, type, std::move(extents)), constant};
    if (reader_.accept("in")) {
      TF_ASSIGN_OR_RETURN(input.low, real());
      TF_RETURN_IF_ERROR(reader_.expect(".."));
      TF_ASSIGN_OR_RETURN(input.high, real());
    }
    scope_.buffers[name] = input.buffer;
    workload_.inputs.push_back(std::move(input));
    return absl::OkStatus();
  }

  // "[name < extent, …]"; the variables enter `inner`, the extents are read in the outer scope.
  absl::StatusOr<std::vector<Axis>> axes(Scoped& inner) {
    TF_RETURN_IF_ERROR(reader_.expect("["));
    std::vector<Axis> axes;
    while (!reader_.accept("]")) {
      if (!axes.empty()) TF_RETURN_IF_ERROR(reader_.expect(","));
      const absl::Status taken = reader_.error("expected a name that is not taken");
      TF_ASSIGN_OR_RETURN(const std::string name, new_name());
      TF_RETURN_IF_ERROR(reader_.expect("<"));
      TF_ASSIGN_OR_RETURN(Expr extent, reader_.expr(scope_));
      const Var axis = var(name);
      if (!inner.vars.emplace(name, axis).second) return taken;
      axes.push_back({axis, fold(extent)});
    }
    return axes;
  }

  absl::StatusOr<Combiner> combiner() {
    for (Combiner candidate : {Combiner::kSum, Combiner::kMax, Combiner::kMin, Combiner::kProd})
      if (reader_.accept(combiner_name(candidate))) return candidate;
    return reader_.error("expected sum, max, min or prod");
  }

  absl::Status stage() {
    TF_ASSIGN_OR_RETURN(const std::string name, new_name());
    TF_RETURN_IF_ERROR(reader_.expect(":"));
    TF_ASSIGN_OR_RETURN(const Element type, element());
    Stage stage;
    Scoped inner = scope_;
    TF_ASSIGN_OR_RETURN(stage.axes, axes(inner));
    TF_RETURN_IF_ERROR(reader_.expect("="));
    if (reader_.accept("reduce")) {
      TF_ASSIGN_OR_RETURN(stage.combiner, combiner());
      TF_ASSIGN_OR_RETURN(stage.reduce_axes, axes(inner));
    }
    TF_ASSIGN_OR_RETURN(stage.body, reader_.expr(inner));
    std::vector<Expr> extents;
    for (const Axis& axis : stage.axes) extents.push_back(axis.extent);
    stage.output = buffer(name, type, std::move(extents));
    scope_.buffers[name] = stage.output;
    workload_.stages.push_back(std::move(stage));
    return absl::OkStatus();
  }

  Reader reader_;
  Scoped scope_;
  Workload workload_;
};

}  // namespace

std::string canonical_text(const Workload& workload) {
  return Writer(workload, true).write();
}

std::string to_string(const Workload& workload) {
  return absl::StrCat("# ", workload.label, "\n", Writer(workload, false).write());
}

absl::StatusOr<Workload> parse_workload(std::string_view text) {
  while (text.starts_with('#')) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  if (!absl::StartsWith(absl::StripLeadingAsciiWhitespace(absl::string_view(text.data(), text.size())),
                        "workload"))
    return absl::InvalidArgumentError("not a workload: the first line of one is 'workload v1'");
  return Parser(text).parse();
}

}  // namespace tf::tensor
