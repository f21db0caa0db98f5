#include "base/machine/processors.h"

#include <algorithm>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/machine/machine_files.h"

namespace tf {
namespace {

struct ArmPart {
  std::string_view implementer, part, name;
};

// Main ID Register, from the cores' technical reference manuals; the names are LLVM's.
constexpr ArmPart kArmParts[] = {
    {"0x41", "0xc05", "cortex-a5"},   {"0x41", "0xc07", "cortex-a7"},   {"0x41", "0xc08", "cortex-a8"},
    {"0x41", "0xc09", "cortex-a9"},   {"0x41", "0xc0d", "cortex-a12"},  {"0x41", "0xc0e", "cortex-a17"},
    {"0x41", "0xc0f", "cortex-a15"},  {"0x41", "0xd02", "cortex-a34"},  {"0x41", "0xd03", "cortex-a53"},
    {"0x41", "0xd04", "cortex-a35"},  {"0x41", "0xd05", "cortex-a55"},  {"0x41", "0xd07", "cortex-a57"},
    {"0x41", "0xd08", "cortex-a72"},  {"0x41", "0xd09", "cortex-a73"},  {"0x41", "0xd0a", "cortex-a75"},
    {"0x41", "0xd0b", "cortex-a76"},  {"0x41", "0xd0c", "neoverse-n1"}, {"0x41", "0xd0d", "cortex-a77"},
    {"0x41", "0xd40", "neoverse-v1"}, {"0x41", "0xd41", "cortex-a78"},  {"0x41", "0xd42", "cortex-a78ae"},
    {"0x41", "0xd44", "cortex-x1"},   {"0x41", "0xd46", "cortex-a510"}, {"0x41", "0xd47", "cortex-a710"},
    {"0x41", "0xd48", "cortex-x2"},   {"0x41", "0xd49", "neoverse-n2"}, {"0x41", "0xd4b", "cortex-a78c"},
    {"0x41", "0xd4d", "cortex-a715"}, {"0x41", "0xd4e", "cortex-x3"},   {"0x41", "0xd4f", "neoverse-v2"},
    {"0x41", "0xd80", "cortex-a520"}, {"0x41", "0xd81", "cortex-a720"}, {"0x41", "0xd82", "cortex-x4"},
    {"0x4e", "0x004", "carmel"},
};

bool is_one_of(const std::vector<uint32_t>& cpus, uint32_t cpu) {
  return cpus.empty() || std::ranges::find(cpus, cpu) != cpus.end();
}

std::string core_kinds(const std::vector<Processor>& processors, const std::vector<uint32_t>& cpus) {
  std::set<std::string> kinds;
  for (const Processor& processor : processors) {
    if (processor.field("CPU part").empty() || !is_one_of(cpus, processor.number)) continue;
    const std::string name = arm_core(processor);
    kinds.insert(name.empty() ? absl::StrCat("core ", processor.field("CPU implementer"), ":",
                                             processor.field("CPU part"))
                              : name);
  }
  return absl::StrJoin(kinds, "+");
}

}  // namespace

const std::string& Processor::field(std::string_view name) const {
  static const std::string none;
  const auto found = fields.find(name);
  return found == fields.end() ? none : found->second;
}

std::vector<Processor> read_processors(const std::string& root) {
  std::vector<Processor> processors;
  std::map<std::string, std::string, std::less<>> board;  // lines that stand in no processor's block
  bool inside = false;
  for_each_cpu_field(
      [&](std::string_view name, std::string_view value) {
        uint32_t number = 0;
        if (name == "processor" && absl::SimpleAtoi(absl::string_view(value.data(), value.size()), &number)) {
          processors.push_back({number, {}});
          inside = true;
        } else if (name.empty()) {
          inside = false;
        } else {
          (inside ? processors.back().fields : board).emplace(name, value);
        }
        return true;
      },
      root);
  for (Processor& processor : processors) processor.fields.insert(board.begin(), board.end());
  return processors;
}

std::string arm_core(const Processor& processor) {
  for (const ArmPart& known : kArmParts) {
    if (processor.field("CPU implementer") == known.implementer && processor.field("CPU part") == known.part)
      return std::string(known.name);
  }
  return "";
}

std::string processor_model(const std::vector<Processor>& processors, const std::vector<uint32_t>& cpus,
                            const std::string& root) {
  const Processor none;
  const Processor& first = processors.empty() ? none : processors.front();
  const std::string kinds = core_kinds(processors, cpus);
  // 32-bit kernels call every ARM core "ARMv7 Processor", whatever it is.
  if (kinds.empty()) {
    for (const char* name : {"model name", "uarch", "cpu model"}) {
      if (const std::string& model = first.field(name); !model.empty()) return model;
    }
  }
  std::string board = first_line(root + "/proc/device-tree/model");
  for (const char* name : {"Model", "Hardware"}) {
    if (board.empty()) board = first.field(name);
  }
  if (board.empty() || kinds.empty()) return board.empty() ? kinds : board;
  return absl::StrCat(board, ", ", kinds);
}

}  // namespace tf
