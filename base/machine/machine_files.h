#pragma once
// Owns: reading what Linux says of this machine in /proc and /sys. Does not know: what it means.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace tf {

// Without the white space around it; "" if there is no such file.
std::string first_line(const std::string& path);

// The bytes that a size like "512K", "2M" or "65536" names; 0 for any other text.
uint64_t parse_size_bytes(std::string_view text);

// Calls `field` with each line "name : value" of /proc/cpuinfo, and with two empty texts for the lines
// between processors, until it returns false. `root` stands before the path.
void for_each_cpu_field(const std::function<bool(std::string_view name, std::string_view value)>& field,
                        const std::string& root = "");

}  // namespace tf
