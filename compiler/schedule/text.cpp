// The schedule's text form: one step a line, words separated by spaces, lists by commas.
#include <algorithm>
#include <array>
#include <charconv>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/text/printable.h"
#include "compiler/schedule/schedule.h"

namespace tf::schedule {
namespace {

// A word of a text that anybody may have written.
std::string in_quotes(absl::string_view word) {
  return absl::StrCat("'", printable({word.data(), word.size()}, 40), "'");
}

constexpr std::array<std::pair<Annotation, const char*>, 10> kAnnotations = {{
    {Annotation::kSerial, "serial"},
    {Annotation::kParallel, "parallel"},
    {Annotation::kVectorize, "vectorize"},
    {Annotation::kUnroll, "unroll"},
    {Annotation::kGridX, "grid_x"},
    {Annotation::kGridY, "grid_y"},
    {Annotation::kGridZ, "grid_z"},
    {Annotation::kThreadX, "thread_x"},
    {Annotation::kThreadY, "thread_y"},
    {Annotation::kThreadZ, "thread_z"},
}};
constexpr std::array<std::pair<tensor::Scope, const char*>, 4> kScopes = {{
    {tensor::Scope::kGlobal, "global"},
    {tensor::Scope::kShared, "shared"},
    {tensor::Scope::kRegister, "register"},
    {tensor::Scope::kFragment, "fragment"},
}};
constexpr std::array<std::pair<Tail, const char*>, 2> kTails = {
    {{Tail::kGuard, "guard"}, {Tail::kShift, "shift"}}};
constexpr std::array<std::pair<PragmaKind, const char*>, 1> kPragmas = {
    {{PragmaKind::kUnrollLimit, "unroll_limit"}}};
constexpr std::array<std::pair<bool, const char*>, 2> kTurns = {{{false, "straight"}, {true, "turned"}}};
constexpr std::array<std::pair<tensor::Element, const char*>, 2> kNarrowElements = {
    {{tensor::Element::kBFloat16, "bf16"}, {tensor::Element::kFloat16, "f16"}}};

template <typename Table, typename T>
const char* word_of(const Table& table, T value) {
  for (const auto& [v, word] : table)
    if (v == value) return word;
  return "?";
}

std::string text(const Size& size) {
  return size.is_open() ? absl::StrCat("$", size.parameter, ".", size.part) : absl::StrCat(size.value);
}
std::string text(const std::vector<Size>& sizes) {
  return absl::StrJoin(sizes, ",", [](std::string* out, const Size& s) { *out += text(s); });
}
std::string text(const OpenLayout& layout) {
  if (layout == OpenLayout()) return "row_major";
  const std::string swizzle = tensor::Layout{.axes = {}, .swizzle = layout.swizzle}.text();
  return absl::StrCat(absl::StrJoin(layout.axes, ",",
                                    [](std::string* out, const OpenLayoutAxis& part) {
                                      absl::StrAppend(out, part.axis);
                                      if (part.block != Size(0)) absl::StrAppend(out, ":", text(part.block));
                                    }),
                      swizzle);
}

struct Printer {
  std::string operator()(const Split& s) const {
    return absl::StrCat("split ", s.stage, " ", s.loop, " ", text(s.factors), " ", word_of(kTails, s.tail));
  }
  std::string operator()(const Fuse& s) const {
    return absl::StrCat("fuse ", s.stage, " ", absl::StrJoin(s.loops, ","));
  }
  std::string operator()(const Reorder& s) const {
    return absl::StrCat("reorder ", s.stage, " ", absl::StrJoin(s.loops, ","));
  }
  std::string operator()(const Annotate& s) const {
    return absl::StrCat("annotate ", s.stage, " ", s.loop, " ", word_of(kAnnotations, s.annotation));
  }
  std::string operator()(const ComputeAt& s) const {
    return absl::StrCat("compute_at ", s.stage, " ", s.consumer, " ", s.loop, " ", word_of(kScopes, s.scope));
  }
  std::string operator()(const Inline& s) const { return absl::StrCat("inline ", s.stage); }
  std::string operator()(const Root& s) const { return absl::StrCat("root ", s.stage); }
  std::string operator()(const CacheRead& s) const {
    return absl::StrCat("cache_read ", s.source, " ", s.reader, " ", text(s.layout), " ",
                        word_of(kScopes, s.scope));
  }
  std::string operator()(const Recompute& s) const {
    return absl::StrCat("recompute ", s.stage, " ", s.reader);
  }
  std::string operator()(const CacheWrite& s) const { return absl::StrCat("cache_write ", s.stage); }
  std::string operator()(const RFactor& s) const { return absl::StrCat("rfactor ", s.stage, " ", s.loop); }
  std::string operator()(const LayoutRewrite& s) const {
    return absl::StrCat("layout_rewrite ", s.buffer, " ", text(s.layout));
  }
  std::string operator()(const StorageAlign& s) const {
    return absl::StrCat("storage_align ", s.buffer, " ", s.axis, " ", text(s.factor), " ", text(s.offset));
  }
  std::string operator()(const Pragma& s) const {
    return absl::StrCat("pragma ", s.stage, " ", word_of(kPragmas, s.kind), " ", text(s.value));
  }
  std::string operator()(const Pipeline& s) const {
    return absl::StrCat("pipeline ", s.stage, " ", s.loop, " ", text(s.stages),
                        s.bulk == Size(0) ? "" : absl::StrCat(" bulk ", text(s.bulk)));
  }
  std::string operator()(const Raster& s) const {
    return absl::StrCat("raster ", s.stage, " ", text(s.group));
  }
  std::string operator()(const CrossThread& s) const {
    return absl::StrCat("cross_thread ", s.stage, " ", word_of(kAnnotations, s.axis), " ", text(s.threads));
  }
  std::string operator()(const Winograd& s) const { return absl::StrCat("winograd ", s.stage, " ", s.tile); }
  std::string operator()(const Matrices& s) const {
    return absl::StrCat("matrices ", s.stage, " ", absl::StrJoin(s.rows, ","), " ",
                        absl::StrJoin(s.terms, ","), " ", word_of(kTurns, s.turns), " ", text(s.part));
  }
  std::string operator()(const Rescale& s) const {
    return absl::StrCat("rescale ", s.maximum, " ", s.sum, " ", s.result, " ", text(s.block));
  }
  std::string operator()(const Narrow& s) const {
    return absl::StrCat("narrow ", s.buffer, " ", word_of(kNarrowElements, s.element));
  }
  std::string operator()(const Offset& s) const {
    return absl::StrCat("offset ", s.stage, " ", s.factor, " ", s.value);
  }
  std::string operator()(const Tensorize& s) const {
    return absl::StrCat("tensorize ", s.stage, " ", s.loop, " ", s.unit);
  }
};

// Reads one line's words; the first mistake is kept.
class LineReader {
 public:
  LineReader(absl::string_view line, int number)
      : words_(absl::StrSplit(line, ' ', absl::SkipEmpty())), number_(number) {}

  std::string word(const char* what) {
    if (next_ < words_.size()) return std::string(words_[next_++]);
    fail(absl::StrCat("here ", what, " is missing"));
    return "";
  }
  bool accept(absl::string_view word) {
    const bool is_next = next_ < words_.size() && words_[next_] == word;
    if (is_next) ++next_;
    return is_next;
  }
  std::vector<std::string> names() { return absl::StrSplit(word("a list of loops"), ','); }
  Size size() { return size_of(word("a number")); }
  std::vector<Size> sizes() {
    std::vector<Size> all;
    const std::vector<std::string> parts = absl::StrSplit(word("a list of factors"), ',');
    for (const std::string& part : parts) all.push_back(size_of(part));
    return all;
  }
  int number(const char* what) {
    int value = 0;
    const std::string w = word(what);
    if (!absl::SimpleAtoi(w, &value)) fail(absl::StrCat(in_quotes(w), " is not ", what));
    return value;
  }
  OpenLayout layout() {
    const std::string w = word("a layout");
    if (absl::StrContains(w, '$')) return open_layout(w);
    // The rank is not known here: it is one more than the largest axis.
    int rank = 1;
    for (absl::string_view part : absl::StrSplit(w.substr(0, w.find('^')), ',')) {
      int axis = 0;
      const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), axis);
      if (error == std::errc() && axis < 16) rank = std::max(rank, axis + 1);
    }
    absl::StatusOr<tensor::Layout> parsed = tensor::Layout::parse(w, rank);
    if (parsed.ok()) return *parsed;
    fail(parsed.status().message());
    return {};
  }
  template <typename Table>
  auto one_of(const Table& table, const char* what) {
    const std::string w = word(what);
    for (const auto& [value, name] : table)
      if (w == name) return value;
    fail(absl::StrCat(in_quotes(w), " is not ", what));
    return table[0].first;
  }
  OpenLayout open_layout(const std::string& w) {
    OpenLayout layout;
    const size_t axes = w.find('^');
    if (axes != std::string::npos) {
      const absl::StatusOr<tensor::Layout> parsed = tensor::Layout::parse(w.substr(axes), 1);
      if (!parsed.ok()) fail(parsed.status().message());
      if (parsed.ok()) layout.swizzle = parsed->swizzle;
    }
    for (absl::string_view part : absl::StrSplit(w.substr(0, axes), ',')) {
      const std::pair<absl::string_view, absl::string_view> pieces =
          absl::StrSplit(part, absl::MaxSplits(':', 1));
      OpenLayoutAxis& axis = layout.axes.emplace_back();
      if (!absl::SimpleAtoi(pieces.first, &axis.axis))
        fail(absl::StrCat(in_quotes(part), " is not AXIS or AXIS:BLOCK"));
      if (!pieces.second.empty()) axis.block = size_of(std::string(pieces.second));
    }
    return layout;
  }
  void fail(absl::string_view message) {
    if (status_.ok())
      status_ = absl::InvalidArgumentError(absl::StrCat("schedule, line ", number_, ": ", message));
  }
  absl::Status finish() {
    if (next_ < words_.size()) fail(absl::StrCat(in_quotes(words_[next_]), " is one word too many"));
    return status_;
  }

 private:
  Size size_of(const std::string& w) {
    if (w.starts_with('$')) {
      const std::vector<std::string> parts = absl::StrSplit(absl::string_view(w).substr(1), '.');
      int parameter = 0, part = 0;
      if (parts.size() == 2 && absl::SimpleAtoi(parts[0], &parameter) && absl::SimpleAtoi(parts[1], &part) &&
          parameter >= 0 && part >= 0)
        return Size::open(parameter, part);
    }
    int64_t value = 0;
    if (!absl::SimpleAtoi(w, &value)) fail(absl::StrCat(in_quotes(w), " is not a number or $parameter.part"));
    return Size(value);
  }

  std::vector<absl::string_view> words_;
  int number_;
  size_t next_ = 0;
  absl::Status status_;
};

// Members are read in their order: braces evaluate from left to right.
Step parse_step(LineReader& in) {
  const std::string kind = in.word("a step");
  if (kind == "split")
    return Split{in.word("a stage"), in.word("a loop"), in.sizes(), in.one_of(kTails, "a tail")};
  if (kind == "fuse") return Fuse{in.word("a stage"), in.names()};
  if (kind == "reorder") return Reorder{in.word("a stage"), in.names()};
  if (kind == "annotate")
    return Annotate{in.word("a stage"), in.word("a loop"), in.one_of(kAnnotations, "an annotation")};
  if (kind == "compute_at")
    return ComputeAt{in.word("a stage"), in.word("a consumer"), in.word("a loop"),
                     in.one_of(kScopes, "a scope")};
  if (kind == "inline") return Inline{in.word("a stage")};
  if (kind == "root") return Root{in.word("a stage")};
  if (kind == "cache_read")
    return CacheRead{in.word("a source"), in.word("a reader"), in.layout(), in.one_of(kScopes, "a scope")};
  if (kind == "recompute") return Recompute{in.word("a stage"), in.word("a reader")};
  if (kind == "cache_write") return CacheWrite{in.word("a stage")};
  if (kind == "rfactor") return RFactor{in.word("a stage"), in.word("a loop")};
  if (kind == "layout_rewrite") return LayoutRewrite{in.word("a buffer"), in.layout()};
  if (kind == "storage_align")
    return StorageAlign{in.word("a buffer"), in.number("an axis number"), in.size(), in.size()};
  if (kind == "pragma") return Pragma{in.word("a stage"), in.one_of(kPragmas, "a pragma"), in.size()};
  if (kind == "pipeline")
    return Pipeline{in.word("a stage"), in.word("a loop"), in.size(),
                    in.accept("bulk") ? in.size() : Size(0)};
  if (kind == "raster") return Raster{in.word("a stage"), in.size()};
  if (kind == "cross_thread")
    return CrossThread{in.word("a stage"), in.one_of(kAnnotations, "an annotation"), in.size()};
  if (kind == "winograd") return Winograd{in.word("a stage"), in.number("a tile")};
  if (kind == "matrices")
    return Matrices{in.word("a stage"), in.names(), in.names(), in.one_of(kTurns, "straight or turned"),
                    in.size()};
  if (kind == "rescale")
    return Rescale{in.word("a stage"), in.word("a stage"), in.word("a stage"), in.size()};
  if (kind == "narrow") return Narrow{in.word("a buffer"), in.one_of(kNarrowElements, "bf16 or f16")};
  if (kind == "offset") return Offset{in.word("a stage"), in.word("a buffer"), in.number("a number")};
  if (kind == "tensorize")
    return Tensorize{in.word("a stage"), in.word("a loop"), in.word("a matrix instruction")};
  in.fail(absl::StrCat(in_quotes(kind), " is not a step"));
  return Inline{};
}

}  // namespace

std::string to_string(const Step& step) {
  return std::visit(Printer{}, step);
}

std::string to_string(const Schedule& schedule) {
  std::string out = absl::StrCat("schedule v", kSemanticsVersion, "\n");
  for (const Step& step : schedule.steps) absl::StrAppend(&out, to_string(step), "\n");
  return out;
}

absl::StatusOr<Schedule> parse_schedule(std::string_view given) {
  const std::vector<absl::string_view> lines =
      absl::StrSplit(absl::string_view(given.data(), given.size()), '\n');
  const std::string first = absl::StrCat("schedule v", kSemanticsVersion);
  size_t head = 0;
  while (head + 1 < lines.size() && absl::StartsWith(lines[head], "#")) ++head;
  if (absl::StripAsciiWhitespace(lines[head]) != first)
    return absl::InvalidArgumentError(absl::StrCat("a schedule starts with the line '", first, "', not ",
                                                   in_quotes(lines[head]),
                                                   ": schedules of another version cannot be used"));
  Schedule schedule;
  for (size_t i = head + 1; i < lines.size(); ++i) {
    if (absl::StripAsciiWhitespace(lines[i]).empty()) continue;
    LineReader reader(lines[i], static_cast<int>(i + 1));
    Step step = parse_step(reader);
    if (absl::Status status = reader.finish(); !status.ok()) return status;
    schedule.steps.push_back(std::move(step));
  }
  return schedule;
}

}  // namespace tf::schedule
