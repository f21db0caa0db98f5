#pragma once
// Owns: the names of measurement devices in options and jobs. Does not know: drivers.

#include <charconv>
#include <optional>
#include <string_view>

namespace tf::worker {

inline constexpr std::string_view kGpuKinds[] = {"cuda", "opencl"};
inline constexpr char kKnownDevices[] = "cpu, cuda:N or opencl:N with the number of the device, as in cuda:0";

struct GpuName {
  std::string_view kind;  // one of kGpuKinds
  int index = 0;
};

// Parses a name such as "cuda:0". Empty if the text is not the name of a GPU.
inline std::optional<GpuName> parse_gpu_name(std::string_view text) {
  for (const std::string_view kind : kGpuKinds) {
    if (!text.starts_with(kind) || text.size() <= kind.size() + 1 || text[kind.size()] != ':') continue;
    const char *begin = text.data() + kind.size() + 1, *end = text.data() + text.size();
    GpuName name{.kind = kind};
    const auto [rest, error] = std::from_chars(begin, end, name.index);
    if (error == std::errc() && rest == end && name.index >= 0 && name.index <= 1000) return name;
  }
  return std::nullopt;
}

}  // namespace tf::worker
