#include "compiler/frontends/network_request.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "compiler/frontends/network.h"

namespace tf::frontends {
namespace {

absl::Status check_range(const graph::NamedDimension& dim) {
  const auto refused = [&dim](const std::string& rule) {
    const std::string multiples = dim.multiple_of == 1 ? "" : absl::StrCat(":", dim.multiple_of);
    return absl::InvalidArgumentError(
        absl::StrCat("--dim ", dim.var->name, "=", dim.low, "..", dim.high, multiples, ": ", rule));
  };
  if (dim.low < 1 || dim.high < dim.low || dim.high > tensor::Dimension().high)
    return refused(absl::StrCat("a range goes from 1 or more up to at most ", tensor::Dimension().high));
  if (dim.multiple_of < 1) return refused("sizes are multiples of 1 or more");
  if (dim.low % dim.multiple_of != 0 || dim.high % dim.multiple_of != 0)
    return refused(absl::StrCat("a range of multiples begins and ends with a multiple of ", dim.multiple_of));
  return absl::OkStatus();
}

bool is_in_range(const graph::NamedDimension& dim, int64_t size) {
  return dim.low <= size && size <= dim.high && size % dim.multiple_of == 0;
}

const graph::NamedDimension* find_range(const NetworkRequest& request, const std::string& name) {
  const auto found =
      std::ranges::find_if(request.ranges, [&](const auto& dim) { return dim.var->name == name; });
  return found == request.ranges.end() ? nullptr : &*found;
}

// The sizes of each dimension with a range.
absl::StatusOr<std::map<std::string, std::vector<int64_t>>> sizes_of(const std::vector<std::string>& texts,
                                                                     const NetworkRequest& request) {
  std::map<std::string, std::vector<int64_t>> sizes;
  for (const std::string& text : texts) {
    const std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits('=', 1));
    const graph::NamedDimension* dim = find_range(request, parts[0]);
    if (!dim)
      return absl::InvalidArgumentError(absl::StrCat("--at ", text, ": no --dim gives '", parts[0],
                                                     "' a range, as in --dim ", parts[0], "=1..64"));
    for (const absl::string_view number : absl::StrSplit(parts.size() > 1 ? parts[1] : "", ',')) {
      int64_t size = 0;
      if (!absl::SimpleAtoi(number, &size) || !is_in_range(*dim, size))
        return absl::InvalidArgumentError(absl::StrCat(
            "--at ", text, ": write sizes from ", dim->low, " to ", dim->high,
            dim->multiple_of > 1 ? absl::StrCat(" that are multiples of ", dim->multiple_of) : "",
            ", as in --at ", parts[0], "=", dim->low, ",", dim->high));
      sizes[parts[0]].push_back(size);
    }
  }
  return sizes;
}

}  // namespace

absl::Status add_dim(const std::string& text, NetworkRequest& request) {
  const size_t equals = text.rfind('=');
  const std::string name = text.substr(0, equals == std::string::npos ? 0 : equals);
  const std::string range = name.empty() ? "" : text.substr(equals + 1);
  const size_t dots = range.find("..");
  int64_t low = 0, high = 0, multiple_of = 1;
  const bool is_range = dots != std::string::npos;
  const std::vector<std::string> rest =
      absl::StrSplit(is_range ? range.substr(dots + 2) : "0", absl::MaxSplits(':', 1));
  if (!absl::SimpleAtoi(range.substr(0, dots), &low) || !absl::SimpleAtoi(rest[0], &high) ||
      (rest.size() > 1 && !absl::SimpleAtoi(rest[1], &multiple_of)))
    return absl::InvalidArgumentError(absl::StrCat(
        "--dim ", text,
        ": write it as NAME=N, as in --dim batch=4, or as a range, as in --dim batch=1..64, or --dim "
        "height=32..512:32 for multiples of 32"));
  if (request.options.dims.contains(name) || find_range(request, name))
    return absl::InvalidArgumentError(absl::StrCat("--dim gives \"", name, "\" twice: give it once"));
  if (!is_range) {
    request.options.dims[name] = low;
    return absl::OkStatus();
  }
  request.ranges.push_back({{tensor::var(name), low, high}, multiple_of});
  return check_range(request.ranges.back());
}

absl::Status add_input(const std::string& text, NetworkRequest& request) {
  const size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos)
    return absl::InvalidArgumentError(
        absl::StrCat("--input ", text, ": write it as NAME=VALUE, as in --input rate=16000"));
  const std::string name = text.substr(0, equals);
  if (!request.options.given.insert({name, text.substr(equals + 1)}).second)
    return absl::InvalidArgumentError(absl::StrCat("--input gives \"", name, "\" twice: give it once"));
  return absl::OkStatus();
}

absl::Status add_anchors(const std::vector<std::string>& texts, NetworkRequest& request) {
  TF_ASSIGN_OR_RETURN(const auto sizes, sizes_of(texts, request));
  if (sizes.empty()) return absl::OkStatus();
  std::vector<tensor::Binding> anchors = {{}};
  for (const graph::NamedDimension& dim : request.ranges) {
    const auto of_dim = sizes.find(dim.var->name);
    if (of_dim == sizes.end())
      return absl::InvalidArgumentError(absl::StrCat("--at has sizes of some dimensions, but none of '",
                                                     dim.var->name, "': give some, as in --at ",
                                                     dim.var->name, "=", dim.high));
    std::vector<tensor::Binding> more;
    for (const tensor::Binding& anchor : anchors) {
      for (const int64_t size : of_dim->second) {
        more.push_back(anchor);
        more.back()[dim.var->name] = size;
      }
    }
    anchors = std::move(more);
  }
  request.anchors = std::move(anchors);
  return absl::OkStatus();
}

absl::Status check_sizes(const NetworkRequest& request) {
  for (const graph::NamedDimension& dim : request.ranges) {
    TF_RETURN_IF_ERROR(check_range(dim));
    if (request.options.dims.contains(dim.var->name) || find_range(request, dim.var->name) != &dim)
      return absl::InvalidArgumentError(
          absl::StrCat("--dim gives \"", dim.var->name, "\" twice: give it once"));
  }
  for (const tensor::Binding& anchor : request.anchors) {
    const bool fits = anchor.size() == request.ranges.size() &&
                      std::ranges::all_of(request.ranges, [&](const graph::NamedDimension& dim) {
                        const auto size = anchor.find(dim.var->name);
                        return size != anchor.end() && is_in_range(dim, size->second);
                      });
    if (!fits)
      return absl::InvalidArgumentError(
          absl::StrCat("--at: ", tensor::binding_text(anchor), " is not within the ranges of --dim"));
  }
  return absl::OkStatus();
}

tensor::Binding greatest_sizes(const NetworkRequest& request) {
  tensor::Binding sizes = request.options.dims;
  for (const graph::NamedDimension& dim : request.ranges) sizes[dim.var->name] = dim.high;
  return sizes;
}

absl::StatusOr<graph::Network> import_network(const std::string& path, const NetworkRequest& request) {
  return network_of_file(path, request.options, request.ranges, request.anchors);
}

}  // namespace tf::frontends
