#include "compiler/frontends/onnx/given_input.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "compiler/graph/element_values.h"

namespace tf::onnx {
namespace {

std::string option(const std::string& name, const std::string& text) {
  return absl::StrCat("--input ", printable(name), "=", printable(text));
}

absl::StatusOr<std::string> bytes_of(const std::vector<std::string>& numbers, tensor::Element element) {
  if (tensor::is_float(element)) {
    std::vector<double> values(numbers.size());
    for (size_t i = 0; i < numbers.size(); ++i)
      if (!absl::SimpleAtod(numbers[i], &values[i]))
        return absl::InvalidArgumentError(absl::StrCat("'", printable(numbers[i]), "' is not a number"));
    return graph::write_floats(element, values);
  }
  std::vector<int64_t> values(numbers.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    bool truth = false;
    const bool is_truth = element == tensor::Element::kBool && absl::SimpleAtob(numbers[i], &truth);
    if (is_truth) values[i] = truth ? 1 : 0;
    if (is_truth) continue;
    uint64_t above = 0;  // what only a u64 holds
    bool fits = absl::SimpleAtoi(numbers[i], &values[i]) &&
                tensor::wrap_to_element(element, values[i]) == values[i] &&
                values[i] >= tensor::lowest_integer(element);
    if (!fits && element == tensor::Element::kUInt64 && absl::SimpleAtoi(numbers[i], &above)) {
      values[i] = static_cast<int64_t>(above);
      fits = true;
    }
    if (!fits)
      return absl::InvalidArgumentError(absl::StrCat("'", printable(numbers[i]), "' is not a value of ",
                                                     std::string(tensor::element_name(element))));
  }
  return graph::write_integers(element, values);
}

}  // namespace

absl::StatusOr<graph::HostTensor> given_input(
    const std::string& name, const std::string& text, tensor::Element element,
    const std::optional<std::vector<std::optional<int64_t>>>& extents) {
  const std::vector<std::string> numbers =
      text.empty() ? std::vector<std::string>() : std::vector<std::string>(absl::StrSplit(text, ','));
  const absl::StatusOr<std::string> bytes = bytes_of(numbers, element);
  if (!bytes.ok())
    return absl::InvalidArgumentError(absl::StrCat(option(name, text), ": ", bytes.status().message()));
  const auto count = static_cast<int64_t>(numbers.size());
  graph::HostTensor value{name, element, {}, std::make_shared<const graph::Blob>(*bytes)};
  if (!extents) {
    if (count != 1) value.shape = {count};
    return value;
  }
  int64_t known = 1;
  int open = 0;
  for (const std::optional<int64_t>& extent : *extents) {
    open += extent ? 0 : 1;
    if (extent && __builtin_mul_overflow(known, *extent, &known)) known = -1;
  }
  if (open > 1 || (open == 1 && (known < 1 || count % known != 0)) || (open == 0 && known != count))
    return absl::InvalidArgumentError(
        absl::StrCat(option(name, text), ": it has ", count, " elements, but the input is [",
                     absl::StrJoin(*extents, ", ",
                                   [](std::string* out, const auto& extent) {
                                     absl::StrAppend(out, extent ? absl::StrCat(*extent) : std::string("?"));
                                   }),
                     "]"));
  for (const std::optional<int64_t>& extent : *extents)
    value.shape.push_back(extent ? *extent : count / known);
  return value;
}

}  // namespace tf::onnx
