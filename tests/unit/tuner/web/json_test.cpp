#include "tuner/web/gateway/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/tune/v1/report.pb.h"
#include "proto/tune/v1/tune.pb.h"

namespace tf::web {
namespace {

namespace pb = tunefarm::tune::v1;
using testing::HasSubstr;

TEST(Json, RequestIsReadByEitherNameOfAField) {
  for (const char* json : {R"({"jobId":"3"})", R"({"job_id":3})"}) {
    const auto bytes = message_of_json(*pb::JobName::descriptor(), json);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    pb::JobName name;
    ASSERT_TRUE(name.ParseFromString(*bytes));
    EXPECT_EQ(name.job_id(), 3);
  }
}

TEST(Json, AnswerHasFieldsWithTheirDefaultAndNumbersOf64BitsAsTexts) {
  pb::JobUpdate job;
  job.set_job_id(int64_t{1} << 60);
  job.set_state(pb::JOB_STATE_PAUSED);
  const auto json = json_of_message(*pb::JobUpdate::descriptor(), job.SerializeAsString());
  ASSERT_TRUE(json.ok()) << json.status();
  for (const char* part : {R"("jobId":"1152921504606846976")", R"("state":"JOB_STATE_PAUSED")",
                           R"("detail":"")", R"("slots":[])"})
    EXPECT_THAT(*json, HasSubstr(part));
}

TEST(Json, MistakesAreInvalidAndNamed) {
  for (const char* json :
       {"", "[]", "{", "3", "{\"jobId\":}", "{\"jobid\":3}", "{\"jobId\":\"three\"}", "{\"jobId\":3.5}",
        "{\"jobId\":99999999999999999999}", "{\"jobId\":[3]}", "\xff\xfe"}) {
    const auto bytes = message_of_json(*pb::JobName::descriptor(), json);
    EXPECT_TRUE(absl::IsInvalidArgument(bytes.status())) << json << ": " << bytes.status();
    EXPECT_THAT(std::string(bytes.status().message()), HasSubstr("tunefarm.tune.v1.JobName as JSON"));
  }
}

TEST(Json, DeeplyNestedInputIsRefused) {
  const std::string deep = "{\"spec\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}";
  EXPECT_TRUE(absl::IsInvalidArgument(message_of_json(*pb::SubmitRequest::descriptor(), deep).status()));
}

TEST(Query, IsDecoded) {
  const auto parameters = parse_query("a=1&b=x%20y+z&&c=&d");
  ASSERT_TRUE(parameters.ok()) << parameters.status();
  EXPECT_EQ(*parameters, (Parameters{{"a", "1"}, {"b", "x y z"}, {"c", ""}, {"d", ""}}));
  for (const char* bad : {"a=%", "a=%4", "a=%zz", "%1"})
    EXPECT_TRUE(absl::IsInvalidArgument(parse_query(bad).status())) << bad;
}

std::string request(const google::protobuf::Descriptor& type, const char* query) {
  const auto json = json_of_parameters(type, *parse_query(query));
  return json.ok() ? *json : std::string(json.status().message());
}

TEST(Query, BecomesARequest) {
  EXPECT_EQ(request(*pb::ListKernelsRequest::descriptor(), "jobId=3&page_size=10&search=a%22b"),
            R"({"jobId":"3","pageSize":"10","search":"a\"b"})");
  EXPECT_EQ(request(*pb::BestRequest::descriptor(), "allowedNumerics=bf16&allowedNumerics=fp16"),
            R"({"allowedNumerics":["bf16","fp16"]})");
  const std::string json = request(*pb::ListJobsRequest::descriptor(), "inPages=true&afterJobId=7");
  pb::ListJobsRequest read;
  ASSERT_TRUE(read.ParseFromString(*message_of_json(*pb::ListJobsRequest::descriptor(), json)));
  EXPECT_TRUE(read.in_pages());
  EXPECT_EQ(read.after_job_id(), 7);
}

TEST(Query, MistakesAreNamed) {
  EXPECT_THAT(request(*pb::JobName::descriptor(), "job=3"), HasSubstr("no parameter 'job'"));
  EXPECT_THAT(request(*pb::JobName::descriptor(), "jobId=3&job_id=3"), HasSubstr("given twice"));
  EXPECT_THAT(request(*pb::BestRequest::descriptor(), "kernel=3"), HasSubstr("by POST"));
}

}  // namespace
}  // namespace tf::web
