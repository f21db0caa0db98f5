#include "compiler/backends/cuda/ptxas_log.h"

#include <algorithm>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace tf::backends {
namespace {

// N of "N bytes stack frame", with the words after it; 0 where they do not stand.
uint32_t number_before(std::string_view line, std::string_view words) {
  const size_t end = line.find(words);
  if (end == std::string_view::npos) return 0;
  size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  uint32_t number = 0;
  const std::string_view digits = line.substr(begin, end - begin);
  return absl::SimpleAtoi(absl::string_view(digits.data(), digits.size()), &number) ? number : 0;
}

// Between the first two quotes.
std::string quoted_name(std::string_view line) {
  const size_t begin = line.find('\''), end = line.find('\'', begin + 1);
  return end == std::string_view::npos ? "" : std::string(line.substr(begin + 1, end - begin - 1));
}

}  // namespace

std::map<std::string, Resources> read_ptxas_log(std::string_view log) {
  std::map<std::string, Resources> all;
  Resources* kernel = nullptr;
  const std::vector<std::string> lines = absl::StrSplit(absl::string_view(log.data(), log.size()), '\n');
  for (const std::string& line : lines) {
    if (line.find("Compiling entry function") != std::string::npos) kernel = &all[quoted_name(line)];
    if (kernel == nullptr) continue;
    kernel->stack_bytes = std::max(kernel->stack_bytes, number_before(line, " bytes stack frame"));
    kernel->stack_bytes = std::max(kernel->stack_bytes, number_before(line, " bytes cumulative stack size"));
    kernel->spill_bytes += number_before(line, " bytes spill stores");
    kernel->spill_bytes += number_before(line, " bytes spill loads");
    kernel->registers_per_thread = std::max(kernel->registers_per_thread, number_before(line, " registers"));
    kernel->shared_bytes = std::max(kernel->shared_bytes, number_before(line, " bytes smem"));
  }
  return all;
}

}  // namespace tf::backends
