#include "tests/bench/figures/process_figures.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace tf::bench {
namespace {

constexpr std::string_view kWritten = "write_bytes:";

}  // namespace

ProcessFigures figures_of(int pid) {
  ProcessFigures figures;
  const std::string folder = "/proc/" + std::to_string(pid);
  std::string stat;
  std::getline(std::ifstream(folder + "/stat"), stat);
  // Fields 14 to 17 of all, counted behind the name, which may contain anything.
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return figures;
  std::istringstream fields(stat.substr(name_end + 1));
  std::string skipped;
  for (int i = 3; i < 14; ++i) fields >> skipped;
  double user = 0;
  double system = 0;
  double ended_user = 0;
  double ended_system = 0;
  fields >> user >> system >> ended_user >> ended_system;
  figures.cpu_s = (user + system + ended_user + ended_system) / static_cast<double>(sysconf(_SC_CLK_TCK));
  int64_t pages = 0;
  int64_t resident_pages = 0;
  std::ifstream(folder + "/statm") >> pages >> resident_pages;
  figures.resident_bytes = resident_pages * sysconf(_SC_PAGESIZE);
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder + "/fd", error)) {
    (void)entry;
    ++figures.descriptors;
  }
  std::ifstream io(folder + "/io");
  for (std::string line; std::getline(io, line);)
    if (line.starts_with(kWritten)) figures.written_bytes = std::stoll(line.substr(kWritten.size()));
  return figures;
}

}  // namespace tf::bench
