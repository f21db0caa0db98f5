#include "rpc/access/access_table.h"

#include <map>

namespace tf::rpc {
namespace {

using enum Role;

const std::vector<Role> kEveryRole = {kViewer, kUser, kTuner, kDeviceOwner, kAgent, kBuild, kAdmin};
const std::vector<Role> kOwners = {kDeviceOwner, kAdmin};
const std::vector<Role> kSubmitters = {kUser, kTuner, kDeviceOwner, kAdmin};
const std::vector<Role> kPeople = {kViewer, kUser, kTuner, kDeviceOwner, kBuild, kAdmin};
// Who may have a token of HTTP.
const std::vector<Role> kPersons = {kViewer, kUser, kDeviceOwner, kBuild, kAdmin};

const std::vector<AccessRule>& rules() {
  static const std::vector<AccessRule> table = {
      // The way in. A joiner has only its token.
      {.method = "/tunefarm.identity.v1.Members/Join",
       .anyone = true},  // audits itself: who is known after it
      {.method = "/tunefarm.identity.v1.Members/Renew", .roles = kEveryRole, .audited = "", .routine = true},
      {.method = "/tunefarm.identity.v1.Members/IssueToken",
       .roles = {kAdmin},
       .audited = "role/name",
       .audited_reply = "id"},
      {.method = "/tunefarm.identity.v1.Members/ListTokens", .roles = {kAdmin}},
      {.method = "/tunefarm.identity.v1.Members/RevokeToken", .roles = {kAdmin}, .audited = "id"},
      {.method = "/tunefarm.identity.v1.Members/Revoke",
       .roles = {kAdmin},
       .audited = "name",
       .revokes = true},
      {.method = "/tunefarm.identity.v1.Members/ListMembers", .roles = {kAdmin}},
      {.method = "/tunefarm.identity.v1.Members/ListRevoked", .roles = kEveryRole},

      // The tracker's.
      {.method = "/tunefarm.farm.v1.Agents/Synchronize", .roles = {kAgent}},
      {.method = "/tunefarm.farm.v1.Agents/FetchArtifact", .roles = {kAgent}},
      {.method = "/tunefarm.farm.v1.Agents/Describe", .roles = kEveryRole},
      {.method = "/tunefarm.farm.v1.Tuners/AcquireLease",
       .roles = {kTuner},
       .audited = "device_key/on_behalf_of",
       .routine = true},
      {.method = "/tunefarm.farm.v1.Tuners/RenewLease", .roles = {kTuner}},
      {.method = "/tunefarm.farm.v1.Tuners/ReleaseLease", .roles = {kTuner}},
      {.method = "/tunefarm.farm.v1.Tuners/FindMissingArtifacts", .roles = {kTuner, kBuild}},
      {.method = "/tunefarm.farm.v1.Tuners/UploadArtifact", .roles = {kTuner, kBuild}},
      {.method = "/tunefarm.farm.v1.Tuners/Measure", .roles = {kTuner}},
      {.method = "/tunefarm.farm.v1.Operators/ListDevices", .roles = kPeople},
      {.method = "/tunefarm.farm.v1.Operators/SetAdmission", .roles = kOwners, .audited = "device_id"},
      {.method = "/tunefarm.farm.v1.Operators/ReadmitDevice", .roles = kOwners, .audited = "device_id"},
      {.method = "/tunefarm.farm.v1.Operators/ForgetDevice", .roles = kOwners, .audited = "device_id"},
      {.method = "/tunefarm.farm.v1.Operators/PardonCandidate",
       .roles = kOwners,
       .audited = "candidate_digest"},
      {.method = "/tunefarm.farm.v1.Operators/Reserve", .roles = kOwners, .audited = "user"},
      {.method = "/tunefarm.farm.v1.Operators/Unreserve", .roles = kOwners, .audited = "id"},
      {.method = "/tunefarm.farm.v1.Operators/ListReservations", .roles = kPeople},
      {.method = "/tunefarm.farm.v1.Operators/ListWaiting", .roles = kPeople},
      {.method = "/tunefarm.farm.v1.Operators/ForceRelease", .roles = kOwners, .audited = "name"},

      // The tuner's.
      {.method = "/tunefarm.tune.v1.Tuner/Submit",
       .roles = {kUser, kTuner, kAdmin},
       .audited = "spec.model_name",
       .audited_reply = "job_id"},
      {.method = "/tunefarm.tune.v1.Tuner/ListJobs", .roles = kPeople},
      {.method = "/tunefarm.tune.v1.Tuner/WatchJob", .roles = kPeople},
      // Users and tuners: their own jobs only (tuner/service/jobs/job_access.h).
      {.method = "/tunefarm.tune.v1.Tuner/CancelJob", .roles = kSubmitters, .audited = "job_id"},
      {.method = "/tunefarm.tune.v1.Tuner/PauseJob", .roles = kSubmitters, .audited = "job_id"},
      {.method = "/tunefarm.tune.v1.Tuner/ResumeJob", .roles = kSubmitters, .audited = "job_id"},
      {.method = "/tunefarm.tune.v1.Records/Best", .roles = kPeople},
      {.method = "/tunefarm.tune.v1.Records/FindWorkload", .roles = kPeople},
      {.method = "/tunefarm.tune.v1.Records/ListWorkloads", .roles = kPeople},
      {.method = "/tunefarm.tune.v1.Records/ListProblems", .roles = kPeople},
      {.method = "/tunefarm.tune.v1.Records/Scan", .roles = kPeople},
      {.method = "/tunefarm.tune.v1.Records/FindRecord", .roles = kPeople},
      {.method = "/tunefarm.tune.v1.Records/IsMeasured", .roles = kPeople},
      {.method = "/tunefarm.tune.v1.Records/ListVerdicts", .roles = kPeople},
      {.method = "/tunefarm.tune.v1.Reports/DescribeJob", .roles = kPeople},
      {.method = "/tunefarm.tune.v1.Reports/ListKernels", .roles = kPeople},
      {.method = "/tunefarm.tune.v1.Reports/DescribeKernel", .roles = kPeople},
      {.method = "/tunefarm.tune.v1.Reports/ListCandidates", .roles = kPeople},
      {.method = "/tunefarm.tune.v1.Reports/DescribeCandidate", .roles = kPeople},
      {.method = "/tunefarm.tune.v1.Reports/ShowProgram", .roles = kPeople},
      {.method = "/tunefarm.tune.v1.Reports/DescribeNetwork", .roles = kPeople},
      {.method = "/tunefarm.tune.v1.Tokens/Issue",
       .roles = kPersons,
       .audited = "role/name",
       .audited_reply = "about.id"},
      {.method = "/tunefarm.tune.v1.Tokens/List", .roles = kPersons},
      {.method = "/tunefarm.tune.v1.Tokens/Revoke", .roles = kPersons, .audited = "id"},

      // Every server's.
      {.method = "/grpc.health.v1.Health/Check", .roles = kEveryRole},
      {.method = "/grpc.health.v1.Health/Watch", .roles = kEveryRole},
      {.method = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", .roles = kPeople},
  };
  return table;
}

}  // namespace

std::span<const AccessRule> access_table() {
  return rules();
}

const AccessRule* find_rule(std::string_view method) {
  static const std::map<std::string_view, const AccessRule*> by_method = [] {
    std::map<std::string_view, const AccessRule*> result;
    for (const AccessRule& rule : rules()) result[rule.method] = &rule;
    return result;
  }();
  const auto found = by_method.find(method);
  return found == by_method.end() ? nullptr : found->second;
}

}  // namespace tf::rpc
