#include "tuner/service/jobs/job_spec.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
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

frontends::NetworkRequest network_request(const JobSpec& spec) {
  frontends::NetworkRequest request;
  request.options.dims = {spec.dims().begin(), spec.dims().end()};
  request.options.given = {spec.inputs().begin(), spec.inputs().end()};
  for (const auto& dim : spec.open_dims())
    request.ranges.push_back({{tensor::var(dim.name()), dim.least(), dim.most()}, dim.multiple_of()});
  for (const auto& anchor : spec.anchors())
    request.anchors.emplace_back(anchor.sizes().begin(), anchor.sizes().end());
  return request;
}

void set_network_request(const frontends::NetworkRequest& request, JobSpec& spec) {
  *spec.mutable_dims() = {request.options.dims.begin(), request.options.dims.end()};
  *spec.mutable_inputs() = {request.options.given.begin(), request.options.given.end()};
  spec.clear_open_dims();
  for (const graph::NamedDimension& range : request.ranges) {
    auto& dim = *spec.add_open_dims();
    dim.set_name(range.var->name);
    dim.set_least(range.low);
    dim.set_most(range.high);
    dim.set_multiple_of(range.multiple_of);
  }
  spec.clear_anchors();
  for (const tensor::Binding& anchor : request.anchors)
    *spec.add_anchors()->mutable_sizes() = {anchor.begin(), anchor.end()};
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
  for (const auto& [name, size] : spec.dims()) {
    if (size < 1)
      return absl::InvalidArgumentError(
          absl::StrCat("--dim ", name, "=", size, ": a size to tune for is at least 1"));
  }
  return frontends::check_sizes(network_request(spec));
}

}  // namespace tf::service
