// What a program that runs makes of changes to the files of its --tls folder.

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "base/files/file.h"
#include "base/files/temporary_folder.h"
#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/connection/channel.h"
#include "rpc/identity/credentials.h"
#include "tests/support/captured_log.h"
#include "tests/unit/tracker/prepared_grpc.h"
#include "tracker/ca/authority.h"
#include "tracker/ca/members.h"
#include "tracker/ca/own_certificate.h"

namespace tf::tracker {
namespace {

using rpc::Role;

class ChangedCredentialsTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(Authority::make(dir_.file("ca"), rpc::real_wall_clock().now()).ok());
    members_ = *Members::open(dir_.file("ca"));
    server_credentials_ = member({Role::kTracker, "tracker"});
    client_credentials_ = member({Role::kViewer, "eve"});
    grpc::ServerBuilder builder;
    builder.RegisterService(&service_);
    builder.AddListeningPort("127.0.0.1:0", server_credentials_->server(), &port_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
  }

  std::shared_ptr<rpc::Credentials> member(const rpc::Identity& identity) {
    EXPECT_TRUE(make_member(*members_, dir_.file(identity.name), identity).ok());
    auto credentials = rpc::Credentials::load(dir_.file(identity.name));
    EXPECT_TRUE(credentials.ok()) << credentials.status();
    return *credentials;
  }

  // By a new connection: the service knows no method, so who hears that was let in.
  grpc::StatusCode call() const {
    const auto stub = tunefarm::farm::v1::Operators::NewStub(
        rpc::make_channel({"127.0.0.1", static_cast<uint16_t>(port_)}, client_credentials_, Role::kTracker));
    grpc::ClientContext context;
    rpc::set_deadline(context, absl::Seconds(30));
    tunefarm::farm::v1::ListDevicesReply reply;
    return stub->ListDevices(&context, {}, &reply).error_code();
  }

  // In place, as a full disk leaves it, with the mode that it has.
  static void overwrite(const std::string& file, const std::string& bytes) { std::ofstream(file) << bytes; }

  static bool wait_until(const std::function<bool()>& is_true) {
    for (int i = 0; i < 3000 && !is_true(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return is_true();
  }

  const TemporaryFolder dir_ = *TemporaryFolder::make();
  const CapturedLog log_;
  std::unique_ptr<Members> members_;
  tunefarm::farm::v1::Operators::Service service_;
  std::shared_ptr<rpc::Credentials> server_credentials_, client_credentials_;
  int port_ = 0;  // gRPC writes it
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(ChangedCredentialsTest, FilesThatAreDamagedChangeNothingButTheLog) {
  ASSERT_EQ(call(), grpc::StatusCode::UNIMPLEMENTED);
  const std::string garbage = "-----BEGIN CERTIFICATE-----\nbad\n-----END CERTIFICATE-----\n";
  const rpc::IdentityFiles files = rpc::identity_files(dir_.file("tracker"));
  for (const auto& [file, bad] : {std::pair(files.key, garbage), {files.ca, ""}, {files.certificate, ""}}) {
    const std::string good = *read_file(file);
    overwrite(file, bad);
    const std::string line = file + " is damaged";
    EXPECT_TRUE(wait_until([&] { return log_.count(line) > 0; })) << log_.text();
    EXPECT_TRUE(absl::IsDataLoss(rpc::Credentials::load(dir_.file("tracker")).status()));
    if (file == files.certificate) break;
    overwrite(file, good);
  }
  std::this_thread::sleep_for(absl::ToChronoMilliseconds(rpc::Credentials::kReloadEvery));
  EXPECT_EQ(call(), grpc::StatusCode::UNIMPLEMENTED);
  std::filesystem::remove(files.certificate);
  EXPECT_TRUE(wait_until([&] { return log_.count("holds no certificate") == 1; })) << log_.text();
  EXPECT_EQ(call(), grpc::StatusCode::UNIMPLEMENTED);
}

// Each time that it happens, and the way back, too.
TEST_F(ChangedCredentialsTest, PipeInPlaceOfAFileIsNotWaitedFor) {
  const std::string file = rpc::identity_files(dir_.file("tracker")).certificate, good = *read_file(file);
  for (int time = 1; time <= 2; ++time) {
    std::filesystem::remove(file);
    ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
    EXPECT_TRUE(wait_until([&] { return log_.count("it is not a regular file") == time; })) << log_.text();
    std::filesystem::remove(file);
    overwrite(file, good);
    EXPECT_TRUE(wait_until([&] { return log_.count("can be used again") == time; })) << log_.text();
  }
  EXPECT_EQ(call(), grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(ChangedCredentialsTest, CertificateThatAnotherProgramRenewedIsShown) {
  const auto renewed = members_->renew(client_credentials_->certificate(),
                                       rpc::make_certificate_request(client_credentials_->key(), "eve"));
  ASSERT_TRUE(renewed.ok()) << renewed.status();
  ASSERT_TRUE(rpc::save_member(dir_.file("eve"), *renewed, members_->ca(), "").ok());
  EXPECT_TRUE(wait_until([&] { return client_credentials_->certificate().serial() == renewed->serial(); }));
  EXPECT_EQ(call(), grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(ChangedCredentialsTest, AnotherMembersFilesWaitForARestart) {
  ASSERT_TRUE(make_member(*members_, dir_.file("ada"), {Role::kViewer, "ada"}).ok());
  const std::string first = client_credentials_->certificate().serial();
  for (const char* file : {"key.pem", "cert.pem"})
    overwrite(dir_.file("eve") + "/" + file, *read_file(dir_.file("ada") + "/" + file));
  EXPECT_TRUE(wait_until([&] { return log_.count("restart the program to use them") > 0; })) << log_.text();
  EXPECT_EQ(client_credentials_->certificate().serial(), first);
}

}  // namespace
}  // namespace tf::tracker
