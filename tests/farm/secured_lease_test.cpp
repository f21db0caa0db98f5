// Whose a lease is, and what an agent loads, where nobody is believed for what they say.

#include <algorithm>
#include <array>
#include <future>

#include "base/digest.h"
#include "device_agent/agent/slots/exclusive_execution.h"
#include "device_agent/agent/trials/artifact_fetcher.h"
#include "device_agent/agent/trials/trial_runner.h"
#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/connection/grpc_status.h"
#include "rpc/connection/protocol.h"
#include "rpc/identity/artifact_signature.h"
#include "tests/farm/agent_thread.h"
#include "tests/farm/fake_executor.h"
#include "tests/farm/secured_farm.h"

namespace tf::farm_test {
namespace {

namespace pb = tunefarm::farm::v1;
using pb::Trial;
using testing::HasSubstr;

std::unique_ptr<pb::Tuners::Stub> tuners(const rpc::Endpoint& tracker,
                                         const std::shared_ptr<Credentials>& who) {
  return pb::Tuners::NewStub(rpc::make_channel(tracker, who, Role::kTracker));
}

pb::LeaseName name_of(const FarmRunner& runner) {
  pb::LeaseName name;
  name.set_lease_id(runner.leased_device().lease_id);
  name.set_epoch(runner.leased_device().epoch);
  return name;
}

// How a stream of trials of this lease ends that is only begun.
absl::Status end_of_stream(pb::Tuners::Stub& stub, const pb::LeaseName& lease) {
  grpc::ClientContext context;
  rpc::set_deadline(context, absl::Seconds(10));
  const auto stream = stub.Measure(&context);
  pb::MeasureRequest hello;
  hello.mutable_hello()->set_protocol_version(rpc::kProtocolVersion);
  *hello.mutable_hello()->mutable_lease() = lease;
  stream->Write(hello);
  pb::MeasureReply reply;
  while (stream->Read(&reply)) {
  }
  return rpc::from_grpc(stream->Finish());
}

TEST_F(SecuredFarm, LeaseIsItsHoldersAlone) {
  AgentThread agent(options(member(Role::kAgent, "box-1")));
  const auto ada = member(Role::kTuner, "ada");
  const auto eve = member(Role::kTuner, "eve");
  const auto runner = connect(ada);
  ASSERT_TRUE(runner.ok()) << runner.status();
  const pb::LeaseName lease = name_of(**runner);
  const auto renew = [&](const std::shared_ptr<Credentials>& who) {
    grpc::ClientContext context;
    pb::LeaseGrant grant;
    return rpc::from_grpc(tuners(endpoint(), who)->RenewLease(&context, lease, &grant));
  };
  EXPECT_TRUE(absl::IsPermissionDenied(renew(eve))) << renew(eve);
  grpc::ClientContext releasing;
  pb::ReleaseLeaseReply released;
  const absl::Status release =
      rpc::from_grpc(tuners(endpoint(), eve)->ReleaseLease(&releasing, lease, &released));
  EXPECT_TRUE(absl::IsPermissionDenied(release)) << release;
  EXPECT_THAT(std::string(release.message()), HasSubstr("is not held by eve"));
  const absl::Status measured = end_of_stream(*tuners(endpoint(), eve), lease);
  EXPECT_TRUE(absl::IsPermissionDenied(measured)) << measured;
  EXPECT_TRUE(renew(ada).ok()) << renew(ada);
  const auto is_audited = [&](const std::string& method) {
    const std::string line =
        absl::StrCat("{\"method\":\"Tuners/", method, "\",\"object\":\"\",\"outcome\":\"PERMISSION_DENIED");
    for (int i = 0; i < 500; ++i) {
      if (audit().find(line) != std::string::npos) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  };
  for (const char* method : {"RenewLease", "ReleaseLease", "Measure"})
    EXPECT_TRUE(is_audited(method)) << method;
  const Trial trial;
  EXPECT_TRUE((*runner)->run(request(trial, "candidate")).ok());
}

TEST_F(SecuredFarm, LeaseOnBehalfOfAPersonIsItsTunersToUseAndThePersonsToAccountFor) {
  AgentThread agent(listening(member(Role::kAgent, "box-1")));
  const auto lab = member(Role::kTuner, "lab");
  ASSERT_TRUE(connect(lab).ok()) << "the agent has registered";
  const auto runner = FarmRunner::connect({.tracker = endpoint(),
                                           .credentials = lab,
                                           .device_key = "box",
                                           .on_behalf_of = "alice",
                                           .first_wait = absl::Seconds(5)});
  ASSERT_TRUE(runner.ok()) << runner.status();
  EXPECT_TRUE((*runner)->is_direct());
  const Trial trial;
  const auto result = (*runner)->run(request(trial, "candidate"));
  EXPECT_TRUE(result.ok()) << result.status();
  const auto stub = pb::Operators::NewStub(rpc::make_channel(endpoint(), admin_, Role::kTracker));
  grpc::ClientContext context;
  pb::ListDevicesReply listed;
  ASSERT_TRUE(stub->ListDevices(&context, pb::ListDevicesRequest(), &listed).ok());
  EXPECT_EQ(listed.devices(0).slots(0).user(), "alice");
  EXPECT_THAT(listed.devices(0).slots(0).holder(), testing::StartsWith("lab:"));
  EXPECT_THAT(listed.devices(0).agent_address(), testing::StartsWith("127.0.0.1:"));
  daemon_ = nullptr;  // all of the log is on the disk
  EXPECT_THAT(audit(),
              HasSubstr("\"method\":\"Tuners/AcquireLease\",\"object\":\"box/alice\",\"outcome\":\"OK\""));
}

TEST_F(SecuredFarm, AUserLeasesNoDeviceInAnybodysName) {
  AgentThread agent(options(member(Role::kAgent, "box-1")));
  const auto refused = FarmRunner::connect({.tracker = endpoint(),
                                            .credentials = member(Role::kUser, "eve"),
                                            .device_key = "box",
                                            .on_behalf_of = "alice",
                                            .first_wait = absl::Seconds(5)})
                           .status();
  EXPECT_THAT(std::string(refused.message()), HasSubstr("user eve may not call Tuners/AcquireLease"));
}

TEST_F(SecuredFarm, RevokedHoldersLeaseIsFreeForTheNextAtOnce) {
  AgentThread agent(options(member(Role::kAgent, "box-1")));
  const auto eve = member(Role::kTuner, "eve");
  const auto revoked = connect(member(Role::kTuner, "ada"));
  ASSERT_TRUE(revoked.ok()) << revoked.status();
  ASSERT_TRUE(tracker::revoke_member({endpoint(), admin_}, "tuner/ada").ok());
  const auto next = connect(eve);  // which waits for less than the lease's term
  EXPECT_TRUE(next.ok()) << next.status();
}

TEST_F(SecuredFarm, UploadsOfOneTunerPushOutNothingThatAnotherHasPut) {
  start(absl::Hours(1), 10'000);
  const auto ada = tuners(endpoint(), member(Role::kTuner, "ada"));
  const auto eve = tuners(endpoint(), member(Role::kTuner, "eve"));
  const auto upload = [](pb::Tuners::Stub& stub, const std::string& bytes) {
    grpc::ClientContext context;
    rpc::set_deadline(context, absl::Seconds(10));
    pb::UploadArtifactReply reply;
    const auto writer = stub.UploadArtifact(&context, &reply);
    pb::ArtifactChunk chunk;
    chunk.set_digest(sha256(bytes).hex());
    chunk.set_size_bytes(bytes.size());
    chunk.set_content(bytes);
    writer->Write(chunk);
    writer->WritesDone();
    const absl::Status status = rpc::from_grpc(writer->Finish());
    EXPECT_TRUE(status.ok()) << status;
  };
  const std::string hers(2000, 'x');
  upload(*ada, hers);
  for (char each = 'a'; each <= 'j'; ++each) upload(*eve, std::string(2000, each));
  grpc::ClientContext context;
  rpc::set_deadline(context, absl::Seconds(10));
  pb::FindMissingArtifactsRequest asked;
  for (const std::string& bytes : {hers, std::string(2000, 'a')}) asked.add_digests(sha256(bytes).hex());
  pb::FindMissingArtifactsReply reply;
  const absl::Status status = rpc::from_grpc(ada->FindMissingArtifacts(&context, asked, &reply));
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(reply.missing(), testing::ElementsAre(sha256(std::string(2000, 'a')).hex()));
}

TEST_F(SecuredFarm, UploadsOfOneTunerLeaveOthersMemoryForTheirs) {
  const auto ada = tuners(endpoint(), member(Role::kTuner, "ada"));
  const auto eve = tuners(endpoint(), member(Role::kTuner, "eve"));
  struct Upload {
    grpc::ClientContext context;
    pb::UploadArtifactReply reply;
    std::future<absl::Status> end;
  };
  // Of which no more comes.
  const auto announce = [](pb::Tuners::Stub& stub, Upload& upload) {
    rpc::set_deadline(upload.context, absl::Seconds(60));
    auto writer = stub.UploadArtifact(&upload.context, &upload.reply);
    pb::ArtifactChunk chunk;
    chunk.set_digest(sha256("never").hex());
    chunk.set_size_bytes(rpc::kMaxArtifactBytes);
    writer->Write(chunk);
    return writer;
  };
  std::array<Upload, 3> of_eve;
  for (Upload& each : of_eve) {
    each.end = std::async(std::launch::async, [&] { return rpc::from_grpc(announce(*eve, each)->Finish()); });
  }
  const auto is_ended = [](const Upload& each) {
    return each.end.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  };
  Upload* refused = nullptr;
  for (int i = 0; i < 1000 && !refused; ++i) {
    const auto ended = std::ranges::find_if(of_eve, is_ended);
    if (ended != of_eve.end()) refused = &*ended;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  Upload of_ada;
  const auto hers = announce(*ada, of_ada);
  hers->WritesDone();
  const absl::Status incomplete = rpc::from_grpc(hers->Finish());
  EXPECT_TRUE(absl::IsInvalidArgument(incomplete)) << "there was room for it: " << incomplete;
  for (Upload& each : of_eve) each.context.TryCancel();
  ASSERT_NE(refused, nullptr);
  const absl::Status status = refused->end.get();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("more than 512 MiB from eve"));
}

TEST_F(SecuredFarm, LeasesAreNamedOnlyToWhoMayUseThem) {
  AgentThread agent(options(member(Role::kAgent, "box-1")));
  const auto ada = member(Role::kTuner, "ada");
  const auto runner = connect(ada);
  ASSERT_TRUE(runner.ok()) << runner.status();
  const auto listed = [&](const std::shared_ptr<Credentials>& who) {
    const auto stub = pb::Operators::NewStub(rpc::make_channel(endpoint(), who, Role::kTracker));
    grpc::ClientContext context;
    pb::ListDevicesReply reply;
    EXPECT_TRUE(stub->ListDevices(&context, pb::ListDevicesRequest(), &reply).ok());
    const pb::Slot& slot = reply.devices(0).slots(0);
    EXPECT_TRUE(slot.has_lease()) << "that the slot is leased is no secret, nor to whom";
    EXPECT_THAT(slot.holder(), testing::StartsWith("ada:"));
    return slot.lease().lease_id();
  };
  const std::string id = (*runner)->leased_device().lease_id;
  for (const auto& who : {ada, admin_, member(Role::kDeviceOwner, "olga")}) EXPECT_EQ(listed(who), id);
  for (const auto& who : {member(Role::kTuner, "eve"), member(Role::kViewer, "ada-2")})
    EXPECT_EQ(listed(who), "");
}

TEST_F(SecuredFarm, AgentServesALeaseDirectlyToItsHolderAlone) {
  AgentThread agent(listening(member(Role::kAgent, "box-1")));
  const auto runner = connect(member(Role::kTuner, "ada"));
  ASSERT_TRUE(runner.ok()) << runner.status();
  ASSERT_TRUE((*runner)->is_direct());
  const auto eve = pb::Tuners::NewStub(
      rpc::make_channel(*agent.agent().endpoint(), member(Role::kTuner, "eve"), Role::kAgent));
  const absl::Status measured = end_of_stream(*eve, name_of(**runner));
  EXPECT_TRUE(absl::IsPermissionDenied(measured)) << measured;
  grpc::ClientContext context;
  pb::FindMissingArtifactsRequest request;
  *request.mutable_lease() = name_of(**runner);
  pb::FindMissingArtifactsReply reply;
  const absl::Status found = rpc::from_grpc(eve->FindMissingArtifacts(&context, request, &reply));
  EXPECT_TRUE(absl::IsPermissionDenied(found)) << found;
  const Trial trial;
  EXPECT_TRUE((*runner)->run(farm_test::request(trial, "candidate")).ok());
  EXPECT_TRUE((*runner)->is_direct()) << "nothing of that ended her stream";
}

TEST_F(SecuredFarm, AnotherAgentAtTheDevicesAddressGetsNoTrials) {
  agent::AgentOptions impostor = listening(member(Role::kAgent, "box-2"));
  impostor.key = "other";
  impostor.state_dir = dir_.file("b");
  AgentThread two(std::move(impostor));
  agent::AgentOptions leased = listening(member(Role::kAgent, "box-1"));
  leased.advertise = two.agent().endpoint()->text();  // as who took over the address
  AgentThread one(std::move(leased));
  const auto runner = connect(member(Role::kTuner, "ada"));
  ASSERT_TRUE(runner.ok()) << runner.status();
  EXPECT_EQ((*runner)->leased_device().device_id, "box-1");
  EXPECT_FALSE((*runner)->is_direct());
  const Trial trial;
  const auto result = (*runner)->run(request(trial, "candidate"));
  ASSERT_TRUE(result.ok()) << result.status();
}

TEST_F(SecuredFarm, AgentLoadsNothingThatNobodyHasSigned) {
  rpc::ArtifactVerifier verifier(member(Role::kAgent, "box-1"));
  FakeExecutor executor(std::chrono::milliseconds(0), dir_.file("runs"));
  agent::ArtifactFetcher fetcher(nullptr, *rpc::ArtifactStore::open(dir_.file("cache"), 1 << 20));
  Trial trial;
  trial.set_artifact_digest(sha256("candidate").hex());
  const agent::StartedTrial started{.lease = {"l", 1}, .trial = {1, trial.SerializeAsString()}};
  tunefarm::farm::v1::MeasureReply reply;
  agent::ExclusiveExecution exclusive_execution;
  const agent::TrialMeans means{.fetcher = fetcher,
                                .executor = executor,
                                .exclusive_execution = exclusive_execution,
                                .verifier = &verifier};
  ASSERT_TRUE(reply.ParseFromString(*agent::measure(started, means, {})));
  EXPECT_EQ(reply.failure().kind(), tunefarm::farm::v1::FAILURE_KIND_REFUSED);
  EXPECT_THAT(reply.failure().message(), HasSubstr("it is not signed"));
  EXPECT_TRUE(lines_of(dir_.file("runs")).empty());
}

TEST_F(SecuredFarm, AgentLoadsNothingMoreThatARevokedMemberHasSigned) {
  AgentThread agent(options(member(Role::kAgent, "box-1")));
  const auto ada = member(Role::kTuner, "ada");
  const auto runner = connect(ada);
  ASSERT_TRUE(runner.ok()) << runner.status();
  const Trial trial;
  ASSERT_TRUE((*runner)->run(request(trial, "candidate")).ok());
  agent.agent().set_revoked({ada->certificate().serial()});
  const absl::Status refused = (*runner)->run(request(trial, "candidate")).status();
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("is revoked"));
}

}  // namespace
}  // namespace tf::farm_test
