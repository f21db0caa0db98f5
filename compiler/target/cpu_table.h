#pragma once
// Owns: the table of CPUs and GPUs that targets may name: features, caches, limits. Does not know: texts,
// hosts.

#include <cstdint>
#include <span>
#include <string_view>

#include "compiler/target/target.h"

namespace tf::target {

struct CpuEntry {
  std::string_view name;      // as LLVM calls it
  std::string_view features;  // of known_features(), separated by spaces
  Caches caches;
  GpuLimits gpu;
};

struct ArchEntry {
  Arch arch;
  std::string_view name;
  std::string_view os;           // the default
  std::string_view default_cpu;  // of a text without cpu=
  std::string_view features;     // all that are known, separated by spaces
  std::span<const CpuEntry> cpus;
};

std::span<const ArchEntry> arch_table();
const ArchEntry& arch_entry(Arch arch);
// Null if the architecture has no CPU of that name.
const CpuEntry* find_cpu(const ArchEntry& arch, std::string_view name);

}  // namespace tf::target
