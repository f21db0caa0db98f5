#include "tuner/report/report_file.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/check.h"
#include "base/status.h"
#include "base/text/json_text.h"
#include "base/text/printable.h"

namespace tf::report {
namespace {

constexpr uint32_t kListedKernels = 1000, kPointsOfCurve = 200, kPointsOfKernel = 1000;
constexpr size_t kMostProgramText = 256 << 10;

std::string json_of(const google::protobuf::Message& message, bool with_defaults) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = with_defaults;
  std::string text;
  TF_CHECK(google::protobuf::util::MessageToJsonString(message, &text, options).ok());
  return text;
}

// The library keeps keys sorted.
std::string key_of(std::string_view method, const google::protobuf::Message& request) {
  return absl::StrCat("Reports/", std::string(method), " ",
                      json_text(nlohmann::json::parse(json_of(request, false))));
}

void shorten(std::string& text) {
  if (text.size() <= kMostProgramText) return;
  text.resize(text.rfind('\n', kMostProgramText) + 1);
  text += "(the rest is left out)\n";
}

// Gathers answers.
class FileWriter {
 public:
  FileWriter(Report& report, const FileOptions& options) : report_(report), options_(options) {}

  template <typename Request, typename Reply>
  absl::Status add(std::string_view method, const Request& named, const absl::StatusOr<Reply>& reply) {
    TF_RETURN_IF_ERROR(reply.status());
    contents_.answers[key_of(method, named)] = json_of(*reply, true);
    return absl::OkStatus();
  }

  absl::Status add_job() {
    pb::DescribeJobRequest job, shorter;
    job.set_job_id(options_.job_id);
    shorter = job;
    shorter.set_most_points(kPointsOfCurve);
    TF_RETURN_IF_ERROR(add("DescribeJob", job, report_.describe_job(shorter)));
    pb::DescribeNetworkRequest network;
    network.set_job_id(options_.job_id);
    const absl::StatusOr<pb::NetworkReport> graph = report_.describe_network(network);
    if (absl::IsFailedPrecondition(graph.status())) return absl::OkStatus();  // a job of before
    return add("DescribeNetwork", network, graph);
  }

  absl::Status add_kernels() {
    pb::ListKernelsRequest list, longer;
    list.set_job_id(options_.job_id);
    longer = list;
    longer.set_page_size(kListedKernels);
    absl::StatusOr<pb::ListKernelsReply> reply = report_.list_kernels(longer);
    TF_RETURN_IF_ERROR(reply.status());
    if (options_.job_id == 0 && reply->total() == 0)
      return absl::NotFoundError("the database has no measurement to report: tune a network first");
    reply->clear_next_page_token();  // nobody answers it
    TF_RETURN_IF_ERROR(add("ListKernels", list, reply));
    for (const pb::KernelRow& row : reply->kernels()) {
      if (kernels_.size() >= options_.kernels) break;
      kernels_.push_back(row.kernel_id());
      TF_RETURN_IF_ERROR(add_kernel(row.kernel_id()));
    }
    return absl::OkStatus();
  }

  // With several at a time. What cannot be made is left out.
  void add_programs() {
    const auto tell = [&](size_t made) {
      if (options_.on_program) options_.on_program(made, programs_.size());
    };
    std::atomic<size_t> next = 0;
    size_t made = 0;
    std::mutex mutex;
    tell(0);
    const auto work = [&] {
      for (size_t i = next++; i < programs_.size(); i = next++) {
        absl::StatusOr<pb::Program> program = report_.show_program(programs_[i]);
        const std::scoped_lock lock(mutex);
        if (program.ok()) {
          shorten(*program->mutable_ir());
          shorten(*program->mutable_assembly());
          add("ShowProgram", programs_[i], program).IgnoreError();  // it is ok
        } else {
          contents_.left_out.push_back(absl::StrCat("kernel ", programs_[i].kernel_id(), ": ",
                                                    std::string(program.status().message())));
        }
        tell(++made);
      }
    };
    std::vector<std::jthread> threads;
    for (int i = 0; i < std::max(1, options_.at_once); ++i) threads.emplace_back(work);
  }

  FileContents take() { return std::move(contents_); }

 private:
  absl::Status add_kernel(const std::string& id) {
    pb::DescribeKernelRequest kernel;
    kernel.set_kernel_id(id);
    kernel.set_job_id(options_.job_id);
    const absl::StatusOr<pb::KernelReport> reply = report_.describe_kernel(kernel);
    TF_RETURN_IF_ERROR(add("DescribeKernel", kernel, reply));
    pb::ListCandidatesRequest candidates, fewer;
    candidates.set_kernel_id(id);
    candidates.set_job_id(options_.job_id);
    fewer = candidates;
    fewer.set_most_points(kPointsOfKernel);
    TF_RETURN_IF_ERROR(add("ListCandidates", candidates, report_.list_candidates(fewer)));
    if (!reply->has_best() || programs_.size() >= 2 * options_.programs) return absl::OkStatus();
    pb::ShowProgramRequest program;
    program.set_kernel_id(id);
    programs_.push_back(program);
    program.set_row(reply->best().row());
    programs_.push_back(program);
    return absl::OkStatus();
  }

  Report& report_;
  const FileOptions& options_;
  FileContents contents_;
  std::vector<std::string> kernels_;
  std::vector<pb::ShowProgramRequest> programs_;
};

}  // namespace

absl::StatusOr<FileContents> file_contents(Report& report, database::Records& records,
                                           const FileOptions& options) {
  FileWriter writer(report, options);
  std::string title = "All kernels";
  if (options.job_id != 0) {
    TF_ASSIGN_OR_RETURN(const database::Job job, records.find_job(options.job_id));
    title = absl::StrCat("Job ", job.id, ": ", printable(job.model_name));
    TF_RETURN_IF_ERROR(writer.add_job());
  }
  TF_RETURN_IF_ERROR(writer.add_kernels());
  writer.add_programs();
  FileContents contents = writer.take();
  contents.title = std::move(title);
  return contents;
}

std::string to_json(const FileContents& contents, std::string_view version, int64_t made) {
  std::string out = absl::StrCat("{\"made\":", made, ",\"version\":", json_text(std::string(version)),
                                 ",\"title\":", json_text(contents.title), ",\"answers\":{");
  const char* comma = "";
  for (const auto& [key, answer] : contents.answers) {
    absl::StrAppend(&out, comma, json_text(key), ":", answer);
    comma = ",";
  }
  return out + "}}";
}

absl::StatusOr<std::string> page_with(std::string_view page, std::string_view json) {
  const size_t end = page.find("</head>");
  if (end == std::string_view::npos) return absl::FailedPreconditionError("the report's page has no </head>");
  return absl::StrCat(
      std::string(page.substr(0, end)), "<script type=\"application/json\" id=\"tunefarm-report\">",
      absl::StrReplaceAll(std::string(json), {{"<", "\\u003c"}}), "</script>", std::string(page.substr(end)));
}

}  // namespace tf::report
