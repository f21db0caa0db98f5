#include "database/record_json.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text/json_fault.h"
#include "base/text/json_text.h"

namespace tf::database {
namespace {

using nlohmann::json;

// JSON has no number for infinity or NaN, and a wrong answer's error may be either; -0 becomes 0, as SQLite
// keeps it.
json number_json(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value + 0.0;
}

double parse_number(const json& in) {
  if (!in.is_string()) return in.get<double>();
  const std::string text = in.get<std::string>();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  return text == "inf" ? std::numeric_limits<double>::infinity() : in.get<double>();  // throws: not a number
}

// A whole number of that range; the JSON library makes another one of what does not fit.
absl::StatusOr<int64_t> whole(const json& in, std::string_view name, int64_t low, int64_t high) {
  const bool fits = in.is_number_integer() && (!in.is_number_unsigned() || in.get<uint64_t>() <= INT64_MAX);
  const int64_t value = fits ? in.get<int64_t>() : 0;
  if (fits && value >= low && value <= high) return value;
  return absl::InvalidArgumentError(
      absl::StrCat("not a record: its ", std::string(name), " is ", json_text(in).substr(0, 32)));
}

json samples_json(const std::vector<Sample>& samples) {
  json out = json::array();
  for (const Sample& sample : samples) out.push_back({sample.total_ns, sample.iterations});
  return out;
}

// Without the reuse distance where it is 0: so did all records before there was one, and a digest is for
// ever.
json problem_json(const tensor::KernelKey& problem) {
  json out = {{"workload", problem.workload.hex()},
              {"binding", problem.binding},
              {"in_layouts", tensor::join_layouts(problem.in_layouts)},
              {"out_layouts", tensor::join_layouts(problem.out_layouts)},
              {"target", problem.target},
              {"threads", problem.threads}};
  if (problem.reuse_distance_bytes > 0) out["reuse_distance_bytes"] = problem.reuse_distance_bytes;
  return out;
}

json device_json(const DeviceState& device) {
  return {{"class", device.device_class},
          {"fingerprint", device.fingerprint},
          {"model", device.model},
          {"clock_mhz", number_json(device.clock_mhz)},
          {"temperature_c", number_json(device.temperature_c)},
          {"throttled", device.throttled},
          {"governor", device.governor},
          {"load_1min", number_json(device.load_1min)}};
}

json interleaved_json(const Interleaved& interleaved) {
  return {{"began_unix_ns", interleaved.began_unix_ns},
          {"ns", number_json(interleaved.ns)},
          {"low_ns", number_json(interleaved.interval_ns.low_ns)},
          {"high_ns", number_json(interleaved.interval_ns.high_ns)}};
}

absl::StatusOr<Interleaved> parse_interleaved(const json& in) {
  Interleaved interleaved{.ns = parse_number(in.at("ns")),
                          .interval_ns = {parse_number(in.at("low_ns")), parse_number(in.at("high_ns"))}};
  TF_ASSIGN_OR_RETURN(interleaved.began_unix_ns, whole(in.at("began_unix_ns"), "match", 1, INT64_MAX));
  return interleaved;
}

absl::StatusOr<tensor::KernelKey> parse_problem(const json& in, const Digest& workload) {
  tensor::KernelKey problem;
  problem.workload = {workload};
  problem.binding = in.at("binding").get<std::string>();
  problem.in_layouts = tensor::split_layouts(in.at("in_layouts").get<std::string>());
  problem.out_layouts = tensor::split_layouts(in.at("out_layouts").get<std::string>());
  problem.target = in.at("target").get<std::string>();
  TF_ASSIGN_OR_RETURN(const int64_t threads, whole(in.at("threads"), "threads", 1, UINT32_MAX));
  TF_ASSIGN_OR_RETURN(const int64_t distance,
                      whole(in.value("reuse_distance_bytes", json(0)), "reuse distance", 0, INT64_MAX));
  problem.threads = static_cast<uint32_t>(threads);
  problem.reuse_distance_bytes = static_cast<uint64_t>(distance);
  return problem;
}

DeviceState parse_device(const json& in) {
  return {.device_class = in.at("class").get<std::string>(),
          .fingerprint = in.at("fingerprint").get<std::string>(),
          .model = in.at("model").get<std::string>(),
          .clock_mhz = parse_number(in.at("clock_mhz")),
          .temperature_c = parse_number(in.at("temperature_c")),
          .throttled = in.at("throttled").get<bool>(),
          .governor = in.at("governor").get<std::string>(),
          .load_1min = parse_number(in.at("load_1min"))};
}

absl::StatusOr<JsonLine> parse_workload(const json& in) {
  Workload workload{.text = in.at("text").get<std::string>(),
                    .op = in.at("op").get<std::string>(),
                    .flops = parse_number(in.at("flops"))};
  const std::string key = in.at("key").get<std::string>();
  if (key != workload.key().hex()) {
    return absl::InvalidArgumentError(
        absl::StrCat("workload key ", key, " is not the SHA-256 of its text (", workload.key().hex(), ")"));
  }
  if (!(workload.flops >= 0 && std::isfinite(workload.flops)))
    return absl::InvalidArgumentError(
        absl::StrCat("not a record: its flops is ", json_text(in.at("flops")).substr(0, 32)));
  return workload;
}

absl::Status no_record(std::string_view name, const json& in, const std::string& truth) {
  return absl::InvalidArgumentError(absl::StrCat("not a record: its ", std::string(name), " is ",
                                                 json_text(in).substr(0, 64), ", but ", truth,
                                                 "; export it again, or delete the line"));
}

// What to_json_with_bounds adds, if it is there.
absl::Status check_derived(const json& in, const Measurement& m) {
  constexpr double kRounding = 1e-9;  // relative; of programs that compute in another order
  const std::optional<double> median = m.median_ns();
  const std::string truth =
      median ? absl::StrCat("its samples give ", json_text(json(*median))) : "it has no samples";
  if (const auto ns = in.find("median_ns"); ns != in.end()) {
    const double given = ns->get<double>();
    if (!median || !(std::abs(given - *median) <= kRounding * *median))
      return no_record("median_ns", *ns, truth);
  }
  if (const auto bounds = in.find("interval_ns"); bounds != in.end()) {
    const auto low = bounds->at(0).get<double>(), high = bounds->at(1).get<double>();
    if (!median || !(low <= *median * (1 + kRounding) && high >= *median * (1 - kRounding)))
      return no_record("interval_ns", *bounds, truth);
  }
  return absl::OkStatus();
}

absl::StatusOr<JsonLine> parse_measurement(const json& in) {
  TF_ASSIGN_OR_RETURN(Digest workload, Digest::from_hex(in.at("problem").at("workload").get<std::string>()));
  Measurement m;
  TF_ASSIGN_OR_RETURN(m.problem, parse_problem(in.at("problem"), workload));
  m.schedule = in.at("schedule").get<std::string>();
  TF_ASSIGN_OR_RETURN(const int64_t semantics,
                      whole(in.at("semantics_version"), "semantics version", 0, UINT32_MAX));
  m.semantics_version = static_cast<uint32_t>(semantics);
  m.sketch_hash = in.at("sketch_hash").get<std::string>();
  m.choices = in.at("slot_values").get<std::vector<int64_t>>();
  m.numerics = in.at("numerics").get<std::vector<std::string>>();
  TF_ASSIGN_OR_RETURN(m.outcome, outcome_from_name(in.at("outcome").get<std::string>()));
  m.detail = in.at("detail").get<std::string>();
  for (const json& sample : in.at("samples")) {
    TF_ASSIGN_OR_RETURN(const int64_t total_ns, whole(sample.at(0), "sample", 0, INT64_MAX));
    TF_ASSIGN_OR_RETURN(const int64_t runs, whole(sample.at(1), "number of iterations", 0, UINT32_MAX));
    m.samples.push_back({total_ns, static_cast<uint32_t>(runs)});
  }
  TF_ASSIGN_OR_RETURN(m.cache_mode, cache_mode_from_name(in.at("cache_mode").get<std::string>()));
  m.max_error = parse_number(in.at("max_error"));
  m.device = parse_device(in.at("device"));
  m.artifact_digest = in.at("artifact_digest").get<std::string>();
  m.code_digest = in.at("code_digest").get<std::string>();
  if (in.contains("lease")) {
    const json& lease = in.at("lease");
    m.lease = LeaseStamp{.slot = lease.at("slot").get<std::string>(),
                         .lease_id = lease.at("id").get<std::string>(),
                         .epoch = lease.at("epoch").get<uint64_t>(),
                         .sequence = lease.at("sequence").get<uint64_t>()};
  }
  TF_ASSIGN_OR_RETURN(m.finished_unix_ns, whole(in.at("finished_unix_ns"), "time", 0, INT64_MAX));
  m.untuned = in.value("untuned", false);
  if (in.contains("match")) {
    TF_ASSIGN_OR_RETURN(m.interleaved, parse_interleaved(in.at("match")));
  }
  const absl::Status possible = check(m);
  if (!possible.ok()) return absl::InvalidArgumentError(absl::StrCat("not a record: ", possible.message()));
  TF_RETURN_IF_ERROR(check_derived(in, m));
  return m;
}

absl::StatusOr<JsonLine> parse_verdict(const json& in) {
  NetworkVerdict verdict{.device_class = in.at("device_class").get<std::string>(),
                         .target = in.at("target").get<std::string>(),
                         .name = in.at("name").get<std::string>(),
                         .why = in.at("why").get<std::string>(),
                         .numerics = in.at("numerics").get<std::vector<std::string>>()};
  TF_ASSIGN_OR_RETURN(verdict.key, Digest::from_hex(in.at("key").get<std::string>()));
  TF_ASSIGN_OR_RETURN(const int64_t threads, whole(in.at("threads"), "threads", 1, UINT32_MAX));
  verdict.threads = static_cast<uint32_t>(threads);
  const std::string takes = in.at("takes").get<std::string>();
  using Takes = NetworkVerdict::Takes;
  verdict.takes = takes == takes_name(Takes::kFastest) ? Takes::kFastest : Takes::kUntuned;
  if (takes != takes_name(verdict.takes))
    return absl::InvalidArgumentError(absl::StrCat("no verdict is \"", takes, "\""));
  for (const json& kernel : in.at("kernels")) {
    TF_ASSIGN_OR_RETURN(const Digest key, Digest::from_hex(kernel.get<std::string>()));
    verdict.kernels.insert({key});
  }
  TF_ASSIGN_OR_RETURN(verdict.decided_unix_ns, whole(in.at("decided_unix_ns"), "time", 0, INT64_MAX));
  return verdict;
}

}  // namespace

std::string to_json(const JsonHeader& header) {
  return json_text(json{{"type", "tunefarm-records"}, {"version", header.version}});
}

std::string to_json(const Workload& workload) {
  return json_text(json{{"type", "workload"},
                        {"key", workload.key().hex()},
                        {"text", workload.text},
                        {"op", workload.op},
                        {"flops", number_json(workload.flops)}});
}

namespace {

json json_of(const Measurement& m) {
  json out = {{"type", "measurement"},
              {"problem", problem_json(m.problem)},
              {"schedule", m.schedule},
              {"semantics_version", m.semantics_version},
              {"sketch_hash", m.sketch_hash},
              {"slot_values", m.choices},
              {"numerics", m.numerics},
              {"outcome", outcome_name(m.outcome)},
              {"detail", m.detail},
              {"samples", samples_json(m.samples)},
              {"cache_mode", cache_mode_name(m.cache_mode)},
              {"max_error", number_json(m.max_error)},
              {"device", device_json(m.device)},
              {"artifact_digest", m.artifact_digest},
              {"code_digest", m.code_digest},
              {"finished_unix_ns", m.finished_unix_ns}};
  if (m.lease) {
    out["lease"] = {{"slot", m.lease->slot},
                    {"id", m.lease->lease_id},
                    {"epoch", m.lease->epoch},
                    {"sequence", m.lease->sequence}};
  }
  // Only where they are: digests of records from before there was such a thing are for ever.
  if (m.untuned) out["untuned"] = true;
  if (m.interleaved) out["match"] = interleaved_json(*m.interleaved);
  return out;
}

}  // namespace

std::string to_json(const Measurement& m) {
  return json_text(json_of(m));
}

std::string to_json(const NetworkVerdict& verdict) {
  json kernels = json::array();
  for (const Digest& key : verdict.kernels) kernels.push_back(key.hex());
  return json_text(json{{"type", "network_verdict"},
                        {"key", verdict.key.hex()},
                        {"device_class", verdict.device_class},
                        {"target", verdict.target},
                        {"threads", verdict.threads},
                        {"takes", takes_name(verdict.takes)},
                        {"name", verdict.name},
                        {"why", verdict.why},
                        {"numerics", verdict.numerics},
                        {"kernels", std::move(kernels)},
                        {"decided_unix_ns", verdict.decided_unix_ns}});
}

std::string to_json_with_bounds(const Measurement& m) {
  json out = json_of(m);
  if (const std::optional<double> median = m.median_ns()) out["median_ns"] = *median;
  if (const std::optional<Interval> bounds = m.interval_ns())
    out["interval_ns"] = {bounds->low_ns, bounds->high_ns};
  return json_text(out);
}

absl::StatusOr<JsonLine> parse_json_line(std::string_view line) {
  try {
    const json in = json::parse(line);
    const std::string type = in.at("type").get<std::string>();
    if (type == "tunefarm-records") {
      TF_ASSIGN_OR_RETURN(const int64_t version, whole(in.at("version"), "version", 1, INT32_MAX));
      return JsonHeader{static_cast<int>(version)};
    }
    if (type == "workload") return parse_workload(in);
    if (type == "measurement" && in.at("cache_mode") == "network") return JsonNetworkTime{};
    if (type == "measurement") return parse_measurement(in);
    if (type == "network_verdict") return parse_verdict(in);
    return absl::InvalidArgumentError(absl::StrCat("there is no record type \"", type, "\""));
  } catch (const json::parse_error&) {
    return absl::InvalidArgumentError("not a record: the line is not JSON as `tuner export` writes it");
  } catch (const json::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat("not a record: ", json_fault(error)));
  }
}

Digest record_digest(const Measurement& measurement) {
  return sha256(to_json(measurement));
}

}  // namespace tf::database
