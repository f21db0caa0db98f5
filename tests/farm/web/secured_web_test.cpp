// HTTP of a secured tuner: who may do what by which token.

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "base/files/file.h"
#include "proto/tune/v1/token.grpc.pb.h"
#include "rpc/access/access_table.h"
#include "rpc/access/bearer_tokens.h"
#include "rpc/connection/grpc_status.h"
#include "tests/farm/secured_farm.h"
#include "tests/farm/web/served_web.h"
#include "tracker/ca/member_client.h"
#include "tuner/web/gateway/routes.h"

namespace tf::farm_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using Fields = std::map<std::string, std::string>;
namespace pb = tunefarm::tune::v1;

Fields bearer(const std::string& token) {
  return {{"Authorization", "Bearer " + token}};
}

class SecuredWeb : public SecuredFarm {
 protected:
  void SetUp() override {
    SecuredFarm::SetUp();
    tuner_ = member(Role::kTuner, "tuner");
    served_ = std::make_unique<ServedWeb>(dir_.path(), endpoint(), tuner_);
  }
  void TearDown() override { served_ = nullptr; }

  HttpClient client() { return HttpClient(served_->web().endpoint(), tuner_->ca().pem()); }

  absl::StatusOr<std::string> issue(const std::shared_ptr<Credentials>& as, const std::string& role,
                                    const std::string& name = "", uint32_t seconds = 0) {
    const auto stub =
        pb::Tokens::NewStub(rpc::make_channel(served_->daemon().endpoint(), as, rpc::Role::kTuner));
    grpc::ClientContext context;
    rpc::set_deadline(context, absl::Seconds(20));
    pb::IssueBearerTokenRequest request;
    request.set_role(role);
    request.set_name(name);
    request.set_valid_seconds(seconds);
    pb::IssueBearerTokenReply reply;
    const absl::Status status = rpc::from_grpc(stub->Issue(&context, request, &reply));
    if (!status.ok()) return status;
    return reply.token();
  }

  int status_of(const std::string& token, const std::string& target = "/api/v1/session") {
    return client().get(target, bearer(token)).status;
  }

  std::shared_ptr<Credentials> tuner_;
  std::unique_ptr<ServedWeb> served_;
};

TEST_F(SecuredWeb, EveryPathAnswersEveryRoleAsTheAccessTableSays) {
  int refused = 0, answered = 0;
  for (const std::string role_text : {"viewer", "user", "device-owner", "build", "admin"}) {
    const Role role = *rpc::parse_role(role_text);
    const auto token = issue(admin_, role_text, "m-" + role_text);
    ASSERT_TRUE(token.ok()) << token.status();
    HttpClient to = client();
    for (const web::Route& route : web::routes()) {
      const bool may = std::ranges::find(route.rule->roles, role) != route.rule->roles.end();
      // An empty message mostly is a mistake; but never is it the caller who is refused.
      for (const bool by_get : {false, true}) {
        if (by_get && !route.is_read()) continue;
        Fields fields = bearer(*token);
        if (route.takes_model) fields["Content-Type"] = "application/octet-stream";
        const HttpReply reply = by_get ? to.get(route.path, fields) : to.post(route.path, "{}", fields);
        ASSERT_NE(reply.status, 0) << role_text << " " << route.path;
        const bool is_denied = reply.status == 403 && reply.body.find("may not call") != std::string::npos;
        EXPECT_EQ(is_denied, !may) << role_text << " " << route.path << ": " << reply.status << " "
                                   << reply.body;
        EXPECT_NE(reply.status, 401) << route.path;
        ++(may ? answered : refused);
        const auto connection = reply.fields.find("connection");
        if (connection != reply.fields.end() && connection->second == "close") to = client();
      }
    }
  }
  EXPECT_GT(refused, 8) << "the test looked at too little to mean anything";
  EXPECT_GT(answered, 100);
}

TEST_F(SecuredWeb, NoTokenOrOneThatIsNotGoodIsRefused) {
  const std::string good = *issue(admin_, "viewer", "vic");
  const std::string ended = *issue(admin_, "viewer", "vic", 1);
  EXPECT_EQ(status_of(good), 200);
  EXPECT_EQ(
      json::parse(client().post("/api/v1/Tuner/CancelJob", "{}", bearer(good)).body).at("message"),
      "viewer vic may not call Tuner/CancelJob: that needs the role user, tuner, device-owner or admin");
  const TemporaryFolder elsewhere = *TemporaryFolder::make();
  const auto others = *rpc::BearerTokens::open(elsewhere.file("tokens"));
  const std::string foreign =
      others->issue({Role::kAdmin, "eve"}, absl::Hours(1), admin_->certificate())->text;
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  for (const std::string& token : {ended, foreign, std::string("tft-"), std::string(), good + "0",
                                   good.substr(1), "tft-" + std::string(64, '0')}) {
    const HttpReply reply = client().get("/api/v1/Tuner/ListJobs", bearer(token));
    EXPECT_EQ(reply.status, 401) << reply.body;
    EXPECT_EQ(reply.fields.at("www-authenticate"), "Bearer");
    EXPECT_EQ(json::parse(reply.body).at("code"), "UNAUTHENTICATED");
  }
  for (const web::Route& route : web::routes())
    EXPECT_EQ(client().post(route.path, "{}").status, 401) << route.path;
  EXPECT_EQ(client().get("/api/v1/session").status, 401);
  EXPECT_EQ(client().get("/api/v1/session", {{"Authorization", "Basic " + good}}).status, 401);
  EXPECT_EQ(client().get("/api/v1/session?token=" + good).status, 401) << "a URL is no place for it";
  EXPECT_EQ(client().get("/").status, 200) << "the page itself is for everybody";
  EXPECT_EQ(client().get("/api/v1/openapi.json").status, 200);
  served_ = nullptr;  // all of the audit log is written
  EXPECT_THAT(*read_file(dir_.path() + "/served.db.audit.jsonl.denied"), HasSubstr("\"who\":\"nobody\""));
}

// As behind a proxy, or where somebody left a page open with a token that has ended.
TEST_F(SecuredWeb, AGoodTokenIsHeardWhateverElseComesFromItsAddress) {
  const std::string good = *issue(admin_, "viewer", "vic");
  int exhausted = 0;
  for (int i = 0; i < 80; ++i) exhausted += status_of("tft-" + std::to_string(i)) == 429;
  EXPECT_GT(exhausted, 5);
  EXPECT_EQ(status_of(good), 200);
}

TEST_F(SecuredWeb, SessionSaysWhoTheCallerIs) {
  const json session =
      json::parse(client().get("/api/v1/session", bearer(*issue(admin_, "device-owner", "dan"))).body);
  EXPECT_EQ(session.at("secured"), true);
  EXPECT_EQ(session.at("role"), "device-owner");
  EXPECT_EQ(session.at("name"), "dan");
  EXPECT_GT(session.at("expiresUnixS").get<int64_t>(), 0);
}

TEST_F(SecuredWeb, MembersIssueTokensForThemselvesAndAdminsForOthers) {
  const auto ada = member(Role::kUser, "ada");
  EXPECT_TRUE(issue(ada, "user").ok());
  EXPECT_TRUE(issue(ada, "viewer").ok());
  EXPECT_TRUE(absl::IsPermissionDenied(issue(ada, "admin").status()));
  EXPECT_TRUE(absl::IsPermissionDenied(issue(ada, "user", "bob").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(issue(admin_, "tuner", "t").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(issue(admin_, "viewer", "vic", 8 * 86400).status()));
  // By a token nobody makes another.
  const HttpReply reply =
      client().post("/api/v1/Tokens/Issue", "{\"role\":\"viewer\"}", bearer(*issue(admin_, "admin")));
  EXPECT_EQ(reply.status, 403) << reply.body;
}

TEST_F(SecuredWeb, AJobIsItsSubmittersWhateverTheySay) {
  const std::string ada = *issue(admin_, "user", "ada"), bob = *issue(admin_, "user", "bob"),
                    dan = *issue(admin_, "device-owner", "dan");
  Fields model = bearer(ada);
  model["Content-Type"] = "application/octet-stream";
  const HttpReply submitted = client().post(submit_target(kSpec) + "&submitter=eve", "model", model);
  ASSERT_EQ(submitted.status, 200) << submitted.body;
  const json jobs = json::parse(client().get("/api/v1/Tuner/ListJobs", bearer(bob)).body).at("jobs");
  EXPECT_EQ(jobs.at(0).at("submitter"), "user ada");
  const HttpReply refused = client().post("/api/v1/Tuner/CancelJob", submitted.body, bearer(bob));
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.body, HasSubstr("it is user ada's"));
  EXPECT_EQ(client().post("/api/v1/Tuner/CancelJob", submitted.body, bearer(dan)).status, 200);
  served_ = nullptr;  // all of the audit log is written
  const std::string audit = *read_file(dir_.path() + "/served.db.audit.jsonl");
  EXPECT_THAT(audit, HasSubstr("\"method\":\"Tuner/Submit\",\"object\":\"1 net.onnx\",\"outcome\":\"OK\""));
  EXPECT_THAT(audit, HasSubstr("\"who\":\"user ada\""));
  EXPECT_THAT(audit, HasSubstr("\"who\":\"device-owner dan\""));
  EXPECT_THAT(audit, testing::Not(HasSubstr("tft-")));
  EXPECT_THAT(*read_file(dir_.path() + "/served.db.audit.jsonl.denied"), HasSubstr("\"who\":\"user bob\""));
}

TEST_F(SecuredWeb, ARevokedTokenEndsItsStreams) {
  const std::string ada = *issue(admin_, "user", "ada");
  Fields model = bearer(ada);
  model["Content-Type"] = "application/octet-stream";
  ASSERT_EQ(client().post(submit_target(kSpec), "model", model).status, 200);
  HttpClient watcher = client();
  watcher.send(
      absl::StrCat("GET /api/v1/Tuner/WatchJob?jobId=1 HTTP/1.1\r\nHost: localhost\r\nAccept: "
                   "text/event-stream\r\nAuthorization: Bearer ",
                   ada, "\r\n\r\n"));
  EXPECT_THAT(watcher.receive_some(), HasSubstr("200 OK"));
  const json tokens = json::parse(client().get("/api/v1/Tokens/List", bearer(ada)).body).at("tokens");
  ASSERT_EQ(tokens.size(), 1u);
  const std::string id = json{{"id", tokens[0].at("id")}}.dump();
  EXPECT_EQ(client().post("/api/v1/Tokens/Revoke", id, bearer(*issue(admin_, "user", "bob"))).status, 404);
  EXPECT_EQ(client().post("/api/v1/Tokens/Revoke", id, bearer(ada)).status, 200);
  EXPECT_EQ(status_of(ada), 401);
  std::string seen;
  for (std::string more = "-"; !more.empty();) seen += more = watcher.receive_some();
  EXPECT_THAT(seen, HasSubstr("event: error"));
  EXPECT_THAT(seen, HasSubstr("UNAUTHENTICATED"));
}

TEST_F(SecuredWeb, TokensEndWithTheirIssuersMembershipAndSurviveARestart) {
  const auto ada = member(Role::kUser, "ada"), bob = member(Role::kUser, "bob");
  const std::string of_ada = *issue(ada, "user"), of_bob = *issue(bob, "user");
  served_ = nullptr;
  EXPECT_THAT(*read_file(dir_.path() + "/served.db.tokens"), testing::Not(HasSubstr(of_ada.substr(4))));
  served_ = std::make_unique<ServedWeb>(dir_.path(), endpoint(), tuner_);
  EXPECT_EQ(status_of(of_ada), 200);
  ASSERT_TRUE(tracker::revoke_member({endpoint(), admin_}, "ada").ok());
  for (int i = 0; i < 200 && status_of(of_ada) == 200; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(status_of(of_ada), 401);
  EXPECT_EQ(status_of(of_bob), 200);
}

TEST_F(SecuredWeb, ARenewedCertificateIsShownWithoutARestart) {
  const std::string before = client().server_serial();
  EXPECT_EQ(before, tuner_->certificate().serial());
  const auto renewed = member(Role::kTuner, "other");
  for (const char* file : {"/key.pem", "/cert.pem"}) {
    std::filesystem::copy_file(renewed->folder() + file, tuner_->folder() + file,
                               std::filesystem::copy_options::overwrite_existing);
  }
  for (int i = 0; i < 100 && client().server_serial() == before; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(client().server_serial(), renewed->certificate().serial());
}

TEST_F(SecuredWeb, SpeaksNoPlainText) {
  HttpClient plain(served_->web().endpoint());
  EXPECT_EQ(plain.get("/api/v1/session").status, 0);
}

}  // namespace
}  // namespace tf::farm_test
