#pragma once
// Owns: the processors that /proc/cpuinfo lists, and the names of ARM's cores, which it gives as numbers.
// Does not know: what either means for code.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tf {

struct Processor {
  uint32_t number = 0;
  std::map<std::string, std::string, std::less<>> fields;  // of it and, where it says nothing, of the board
  // "" if there is no such field.
  const std::string& field(std::string_view name) const;
};

// In the file's order. `root` stands before the paths of /proc and /sys: a copy of another machine's files,
// or "".
std::vector<Processor> read_processors(const std::string& root = "");

// LLVM's name of the core, as in "cortex-a72", from ARM's "CPU implementer" and "CPU part"; "" where it is
// not known, as on other architectures.
std::string arm_core(const Processor& processor);

// What people call it: "AMD EPYC 9R14" or, where /proc/cpuinfo names none, the board and the kinds of cores
// among `cpus` (empty: all), as in "Raspberry Pi 4 Model B Rev 1.4, cortex-a72" or "Rock 5B,
// cortex-a55+cortex-a76". "" if unknown.
std::string processor_model(const std::vector<Processor>& processors, const std::vector<uint32_t>& cpus,
                            const std::string& root = "");

}  // namespace tf
