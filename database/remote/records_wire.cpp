#include "database/remote/records_wire.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "database/record_json.h"

namespace tf::remote {

namespace pb = tunefarm::tune::v1;

pb::KernelKey to_proto(const tensor::KernelKey& key) {
  pb::KernelKey out;
  out.set_workload(key.workload.hex());
  out.set_binding(key.binding);
  for (const std::string& layout : key.in_layouts) out.add_in_layouts(layout);
  for (const std::string& layout : key.out_layouts) out.add_out_layouts(layout);
  out.set_target(key.target);
  out.set_threads(key.threads);
  out.set_reuse_distance_bytes(key.reuse_distance_bytes);
  return out;
}

pb::BestRequest to_proto(const database::BestQuery& query, size_t limit) {
  pb::BestRequest out;
  *out.mutable_kernel() = to_proto(query.problem);
  if (query.device_class) out.set_device_class(*query.device_class);
  for (const std::string& name : query.allowed_numerics) out.add_allowed_numerics(name);
  if (query.semantics_version) out.set_semantics_version(*query.semantics_version);
  out.set_limit(static_cast<uint32_t>(limit));
  if (query.schedule) out.set_schedule(*query.schedule);
  out.set_only_untuned(query.of == database::BestQuery::Of::kUntuned);
  return out;
}

pb::ScanRequest to_proto(const database::Filter& filter) {
  pb::ScanRequest out;
  if (filter.workload) out.set_workload(filter.workload->hex());
  if (filter.problem) *out.mutable_kernel() = to_proto(*filter.problem);
  if (filter.job_id) out.set_job_id(*filter.job_id);
  out.set_only_standing(filter.which != database::Filter::Which::kAll);
  out.set_only_ok(filter.which == database::Filter::Which::kOk);
  return out;
}

absl::StatusOr<tensor::KernelKey> from_proto(const pb::KernelKey& key) {
  TF_ASSIGN_OR_RETURN(Digest workload, Digest::from_hex(key.workload()));
  return tensor::KernelKey{.workload = {workload},
                           .binding = key.binding(),
                           .in_layouts = {key.in_layouts().begin(), key.in_layouts().end()},
                           .out_layouts = {key.out_layouts().begin(), key.out_layouts().end()},
                           .target = key.target(),
                           .threads = key.threads(),
                           .reuse_distance_bytes = key.reuse_distance_bytes()};
}

absl::StatusOr<database::BestQuery> from_proto(const pb::BestRequest& request) {
  database::BestQuery query;
  TF_ASSIGN_OR_RETURN(query.problem, from_proto(request.kernel()));
  if (request.has_device_class()) query.device_class = request.device_class();
  query.allowed_numerics.assign(request.allowed_numerics().begin(), request.allowed_numerics().end());
  if (request.has_semantics_version()) query.semantics_version = request.semantics_version();
  if (request.has_schedule()) query.schedule = request.schedule();
  if (request.only_untuned()) query.of = database::BestQuery::Of::kUntuned;
  if (request.limit() == 0) return absl::InvalidArgumentError("a best request needs a limit of at least 1");
  return query;
}

absl::StatusOr<database::Filter> from_proto(const pb::ScanRequest& request) {
  database::Filter filter;
  if (request.has_workload()) {
    TF_ASSIGN_OR_RETURN(Digest key, Digest::from_hex(request.workload()));
    filter.workload = Digest{key};
  }
  if (request.has_kernel()) {
    TF_ASSIGN_OR_RETURN(filter.problem, from_proto(request.kernel()));
  }
  if (request.has_job_id()) filter.job_id = request.job_id();
  if (request.only_standing()) filter.which = database::Filter::Which::kStanding;
  if (request.only_ok()) filter.which = database::Filter::Which::kOk;
  return filter;
}

namespace {

std::string_view name_of(const database::Measurement&) {
  return "measurement";
}
std::string_view name_of(const database::Workload&) {
  return "workload";
}
std::string_view name_of(const database::NetworkVerdict&) {
  return "verdict";
}

}  // namespace

template <typename Record>
absl::StatusOr<std::vector<Record>> records_of(const pb::RecordLines& lines) {
  std::vector<Record> records;
  for (const std::string& line : lines.lines()) {
    TF_ASSIGN_OR_RETURN(database::JsonLine read, database::parse_json_line(line));
    if (std::holds_alternative<database::JsonNetworkTime>(read)) continue;  // of an older tuner
    auto* record = std::get_if<Record>(&read);
    if (!record) {
      return absl::DataLossError(
          absl::StrCat("the tuner sent a record that is not a ", std::string(name_of(Record()))));
    }
    records.push_back(std::move(*record));
  }
  return records;
}

template absl::StatusOr<std::vector<database::Measurement>> records_of(const pb::RecordLines&);
template absl::StatusOr<std::vector<database::Workload>> records_of(const pb::RecordLines&);
template absl::StatusOr<std::vector<database::NetworkVerdict>> records_of(const pb::RecordLines&);

}  // namespace tf::remote
