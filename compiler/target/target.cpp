#include "compiler/target/target.h"

#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/cli/suggestion.h"
#include "base/status.h"
#include "compiler/target/cpu_table.h"

namespace tf::target {
namespace {

absl::string_view abseil(std::string_view text) {
  return {text.data(), text.size()};
}

std::vector<std::string> words(std::string_view text) {
  return absl::StrSplit(abseil(text), ' ', absl::SkipEmpty());
}

bool contains_word(std::string_view text, std::string_view word) {
  std::vector<std::string> all = words(text);
  return std::find(all.begin(), all.end(), word) != all.end();
}

const CpuEntry& cpu_entry(const Target& target) {
  const ArchEntry& arch = arch_entry(target.arch);
  const CpuEntry* cpu = find_cpu(arch, target.cpu);
  return cpu ? *cpu : arch.cpus.front();
}

// The vector unit that follows from the features; `vector=` may narrow it afterwards.
VectorUnit vector_unit(const Target& target) {
  switch (target.arch) {
    case Arch::kX86_64:
      if (target.has("avx512f") && target.has("avx512vl")) return {512, 32, true, true};
      if (target.has("avx")) return {256, 16, target.has("fma"), false};
      return {128, 16, false, false};
    case Arch::kAArch64:
      return {128, 32, true, false};
    case Arch::kArmV7:
      return {target.has("neon") ? 128 : 0, 16, target.has("vfp4"), false};
    case Arch::kRiscV64:
      return {target.has("v") ? 128 : 0, 32, true, target.has("v")};
    case Arch::kWasm32:
      return {target.has("simd128") ? 128 : 0, 16, target.has("relaxed-simd"), false};
    case Arch::kCuda:
    case Arch::kOpenCl:
      return {128, 255, true, true};  // one thread's widest load
  }
  __builtin_unreachable();
}

// Other names of an architecture.
constexpr Synonyms kSynonyms[] = {
    {"x86_64", "x86 x86-64 x64 amd64 i686 intel amd"},
    {"aarch64", "arm64 armv8 armv8a arm64v8"},
    {"armv7", "arm armhf armv7l armv7a arm32"},
    {"riscv64", "riscv rv64 rv64gc"},
    {"wasm32", "wasm"},
    {"cuda", "nvidia gpu nvptx ptx"},
    {"opencl", "cl"},
    {"host", "native local auto self"},
};

// AMD's own names of its CPUs: zen4 is LLVM's znver4.
std::string llvm_cpu(std::string_view word) {
  const bool is_zen = word.size() == 4 && word.starts_with("zen");
  const std::string cpu = is_zen ? absl::StrCat("znver", std::string(word.substr(3))) : std::string(word);
  return find_cpu(arch_entry(Arch::kX86_64), cpu) ? cpu : std::string(word);
}

// "; did you mean x86_64?" for what stands where an architecture should: another name of one, or a CPU's.
std::string arch_suggestion(std::string_view given) {
  const std::string word = absl::AsciiStrToLower(abseil(given)), cpu = llvm_cpu(word);
  const auto meant = [](const std::string& target) { return absl::StrCat("; did you mean ", target, "?"); };
  for (const Synonyms& each : kSynonyms)
    if (each.contains(word)) return meant(std::string(each.name));
  std::vector<std::string> names = {"host"};
  for (const ArchEntry& arch : arch_table()) {
    names.emplace_back(arch.name);
    const char* key = arch.arch == Arch::kCuda ? ":arch=" : ":cpu=";
    if (cpu != "generic" && find_cpu(arch, cpu)) return meant(absl::StrCat(std::string(arch.name), key, cpu));
  }
  return suggestion(word, names);
}

std::string cpu_suggestion(Arch arch, std::string_view given) {
  const std::string word = absl::AsciiStrToLower(abseil(given)), cpu = llvm_cpu(word);
  if (cpu != word && arch == Arch::kX86_64) return absl::StrCat("; did you mean ", cpu, "?");
  return suggestion(word, known_cpus(arch));
}

absl::Status bad(std::string_view text, const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat("target '", std::string(text), "': ", why));
}

absl::StatusOr<int64_t> parse_number(std::string_view target, std::string_view key, std::string_view value) {
  int64_t scale = 1;
  std::string_view digits = value;
  if (!digits.empty() && (digits.back() == 'K' || digits.back() == 'M')) {
    scale = digits.back() == 'K' ? 1 << 10 : 1 << 20;
    digits.remove_suffix(1);
  }
  int64_t number = 0;
  if (!absl::SimpleAtoi(abseil(digits), &number) || number < 0 || number > (int64_t{1} << 40)) {
    return bad(target, absl::StrCat(std::string(key), "=", std::string(value),
                                    " is not a number such as 32768, 32K or 1M"));
  }
  return number * scale;
}

std::string size_text(int64_t bytes) {
  if (bytes > 0 && bytes % (1 << 20) == 0) return absl::StrCat(bytes >> 20, "M");
  if (bytes > 0 && bytes % (1 << 10) == 0) return absl::StrCat(bytes >> 10, "K");
  return absl::StrCat(bytes);
}

// Keeps only the differences from the CPU, sorted; a later one wins over an earlier of the same feature.
void add_feature(Target& target, std::string_view signed_feature) {
  std::string_view feature = signed_feature.substr(1);
  std::erase_if(target.features,
                [&](const std::string& f) { return std::string_view(f).substr(1) == feature; });
  bool inherent = contains_word(cpu_entry(target).features, feature);
  if (inherent == (signed_feature[0] == '+')) return;
  target.features.emplace_back(signed_feature);
  std::sort(target.features.begin(), target.features.end());
}

// The part before the colon.
absl::StatusOr<Target> parse_arch(std::string_view text, std::string_view head) {
  size_t dash = head.find('-');
  std::string_view name = head.substr(0, dash);
  for (const ArchEntry& entry : arch_table()) {
    if (entry.name != name) continue;
    Target target;
    target.arch = entry.arch;
    target.os = entry.os;
    target.cpu = entry.default_cpu;
    if (dash != std::string_view::npos && head.substr(dash + 1) != entry.os) {
      return bad(text, absl::StrCat("unknown operating system '", std::string(head.substr(dash + 1)),
                                    "' for ", std::string(name), "; known: ", std::string(entry.os)));
    }
    return target;
  }
  if (name == "host")
    return bad(text,
               "host is this machine as it is, and nothing can follow: name an architecture, as in "
               "x86_64:cpu=znver4");
  std::vector<std::string> known;
  for (const ArchEntry& entry : arch_table()) known.emplace_back(entry.name);
  std::string guess = arch_suggestion(head);
  if (guess.empty()) guess = arch_suggestion(name);
  return bad(text,
             absl::StrCat("unknown architecture '", std::string(name), "'", guess,
                          guess.empty() ? "; known: host, " : " Known: host, ", absl::StrJoin(known, ", ")));
}

struct Options {
  std::vector<std::string> features;
  std::optional<int64_t> vector_bits;
};

absl::Status parse_option(std::string_view text, std::string_view option, Target& target, Options& later) {
  if (option.starts_with('+') || option.starts_with('-')) {
    if (!contains_word(arch_entry(target.arch).features, option.substr(1))) {
      return bad(text, absl::StrCat("unknown feature '", std::string(option.substr(1)),
                                    "'; known: ", absl::StrJoin(known_features(target.arch), ", ")));
    }
    if (target.arch == Arch::kCuda && option[0] == '+' &&
        !contains_word(cpu_entry(target).features, option.substr(1))) {
      return bad(text, absl::StrCat(target.cpu, " has no ", std::string(option.substr(1)),
                                    ", and an instruction cannot be added: name an arch= that has it"));
    }
    later.features.emplace_back(option);
    return absl::OkStatus();
  }
  size_t equals = option.find('=');
  std::string_view key = option.substr(0, equals);
  std::string_view value = equals == std::string_view::npos ? "" : option.substr(equals + 1);
  if (key == (target.arch == Arch::kCuda ? "arch" : "cpu")) {
    const CpuEntry* cpu = find_cpu(arch_entry(target.arch), value);
    if (!cpu) {
      const std::string guess = cpu_suggestion(target.arch, value);
      return bad(text, absl::StrCat("unknown ", std::string(key), " '", std::string(value), "'", guess,
                                    guess.empty() ? "; known: " : " Known: ",
                                    absl::StrJoin(known_cpus(target.arch), ", ")));
    }
    target.cpu = value;
    target.caches = cpu->caches;
    return absl::OkStatus();
  }
  if (key != "vector" && key != "l1" && key != "l2" && key != "l3" && key != "cores") {
    return bad(text, absl::StrCat("unknown key '", std::string(key),
                                  "'; known: ", target.arch == Arch::kCuda ? "arch" : "cpu",
                                  ", vector, l1, l2, l3, cores, +FEATURE, -FEATURE"));
  }
  TF_ASSIGN_OR_RETURN(int64_t number, parse_number(text, key, value));
  if (key == "vector") later.vector_bits = number;
  if (key == "l1") target.caches.l1_bytes = number;
  if (key == "l2") target.caches.l2_bytes = number;
  if (key == "l3") target.caches.l3_bytes = number;
  if (key == "cores") {
    if (number < 1 || number > 4096) return bad(text, "cores must be from 1 to 4096");
    target.cores = static_cast<int>(number);
  }
  return absl::OkStatus();
}

}  // namespace

std::string_view arch_name(Arch arch) {
  return arch_entry(arch).name;
}

std::string Target::text() const {
  const ArchEntry& entry = arch_entry(arch);
  const CpuEntry& table = cpu_entry(*this);
  std::vector<std::string> options;
  if (cpu != entry.default_cpu) options.push_back(absl::StrCat(arch == Arch::kCuda ? "arch=" : "cpu=", cpu));
  options.insert(options.end(), features.begin(), features.end());
  Target natural = *this;
  if (vector.bits != vector_unit(natural).bits) options.push_back(absl::StrCat("vector=", vector.bits));
  if (caches.l1_bytes != table.caches.l1_bytes) options.push_back("l1=" + size_text(caches.l1_bytes));
  if (caches.l2_bytes != table.caches.l2_bytes) options.push_back("l2=" + size_text(caches.l2_bytes));
  if (caches.l3_bytes != table.caches.l3_bytes) options.push_back("l3=" + size_text(caches.l3_bytes));
  if (cores != 1) options.push_back(absl::StrCat("cores=", cores));
  std::string head(entry.name);
  if (os != entry.os) absl::StrAppend(&head, "-", os);
  return options.empty() ? head : absl::StrCat(head, ":", absl::StrJoin(options, ","));
}

int Target::lanes(int element_bytes) const {
  return std::max(1, vector.bits / (8 * element_bytes));
}

bool Target::has(std::string_view feature) const {
  for (const std::string& f : features) {
    if (std::string_view(f).substr(1) == feature) return f[0] == '+';
  }
  return contains_word(cpu_entry(*this).features, feature);
}

absl::StatusOr<Target> parse_target(std::string_view text) {
  if (text == "host") return host_target();
  size_t colon = text.find(':');
  TF_ASSIGN_OR_RETURN(Target target, parse_arch(text, text.substr(0, colon)));
  target.caches = cpu_entry(target).caches;
  Options later;
  if (colon != std::string_view::npos) {
    // The CPU first: it sets the caches that other keys may override.
    std::vector<std::string> options = absl::StrSplit(abseil(text.substr(colon + 1)), ',');
    std::stable_partition(options.begin(), options.end(), [](const std::string& option) {
      return option.starts_with("cpu=") || option.starts_with("arch=");
    });
    for (const std::string& option : options) TF_RETURN_IF_ERROR(parse_option(text, option, target, later));
  }
  for (const std::string& feature : later.features) add_feature(target, feature);
  target.vector = vector_unit(target);
  target.gpu = cpu_entry(target).gpu;
  if (later.vector_bits) {
    int64_t bits = *later.vector_bits;
    bool power = bits >= 64 && (bits & (bits - 1)) == 0;
    if (!power || bits > target.vector.bits) {
      return bad(text, absl::StrCat("vector=", bits, " is not a power of two from 64 to ", target.vector.bits,
                                    ", the width of this CPU"));
    }
    target.vector.bits = static_cast<int>(bits);
  }
  return target;
}

std::vector<std::string> known_cpus(Arch arch) {
  std::vector<std::string> names;
  for (const CpuEntry& cpu : arch_entry(arch).cpus) names.emplace_back(cpu.name);
  return names;
}

std::vector<std::string> known_features(Arch arch) {
  return words(arch_entry(arch).features);
}

}  // namespace tf::target
