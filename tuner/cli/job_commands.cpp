// tuner submit | jobs | watch | cancel | pause | resume: the jobs of a running tuner.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/cli/exit_code.h"
#include "base/cli/text_table.h"
#include "base/files/file.h"
#include "base/status.h"
#include "compiler/frontends/frontends.h"
#include "compiler/frontends/network_request.h"
#include "rpc/connection/default_endpoints.h"
#include "rpc/identity/membership.h"
#include "tuner/cli/commands.h"
#include "tuner/cli/follow.h"
#include "tuner/cli/job_text.h"
#include "tuner/cli/local_user.h"
#include "tuner/cli/spec_options.h"
#include "tuner/service/grpc/job_client.h"

namespace tf::tuner_cli {
namespace {

using service::JobClient;
using service::JobUpdate;

struct ServerArguments {
  std::string address = rpc::kDefaultTuner;
  std::string tls;
};

int follow(JobClient& client, int64_t id, bool json, const ServerArguments& server) {
  const std::string again = absl::StrCat("tuner watch ", id, " --server ", server.address,
                                         server.tls.empty() ? "" : absl::StrCat(" --tls ", server.tls));
  return follow_job(client, id, {.json = json, .server = server.address, .again = again});
}

absl::StatusOr<std::unique_ptr<JobClient>> client_of(const ServerArguments& server) {
  TF_ASSIGN_OR_RETURN(const auto credentials, rpc::credentials_of_command(server.tls));
  return service::make_job_client(server.address, credentials, local_user());
}

struct SubmitArguments : SpecArguments {
  std::string slots = "all";
  int priority = 0;
  ServerArguments server;
  bool follow = false;
};

struct JobArguments {
  ServerArguments server;
  std::vector<int64_t> ids;
  bool json = false, wide = false;
};

// ONNX's own limit, with room for what is not data.
constexpr int64_t kMostSentBytes = kMostFileBytes - (64 << 10);

struct Submission {
  service::JobSpec spec;
  std::string model;  // its bytes
};

absl::StatusOr<int> parse_slots(const std::string& text) {
  int slots = 0;
  if (text == "all") return slots;
  if (absl::SimpleAtoi(text, &slots) && slots > 0 && slots <= service::kMostSlots) return slots;
  return absl::InvalidArgumentError(absl::StrCat("--slots must be a number from 1 to ", service::kMostSlots,
                                                 ", or \"all\", not \"", text, "\""));
}

// What can be told here is told before anything is sent. Which targets a farm measures for, and what they may
// be, is the tuner's to say, which may be newer; it does before the model comes.
absl::StatusOr<Submission> read_submission(const SubmitArguments& arguments) {
  Submission made;
  TF_ASSIGN_OR_RETURN(made.spec, finish_spec(arguments));
  TF_ASSIGN_OR_RETURN(const int slots, parse_slots(arguments.slots));
  made.spec.set_slots(static_cast<uint32_t>(slots));
  const auto of_model = [&arguments](const absl::Status& error) {
    return absl::Status(error.code(), absl::StrCat(arguments.model, ": ", error.message()));
  };
  TF_ASSIGN_OR_RETURN(const std::string file, frontends::read_model_file(arguments.model));
  const absl::Status dims =
      frontends::check_dims(file, frontends::greatest_sizes(service::network_request(made.spec)));
  if (!dims.ok()) return of_model(dims);
  absl::StatusOr<std::string> whole = frontends::with_data_inside(file, arguments.model, kMostSentBytes);
  if (absl::IsFailedPrecondition(whole.status()))
    return absl::FailedPreconditionError(
        absl::StrCat(of_model(whole.status()).message(), ", which cannot be submitted: use `tuner tune`"));
  if (!whole.ok()) return of_model(whole.status());
  made.model = *std::move(whole);
  return made;
}

// For a tuner that is busy with other uploads of the same user.
constexpr absl::Duration kBusyGracePeriod = absl::Minutes(10);

absl::StatusOr<int> run_submit(const SubmitArguments& arguments) {
  TF_ASSIGN_OR_RETURN(const Submission made, read_submission(arguments));
  TF_ASSIGN_OR_RETURN(const std::unique_ptr<JobClient> client, client_of(arguments.server));
  const service::BusyWait wait{.longest = kBusyGracePeriod, .begins = [](const absl::Status& why) {
                                 std::fprintf(stderr, "tuner submit: waiting for the tuner: %s\n",
                                              std::string(why.message()).c_str());
                               }};
  const absl::StatusOr<int64_t> id = client->submit(made.spec, made.model, wait);
  if (!id.ok()) {  // NOT_FOUND: no device that it asks for, and nothing else
    const ExitCode code = report_error("tuner submit", id.status());
    return absl::IsNotFound(id.status()) ? kExitNoDevice : code;
  }
  std::printf(arguments.json ? "{\"job\":%lld}\n" : "%lld\n", static_cast<long long>(*id));
  std::fflush(stdout);
  return arguments.follow ? follow(*client, *id, arguments.json, arguments.server) : kExitOk;
}

absl::StatusOr<int> run_jobs(const JobArguments& arguments) {
  TF_ASSIGN_OR_RETURN(const std::unique_ptr<JobClient> client, client_of(arguments.server));
  TF_ASSIGN_OR_RETURN(const std::vector<JobUpdate> jobs, client->list());
  if (arguments.json) {
    for (const JobUpdate& job : jobs) std::printf("%s\n", job_json(job).c_str());
  } else {
    const size_t width = arguments.wide ? 0 : terminal_width();
    std::printf("%s", jobs_table(jobs, absl::GetCurrentTimeNanos(), width).c_str());
  }
  return kExitOk;
}

absl::StatusOr<int> run_watch(const JobArguments& arguments) {
  TF_ASSIGN_OR_RETURN(const std::unique_ptr<JobClient> client, client_of(arguments.server));
  // A watch waits for a tuner that restarts, but not for one that was never there.
  TF_RETURN_IF_ERROR(client->check_answers());
  return follow(*client, arguments.ids.front(), arguments.json, arguments.server);
}

using Change = absl::StatusOr<JobUpdate> (JobClient::*)(int64_t);

struct ChangeCommand {
  const char* name;
  const char* help;
  Change change;
  const char* then;  // what a job does that is still measuring
};

// Every job is tried, whatever becomes of the others. The exit code is that of the first that failed.
absl::StatusOr<int> run_change(const JobArguments& arguments, const ChangeCommand& command) {
  const std::string program = absl::StrCat("tuner ", command.name);
  TF_ASSIGN_OR_RETURN(const std::unique_ptr<JobClient> client, client_of(arguments.server));
  int code = kExitOk;
  for (const int64_t id : arguments.ids) {
    const absl::StatusOr<JobUpdate> job = (client.get()->*command.change)(id);
    if (!job.ok()) {
      const ExitCode failed = report_error(program.c_str(), job.status());
      if (code == kExitOk) code = failed;
    } else if (arguments.json) {
      std::printf("%s\n", change_json(*job).c_str());
    } else {
      std::fprintf(stderr, "%s\n", change_text(*job, command.then).c_str());
    }
  }
  return code;
}

void add_server_option(CLI::App& command, ServerArguments& server) {
  command.add_option("--server", server.address, "The running tuner's HOST:PORT")->capture_default_str();
  command.add_option("--tls", server.tls, "Folder of your certificate (`tuner join`), for a secured tuner");
}

void add_change(CLI::App& app, Invocation& invocation, const ChangeCommand& change) {
  auto arguments = std::make_shared<JobArguments>();
  CLI::App* command = app.add_subcommand(change.name, change.help);
  command->add_option("job", arguments->ids, "One or more job numbers")->required();
  add_server_option(*command, arguments->server);
  command->add_flag("--json", arguments->json,
                    "Print each job as a JSON line that also says whether it is unchanged");
  command->footer(absl::StrCat("Example: tuner ", change.name, " 3 4"));
  command->callback([arguments, &invocation, change] {
    invocation.run = [arguments, change] { return run_change(*arguments, change); };
  });
}

}  // namespace

void add_submit_command(CLI::App& app, Invocation& invocation) {
  auto arguments = std::make_shared<SubmitArguments>();
  CLI::App* command =
      app.add_subcommand("submit", "Submit a network to a running tuner; prints the job's number");
  add_spec_options(*command, *arguments);
  // The devices may be of another kind than this machine.
  command->get_option("--target")->default_str("")->required();
  command
      ->add_option("--device", *arguments->spec.mutable_device_key(),
                   "Device class to measure on (an agent's --key); its jobs share the devices")
      ->required();
  command
      ->add_option(
          "--slots", arguments->slots,
          absl::StrCat("Most devices to measure on at once; all: every free device within this job's "
                       "fair share, up to ",
                       service::kMostSlots))
      ->capture_default_str();
  command->add_option("--selector", *arguments->spec.mutable_selector(),
                      "Only devices with these labels, as in room=lab3,!shared");
  command
      ->add_option("--priority", arguments->priority,
                   "Priority, -10 to 10 (higher runs first). Ties go to the submitter with the least recent "
                   "usage. On a secured tuner, only admins may exceed 0")
      ->capture_default_str();
  add_server_option(*command, arguments->server);
  command->add_flag("--follow", arguments->follow, "Show progress until the job ends");
  command->footer(
      "Example: tuner submit squeezenet.onnx --target host --device desk --minutes 5 --follow\n"
      "         tuner submit detector.onnx --dim batch=1..16 --at batch=1,16 --input threshold=0.5 --device "
      "desk\n"
      "A tuner accepts two uploads per submitter at a time; the command waits for its turn for up to 10 "
      "minutes.\n"
      "Exit codes: 0 ok, 1 failed (including: tuner full, model too large), 2 usage,\n"
      "3 no device matches the key, labels and target,\n"
      "130 Ctrl-C (the job goes on).");
  command->callback(
      [arguments, &invocation] { invocation.run = [arguments] { return run_submit(*arguments); }; });
}

void add_job_commands(CLI::App& app, Invocation& invocation) {
  auto jobs = std::make_shared<JobArguments>();
  CLI::App* list = app.add_subcommand("jobs", "List the jobs of a running tuner");
  add_server_option(*list, jobs->server);
  list->add_flag("--json", jobs->json, "Print JSON lines");
  list->add_flag("--wide", jobs->wide, "Print all columns, regardless of the terminal's width");
  list->footer("Example: tuner jobs --server 127.0.0.1:7191 --json");
  list->callback([jobs, &invocation] { invocation.run = [jobs] { return run_jobs(*jobs); }; });

  auto watched = std::make_shared<JobArguments>();
  CLI::App* watch = app.add_subcommand("watch", "Show a job's progress until it ends");
  watch->add_option("job", watched->ids, "The job's number")->required()->expected(1);
  add_server_option(*watch, watched->server);
  watch->add_flag("--json", watched->json, "Print JSON lines");
  watch->footer("Example: tuner watch 3");
  watch->callback([watched, &invocation] { invocation.run = [watched] { return run_watch(*watched); }; });

  add_change(app, invocation, {"cancel", "End a job; its measurements are kept", &JobClient::cancel, "ends"});
  add_change(app, invocation, {"pause", "Stop a job until it is resumed", &JobClient::pause, "stops"});
  add_change(app, invocation, {"resume", "Resume a paused job", &JobClient::resume, "continues"});
}

}  // namespace tf::tuner_cli
