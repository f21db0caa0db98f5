// HTTP of a tuner in plain text: the calls, what is malformed, who is slow, and pages of other origins.

#include <gmock/gmock.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/grpc_environment.h"
#include "rpc/identity/credentials.h"
#include "tests/farm/web/served_web.h"
#include "tuner/service/grpc/job_client.h"
#include "tuner/web/http/listener.h"

namespace tf::farm_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

[[maybe_unused]] const bool kGrpcPrepared = (set_grpc_environment(), true);  // as programs do first in main

class PlainWeb : public testing::Test {
 protected:
  HttpClient client() { return HttpClient(served_.web().endpoint()); }

  int64_t submit() {
    const HttpReply reply =
        client().post(submit_target(kSpec), "model", {{"Content-Type", "application/octet-stream"}});
    EXPECT_EQ(reply.status, 200) << reply.body;
    return std::stoll(json::parse(reply.body).at("jobId").get<std::string>());
  }

  const TemporaryFolder folder_ = *TemporaryFolder::make();
  ServedWeb served_{folder_.path(), {.host = "127.0.0.1", .port = 1}};
};

TEST_F(PlainWeb, AJobIsSubmittedWatchedPausedResumedAndCancelled) {
  const int64_t id = submit();
  served_.executor().wait_for_starts(1);
  HttpClient watcher = client();
  watcher.send(absl::StrCat("GET /api/v1/Tuner/WatchJob?jobId=", id,
                            " HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n"));
  std::string seen;
  while (seen.find("\"trials\":3") == seen.npos) {
    const std::string more = watcher.receive_some();
    ASSERT_FALSE(more.empty()) << seen;
    seen += more;
  }
  EXPECT_THAT(seen, HasSubstr("Content-Type: text/event-stream"));
  EXPECT_THAT(seen, HasSubstr("data: {\"jobId\":"));
  HttpClient changer = client();  // one connection for all
  const std::string name = absl::StrCat("{\"jobId\":", id, "}");
  for (const auto& [call, state] : std::vector<std::pair<std::string, std::string>>{
           {"PauseJob", "JOB_STATE_PAUSED"}, {"ResumeJob", "JOB_STATE_"}, {"CancelJob", "JOB_STATE_"}}) {
    const HttpReply reply = changer.post("/api/v1/Tuner/" + call, name);
    EXPECT_EQ(reply.status, 200) << call << ": " << reply.body;
  }
  for (std::string more = "-"; !more.empty();) seen += more = watcher.receive_some();
  EXPECT_THAT(seen, HasSubstr("JOB_STATE_CANCELLED"));
  EXPECT_THAT(seen, HasSubstr("event: end"));
}

TEST_F(PlainWeb, StreamsAreLinesOfJsonWhereNoEventsAreAskedFor) {
  const int64_t id = submit();
  served_.executor().wait_for_starts(1);
  served_.executor().end(id, absl::OkStatus());
  const HttpReply reply = client().get(absl::StrCat("/api/v1/Tuner/WatchJob?jobId=", id));
  EXPECT_EQ(reply.fields.at("content-type"), "application/x-ndjson");
  const std::string last = reply.body.substr(reply.body.rfind('\n', reply.body.size() - 2) + 1);
  EXPECT_EQ(json::parse(last).at("state"), "JOB_STATE_DONE");
}

TEST_F(PlainWeb, ErrorsHaveTheirStatusCodeAndMessage) {
  HttpClient to = client();
  const auto expect = [](const HttpReply& reply, int status, const std::string& code) {
    EXPECT_EQ(reply.status, status) << reply.body;
    EXPECT_EQ(json::parse(reply.body).at("code"), code) << reply.body;
    EXPECT_EQ(reply.body.back(), '\n');  // a terminal's prompt stands on a line of its own
  };
  expect(to.get("/api/v1/Tuner/WatchJob?jobId=9"), 404, "NOT_FOUND");
  expect(to.get("/api/v1/Tuner/WatchJob?job=9"), 400, "INVALID_ARGUMENT");
  expect(to.post("/api/v1/Tuner/CancelJob", "{\"jobId\":9}"), 404, "NOT_FOUND");
  expect(to.post("/api/v1/Tuner/CancelJob", "{"), 400, "INVALID_ARGUMENT");
  expect(to.post("/api/v1/Tuner/CancelJob", "{}", {{"Content-Type", "text/plain"}}), 415, "INVALID_ARGUMENT");
  expect(to.post("/api/v1/Tuner/CancelJob", std::string((1 << 20) + 1, ' ')), 413, "RESOURCE_EXHAUSTED");
  to = client();
  expect(to.get("/api/v1/Tuner/CancelJob?jobId=9"), 405, "UNIMPLEMENTED");
  expect(to.post("/api/v1/session", "{}"), 405, "UNIMPLEMENTED");
  expect(to.get("/api/v1/Tuner/Nothing"), 404, "NOT_FOUND");
  expect(to.get("/api/v1/Members/ListTokens"), 404, "NOT_FOUND");
  expect(to.get("/api/v1/Operators/ListDevices"), 503, "UNAVAILABLE");
  expect(to.get("/api/v1/Tokens/List"), 400, "FAILED_PRECONDITION");
}

TEST_F(PlainWeb, EveryAnswerForbidsWhatABrowserNeedNot) {
  for (const char* target :
       {"/", "/api/", "/api/v1/session", "/api/v1/openapi.json", "/nothing.js", "/api/v1/No/Such"}) {
    const HttpReply reply = client().get(target, {{"Origin", "http://" + served_.web().endpoint().text()}});
    EXPECT_THAT(reply.fields.at("content-security-policy"), HasSubstr("default-src 'none'")) << target;
    EXPECT_EQ(reply.fields.at("x-content-type-options"), "nosniff");
    EXPECT_EQ(reply.fields.at("referrer-policy"), "no-referrer");
    EXPECT_TRUE(reply.fields.contains("cache-control"));
    for (const auto& [name, value] : reply.fields)
      EXPECT_THAT(name, Not(testing::StartsWith("access-control")));
  }
}

TEST_F(PlainWeb, APageOfAnotherOriginIsRefused) {
  const std::string own = served_.web().endpoint().text();
  const std::string call = "/api/v1/Tuner/ListJobs";
  EXPECT_EQ(client().get(call, {{"Origin", "http://" + own}, {"Sec-Fetch-Site", "same-origin"}}).status, 200);
  EXPECT_EQ(client().get(call, {{"Origin", "http://evil.com"}}).status, 403);
  EXPECT_EQ(client().get(call, {{"Origin", "null"}}).status, 403);
  EXPECT_EQ(client().get(call, {{"Sec-Fetch-Site", "cross-site"}}).status, 403);
  EXPECT_EQ(client().get(call, {{"Host", "evil.com"}}).status, 403) << "a name of another's that leads here";
  EXPECT_EQ(client().get("/", {{"Host", "evil.com"}}).status, 403);
  EXPECT_EQ(client().get(call, {{"Host", "tuner.lab:80"}}).status, 200);
  HttpClient asking = client();
  asking.send("OPTIONS " + call +
              " HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\n"
              "Access-Control-Request-Method: POST\r\n\r\n");
  const HttpReply asked = asking.receive();
  EXPECT_EQ(asked.status, 405);
  for (const auto& [name, value] : asked.fields)
    EXPECT_THAT(name, Not(testing::StartsWith("access-control")));
}

TEST_F(PlainWeb, MalformedRequestsAreRefusedAndHarmNobody) {
  const std::string get = "GET /api/v1/Tuner/ListJobs HTTP/1.1\r\nHost: localhost\r\n";
  for (const std::string& bytes : std::vector<std::string>{
           "\r\n\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n",
           "GET http://x/ HTTP/1.1\r\nHost: x\r\n\r\n",
           "\x16\x03\x01\x02\x01\x01\xfc\x03\x03 a client of TLS \r\n\r\n",
           get + "X: " + std::string(17 << 10, 'a') + "\r\n\r\n", get + std::string("X: \0\r\n\r\n", 8),
           get + "Host: localhost\r\n\r\n", get + "Content-Length: -1\r\n\r\n",
           get + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", get + " folded: x\r\n\r\n",
           "GET /" + std::string(20 << 10, 'a') + " HTTP/1.1\r\n\r\n",
           "CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n",
           "POST /api/v1/Tuner/ListJobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
           "Transfer-Encoding: chunked\r\n\r\nzz\r\n"}) {
    HttpClient to = client();
    to.send(bytes);
    const int status = to.receive().status;
    EXPECT_TRUE(status >= 400 && status < 500) << status << " to " << bytes.substr(0, 200);
    EXPECT_EQ(client().get("/api/v1/Tuner/ListJobs").status, 200);
  }
}

TEST_F(PlainWeb, AChunkMayComeInPartsWhateverIsSplit) {
  const std::string head =
      "POST /api/v1/Tuner/ListJobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: chunked\r\n\r\n";
  const std::string body = "1;x=y\r\n{\r\n1\r\n}\r\n0\r\nA: b\r\n\r\n";
  for (size_t split = 0; split <= body.size(); ++split) {
    HttpClient to = client();
    to.send(head + body.substr(0, split));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // so that it mostly comes alone
    to.send(body.substr(split));
    EXPECT_EQ(to.receive().status, 200) << "at " << split;
  }
  // More of them than the server has threads. Each waits for the rest of a chunk's header.
  std::vector<HttpClient> waiting;
  for (const char* part : {"2", "2\n{}\n0\n\n", "2\r", "", "ffffffffffffffff"}) {
    waiting.push_back(client());
    waiting.back().send(head + part);
  }
  EXPECT_EQ(client().get("/api/v1/Tuner/ListJobs").status, 200);
}

// So that it and a proxy before it always see the same requests.
TEST_F(PlainWeb, NoBodyHasALengthThatOthersMightTakeForAnother) {
  const std::string post =
      "POST /api/v1/Tuner/ListJobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
  const std::string chunks = "2\r\n{}\r\n0\r\n\r\n";
  for (const std::string& bytes :
       std::vector<std::string>{post + "Transfer-Encoding: gzip\r\n\r\n",
                                post + "Transfer-Encoding: gzip, chunked\r\n\r\n" + chunks,
                                post + "Transfer-Encoding: chunked, identity\r\n\r\n" + chunks,
                                post + "Transfer-Encoding: xchunked\r\nContent-Length: 2\r\n\r\n{}",
                                absl::StrReplaceAll(post, {{"1.1\r\n", "1.0\r\n"}}) +
                                    "Transfer-Encoding: chunked\r\n\r\n" + chunks}) {
    HttpClient to = client();
    to.send(bytes);
    const HttpReply reply = to.receive();
    EXPECT_EQ(reply.status, 400) << bytes << reply.body;
    EXPECT_EQ(reply.fields.at("connection"), "close") << bytes;
  }
}

TEST_F(PlainWeb, HeadOfAStreamHasNoBody) {
  const int64_t id = submit();
  served_.executor().wait_for_starts(1);
  HttpClient to = client();
  to.send(absl::StrCat("HEAD /api/v1/Tuner/WatchJob?jobId=", id, " HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  std::string seen;
  for (std::string more = "-"; !more.empty();) seen += more = to.receive_some();
  EXPECT_THAT(seen, HasSubstr("200 OK"));
  EXPECT_THAT(seen, testing::EndsWith("\r\n\r\n"));
}

// A handler that wants the whole body.
class TakesBodies : public web::Handler {
 public:
  web::asio::awaitable<void> serve(web::Exchange& exchange) override {
    const absl::StatusOr<std::string> body = co_await web::whole_body(exchange, 1 << 20);
    const absl::Status status = body.status();
    co_await web::answer_error(exchange, status, status.ok() ? 200 : 0);
  }
};

TEST(SlowBodies, SingleBytesHoldAConnectionNoLongerThanNone) {
  TakesBodies handler;
  const auto listener = *web::Listener::start(
      {.listen = {.host = "127.0.0.1"}, .session = {.body_gap = absl::Milliseconds(300)}}, handler);
  HttpClient to(listener->endpoint());
  to.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n");
  int sent = 0;  // 600 take a hundred times the gap
  while (sent < 600 && to.send("x")) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ++sent;
  }
  EXPECT_LT(sent, 600);
  HttpClient other(listener->endpoint());
  EXPECT_EQ(other.post("/", std::string(1000000, 'x')).status, 200);
}

TEST_F(PlainWeb, AModelMustFitAndSayItsSize) {
  const std::map<std::string, std::string> model = {{"Content-Type", "application/octet-stream"}};
  const std::string nowhere = absl::StrReplaceAll(kSpec, {{"desk", "nowhere"}});
  EXPECT_EQ(client().post(submit_target(kSpec), "model").status, 415);
  EXPECT_EQ(client().post("/api/v1/Tuner/Submit", "model", model).status, 400) << "no specification";
  EXPECT_EQ(client().post(submit_target(nowhere), "model", model).status, 404);
  EXPECT_EQ(client().post(submit_target(kSpec), std::string((4 << 20) + 1, 'm'), model).status, 413);
  HttpClient chunked = client();
  chunked.send(
      absl::StrCat("POST ", submit_target(kSpec),
                   " HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                   "application/octet-stream\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nmodel\r\n0\r\n\r\n"));
  EXPECT_EQ(chunked.receive().status, 411);
  const std::string large(4 << 20, 'm');
  HttpClient to = client();
  const HttpReply taken = to.post(submit_target(kSpec), large, model);
  EXPECT_EQ(taken.status, 200) << taken.body;
  EXPECT_EQ(to.get("/api/v1/Tuner/ListJobs").status, 200) << "on the same connection";
}

TEST_F(PlainWeb, NoAnswerTellsWhereFilesAre) {
  const int64_t id = submit();
  served_.executor().wait_for_starts(1);
  served_.executor().end(id,
                         absl::InternalError("cannot read " + served_.database() + ".models/x.onnx: gone"));
  const HttpReply reply = client().get(absl::StrCat("/api/v1/Tuner/WatchJob?jobId=", id));
  EXPECT_THAT(reply.body, HasSubstr("cannot read x.onnx: gone"));
  EXPECT_THAT(reply.body, Not(HasSubstr(folder_.path())));
  EXPECT_THAT(client().get("/api/v1/Tuner/ListJobs").body, Not(HasSubstr(folder_.path())));
}

// They hold what there is of connections; those that wait go for others that ask for something.
TEST_F(PlainWeb, AThousandSlowCallersStopNeitherHttpNorTheTuner) {
  const int64_t id = submit();
  served_.executor().wait_for_starts(1);
  const std::string partly = "GET /api/v1/Tuner/ListJobs HTTP/1.1\r\nHost: loc";
  const std::string watch =
      absl::StrCat("GET /api/v1/Tuner/WatchJob?jobId=", id, " HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const std::string half_a_body =
      "POST /api/v1/Tuner/ListJobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Content-Length: 1000\r\n\r\n{";
  const std::string half_a_model = absl::StrCat(
      "POST ", submit_target(kSpec), "&submitter=eve HTTP/1.1\r\nHost: localhost\r\nContent-Type: ",
      "application/octet-stream\r\nContent-Length: 100000\r\n\r\nmod");
  std::vector<std::unique_ptr<HttpClient>> slow;
  for (int i = 0; i < 1000; ++i) {
    slow.push_back(std::make_unique<HttpClient>(served_.web().endpoint()));
    const std::string_view sent[] = {watch, "", partly, half_a_body, half_a_model};
    slow.back()->send(sent[i % 5]);  // and none of them reads
  }
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i) {
    // All of them call from one address, which may call 100 times a second: who is told so tries again.
    int status = 429;
    while (status == 429 && std::chrono::steady_clock::now() - began < std::chrono::seconds(60)) {
      status = client().get("/api/v1/Tuner/ListJobs?inPages=true").status;
      if (status == 429) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    EXPECT_EQ(status, 200);
    const auto jobs = (*service::make_job_client(served_.daemon().endpoint().text()))->list();
    ASSERT_TRUE(jobs.ok()) << jobs.status();
    EXPECT_EQ(jobs->size(), 1u);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(60));
  served_.executor().end(id, absl::OkStatus());
  const auto last = (*service::make_job_client(served_.daemon().endpoint().text()))
                        ->watch(id, absl::Seconds(20), [](const service::JobUpdate&) { return true; });
  ASSERT_TRUE(last.ok()) << last.status();
}

}  // namespace
}  // namespace tf::farm_test
