#include "tuner/service/job_spec.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/json_fault.h"
#include "base/json_text.h"
#include "base/status.h"
#include "compiler/schedule/numerics.h"

namespace tf::service {
namespace {

constexpr int kMostMinutes = 365 * 24 * 60;

}  // namespace

std::string to_json(const JobSpec& spec) {
  nlohmann::json out = {{"model_name", spec.model_name},
                        {"target", spec.target},
                        {"device_key", spec.device_key},
                        {"selector", spec.selector},
                        {"priority", spec.priority},
                        {"slots", spec.slots},
                        {"threads", spec.threads},
                        {"trials", spec.trials},
                        {"minutes", spec.minutes},
                        {"until_gain_percent", spec.until_gain_percent},
                        {"allowed_numerics", spec.allowed_numerics},
                        {"dims", spec.dims},
                        {"seed", spec.seed},
                        {"strategy", spec.strategy}};
  // Jobs that were begun before they named their class have the default's text, and go on.
  if (spec.device_class != JobSpec().device_class) out["device_class"] = spec.device_class;
  return json_text(out);
}

absl::StatusOr<JobSpec> job_spec_from_json(const std::string& text) {
  try {
    const nlohmann::json in = nlohmann::json::parse(text);
    JobSpec spec;
    spec.model_name = in.value("model_name", spec.model_name);
    spec.target = in.value("target", spec.target);
    spec.device_key = in.value("device_key", spec.device_key);
    spec.selector = in.value("selector", spec.selector);
    spec.priority = in.value("priority", spec.priority);
    spec.slots = in.value("slots", spec.slots);
    spec.threads = in.value("threads", spec.threads);
    spec.trials = in.value("trials", spec.trials);
    spec.minutes = in.value("minutes", spec.minutes);
    spec.until_gain_percent = in.value("until_gain_percent", spec.until_gain_percent);
    spec.allowed_numerics = in.value("allowed_numerics", spec.allowed_numerics);
    spec.dims = in.value("dims", spec.dims);
    spec.seed = in.value("seed", spec.seed);
    spec.strategy = in.value("strategy", spec.strategy);
    spec.device_class = in.value("device_class", spec.device_class);
    return spec;
  } catch (const nlohmann::json::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat("cannot read a job's options: ", json_fault(error)));
  }
}

int most_slots(const JobSpec& spec) {
  return spec.slots == 0 ? kMostSlots : std::min(spec.slots, kMostSlots);
}

absl::Status check(const JobSpec& spec) {
  if (spec.threads < 1) {
    return absl::InvalidArgumentError(absl::StrCat("--threads must be at least 1, not ", spec.threads));
  }
  if (spec.slots < 0 || spec.slots > kMostSlots) {
    return absl::InvalidArgumentError(
        absl::StrCat("--slots must lie between 1 and ", kMostSlots, ", or be \"all\", not ", spec.slots));
  }
  if (spec.priority < -10 || spec.priority > 10) {
    return absl::InvalidArgumentError(
        absl::StrCat("--priority must lie between -10 and 10, not be ", spec.priority));
  }
  if (spec.trials < 0) {
    return absl::InvalidArgumentError(absl::StrCat("--trials must not be negative, as ", spec.trials, " is"));
  }
  // 0, which is no limit, nobody can ask for: the command line refuses it.
  if (!(spec.minutes >= 0 && spec.minutes <= kMostMinutes)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--minutes must be above 0 and at most ", kMostMinutes, ", a year, not ", spec.minutes));
  }
  if (!(spec.until_gain_percent >= 0 && spec.until_gain_percent <= 100)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--until-gain must be above 0 and at most 100, not ", spec.until_gain_percent));
  }
  if (spec.trials == 0 && spec.minutes == 0 && spec.until_gain_percent == 0) {
    return absl::InvalidArgumentError(
        "tuning would not end: give --trials, --minutes, --until-gain or several of them");
  }
  for (const std::string& name : spec.allowed_numerics) TF_RETURN_IF_ERROR(schedule::check_numerics(name));
  return absl::OkStatus();
}

absl::Status parse_dim(const std::string& text, std::map<std::string, int64_t>& dims) {
  for (absl::string_view part : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    const std::vector<std::string> sides = absl::StrSplit(part, '=');
    int64_t value = 0;
    if (sides.size() != 2 || sides[0].empty() || !absl::SimpleAtoi(sides[1], &value) || value < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("--dim must be NAME=N with N of at least 1, as in batch=4, not \"", part, "\""));
    }
    if (!dims.try_emplace(sides[0], value).second)
      return absl::InvalidArgumentError(absl::StrCat("--dim gives \"", sides[0], "\" twice"));
  }
  return absl::OkStatus();
}

}  // namespace tf::service
