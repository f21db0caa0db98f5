#include "tuner/service/jobs/job_spec.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/check.h"
#include "base/status.h"
#include "compiler/schedule/numerics.h"

namespace tf::service {
namespace {

constexpr int kMostMinutes = 365 * 24 * 60;

}  // namespace

JobSpec default_spec() {
  JobSpec spec;
  spec.set_target("host");
  spec.set_threads(1);
  spec.set_seed(1);
  spec.set_strategy("evolutionary");
  return spec;
}

std::string device_class_of(const JobSpec& spec) {
  return spec.device_class().empty() ? "local" : spec.device_class();
}

std::map<std::string, int64_t> dims_of(const JobSpec& spec) {
  return {spec.dims().begin(), spec.dims().end()};
}

std::string to_json(const JobSpec& spec) {
  google::protobuf::util::JsonPrintOptions all_fields;
  all_fields.always_print_primitive_fields = true;
  all_fields.preserve_proto_field_names = true;
  std::string text;
  TF_CHECK(google::protobuf::util::MessageToJsonString(spec, &text, all_fields).ok());
  return text;
}

absl::StatusOr<JobSpec> job_spec_from_json(const std::string& text) {
  JobSpec spec;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  const auto status = google::protobuf::util::JsonStringToMessage(text, &spec, options);
  if (!status.ok())
    return absl::InvalidArgumentError(absl::StrCat("cannot read a job's options: ", status.ToString()));
  if (spec.strategy().empty()) spec.set_strategy(default_spec().strategy());
  return spec;
}

int most_slots(const JobSpec& spec) {
  return spec.slots() == 0 ? kMostSlots : std::min(static_cast<int>(spec.slots()), kMostSlots);
}

absl::Status check(const JobSpec& spec) {
  const auto threads = static_cast<int>(spec.threads()), slots = static_cast<int>(spec.slots());
  if (threads < 1) {
    return absl::InvalidArgumentError(absl::StrCat("--threads must be at least 1, not ", threads));
  }
  if (slots < 0 || slots > kMostSlots) {
    return absl::InvalidArgumentError(
        absl::StrCat("--slots must lie between 1 and ", kMostSlots, ", or be \"all\", not ", slots));
  }
  if (spec.priority() < -10 || spec.priority() > 10) {
    return absl::InvalidArgumentError(
        absl::StrCat("--priority must lie between -10 and 10, not be ", spec.priority()));
  }
  if (spec.trials() < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--trials must not be negative, as ", spec.trials(), " is"));
  }
  // 0, which is no limit, nobody can ask for: the command line refuses it.
  if (!(spec.minutes() >= 0 && spec.minutes() <= kMostMinutes)) {
    return absl::InvalidArgumentError(absl::StrCat("--minutes must be above 0 and at most ", kMostMinutes,
                                                   ", a year, not ", spec.minutes()));
  }
  if (!(spec.until_gain_percent() >= 0 && spec.until_gain_percent() <= 100)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--until-gain must be above 0 and at most 100, not ", spec.until_gain_percent()));
  }
  if (spec.trials() == 0 && spec.minutes() == 0 && spec.until_gain_percent() == 0) {
    return absl::InvalidArgumentError(
        "tuning would not end: give --trials, --minutes, --until-gain or several of them");
  }
  for (const std::string& name : spec.allowed_numerics()) TF_RETURN_IF_ERROR(schedule::check_numerics(name));
  return absl::OkStatus();
}

absl::Status parse_dim(const std::string& text, JobSpec& spec) {
  for (absl::string_view part : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    const std::vector<std::string> sides = absl::StrSplit(part, '=');
    int64_t value = 0;
    if (sides.size() != 2 || sides[0].empty() || !absl::SimpleAtoi(sides[1], &value) || value < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("--dim must be NAME=N with N of at least 1, as in batch=4, not \"", part, "\""));
    }
    if (!spec.mutable_dims()->insert({sides[0], value}).second)
      return absl::InvalidArgumentError(absl::StrCat("--dim gives \"", sides[0], "\" twice"));
  }
  return absl::OkStatus();
}

}  // namespace tf::service
