#include "tuner/cli/tune_device.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/cli/counted.h"

namespace tf::tuner_cli {

bool is_gpu(const target::Target& target) {
  return target.gpu.block_threads > 0;
}

int gpu_number(const std::string& device) {
  int number = 0;
  const size_t colon = device.find(':');
  return colon != std::string::npos && absl::SimpleAtoi(device.substr(colon + 1), &number) ? number : 0;
}

absl::StatusOr<std::string> device_for(const target::Target& target, const std::string& asked) {
  const std::string kind = is_gpu(target) ? std::string(target::arch_name(target.arch)) : "cpu";
  if (asked.empty()) return is_gpu(target) ? kind + ":0" : kind;
  const bool is_cpu = asked == "cpu";
  const size_t colon = asked.find(':');
  int number = -1;
  if (!is_cpu &&
      (colon == std::string::npos || !absl::SimpleAtoi(asked.substr(colon + 1), &number) || number < 0))
    return absl::InvalidArgumentError(
        absl::StrCat("--device ", asked, ": give cpu, opencl:N or cuda:N, as in opencl:0"));
  if (asked.substr(0, colon) == kind) return asked;
  return absl::InvalidArgumentError(absl::StrCat("--device ", asked, " does not run code for --target ",
                                                 target.text(), ": give ",
                                                 is_gpu(target) ? kind + ":N, as in " + kind + ":0" : kind));
}

absl::Status check_runs_here(const target::Target& target, int threads, size_t cpus) {
  if (is_gpu(target)) {
    if (threads == 1) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("--threads ", threads, ": a kernel for ", target.text(),
                                                   " has the threads of its schedule; leave --threads out"));
  }
  if (!target.is_hosted())
    return absl::InvalidArgumentError(absl::StrCat(
        "--target ", target.text(), ": tuning for it is not supported yet; `compiler kernel --target ",
        target.text(), "` compiles a kernel"));
  const target::Target host = target::host_target();
  const auto refuse = [&](const std::string& truth) {
    return absl::InvalidArgumentError(
        absl::StrCat("--target ", target.text(), ": ", truth,
                     "; run device_agent on a machine that does, and `tuner submit` to its farm"));
  };
  if (target.arch != host.arch)
    return refuse(absl::StrCat("this machine (", host.text(), ") does not run code for ",
                               std::string(target::arch_name(target.arch))));
  for (const std::string& feature : target::known_features(target.arch)) {
    if (target.has(feature) && !host.has(feature))
      return refuse(absl::StrCat("this machine (", host.text(), ") does not have ", feature));
  }
  if (static_cast<size_t>(threads) > cpus)
    return absl::InvalidArgumentError(absl::StrCat("--threads ", threads, ": this process may run on ",
                                                   counted(static_cast<int64_t>(cpus), "CPU")));
  return absl::OkStatus();
}

}  // namespace tf::tuner_cli
