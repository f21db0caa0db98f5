// tuner doctor: whether everything that tuning needs works here.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/cli/counted.h"
#include "base/cli/doctor.h"
#include "base/cli/exit_code.h"
#include "base/remedy.h"
#include "base/status.h"
#include "compiler/driver/build_pool.h"
#include "compiler/runtime/cpu_limit.h"
#include "compiler/target/target.h"
#include "compiler/tensor/workload.h"
#include "database/sqlite/examine.h"
#include "database/sqlite/sqlite_store.h"
#include "database/stores/open_store.h"
#include "proto/kernel/v1/kernel.pb.h"
#include "rpc/connection/endpoint.h"
#include "rpc/doctor/doctor.h"
#include "rpc/identity/membership.h"
#include "tuner/cli/commands.h"
#include "tuner/cli/cpu_split.h"
#include "tuner/measure/local_runner.h"
#include "tuner/service/farm/farm_devices.h"

namespace tf::tuner_cli {
namespace {

struct DoctorArguments {
  std::string db, tracker, tls, listen;
  bool json = false;
};

// What was found, for people; a failed status says what to do.
using Finding = absl::StatusOr<std::string>;

Check examine_target() {
  const target::Target host = target::host_target();
  Check check{.what = "target",
              .detail = absl::StrCat(host.text(), ", ", host.vector.bits, "-bit vectors, ",
                                     counted(static_cast<int64_t>(allowed_cpus().size()), "CPU"))};
  const double quota = tf_cpu_quota("");
  if (quota <= 0 || quota >= static_cast<double>(allowed_cpus().size())) return check;
  check.health = Health::kWeak;
  absl::StrAppend(&check.detail, ", of which the container's CPU quota gives the time of ", quota, ": ",
                  counted(tf_usable_cpus(), "thread"), " by default, and measurements are throttled");
  check.remedy = "give the container whole CPUs, as by docker run --cpuset-cpus, instead of a quota";
  return check;
}

// A whole build, of the smallest kernel there is.
Finding examine_builder() {
  TF_ASSIGN_OR_RETURN(auto builder, driver::BuildPool::create({}));
  tunefarm::kernel::v1::BuildRequest request;
  auto& kernel = *request.mutable_kernel();
  kernel.set_workload("workload v1\ninput p0: f32[16]\nstage t0: f32[i0 < 16] = p0[i0] + 1f32\noutput t0\n");
  kernel.set_target(target::host_target().text());
  kernel.set_entry("kernel");
  kernel.set_use(tunefarm::kernel::v1::KERNEL_USE_DEVICE);
  TF_ASSIGN_OR_RETURN(tunefarm::kernel::v1::BuildReply reply, builder->build(request));
  if (reply.code() != 0) return absl::InternalError(reply.message());
  int64_t total_ns = 0;
  for (const auto& phase : reply.phases()) total_ns += phase.duration_ns();
  return absl::StrFormat("built a kernel in %.0f ms", static_cast<double>(total_ns) / 1e6);
}

// As `tuner tune` measures: in the sandbox that there is, if it confines candidates. Adds a weak check for
// what is missing.
Finding examine_runner(CheckList& checks) {
  TF_ASSIGN_OR_RETURN(auto runner, measure::LocalRunner::start({.sandbox = worker::kOwnCandidates}));
  if (!runner->missing_layers().empty()) {
    const worker::MissingText text = worker::missing_text(runner->missing_layers());
    checks.add({.what = "sandbox",
                .health = Health::kWeak,
                .detail = absl::StrCat("candidates of `tuner tune` run without ", text.truth),
                .remedy = text.remedy});
  }
  const double gflops = runner->peak_gflops();
  if (gflops <= 0) {
    return with_remedy(absl::StatusCode::kInternal, "the trial worker starts, but cannot time this CPU",
                       "stop other programs and try again");
  }
  return absl::StrFormat("peak %.0f GFLOP/s per thread", gflops);
}

Finding database_contents(const std::string& spec, const std::string& tls) {
  TF_ASSIGN_OR_RETURN(auto records, database::open_records(spec, {.tls_folder = tls}));
  TF_ASSIGN_OR_RETURN(std::vector<database::Workload> workloads, records->workloads());
  TF_ASSIGN_OR_RETURN(std::vector<tensor::KernelKey> problems, records->problems());
  return absl::StrCat(counted(std::ssize(workloads), "workload"), ", ",
                      counted(std::ssize(problems), "measured problem"));
}

constexpr char kOtherDatabase[] = "repair it, or give another --db";

Check examine_file(const std::string& path) {
  const absl::StatusOr<database::FileContents> file = database::examine_sqlite_file(path, absl::Now());
  if (!file.ok()) return check_of("database", file.status(), kOtherDatabase);
  Check check{.what = "database",
              .detail = absl::StrCat(counted(file->workloads, "workload"), ", ",
                                     counted(file->problems, "measured problem"), ", ",
                                     counted(file->measurements, "measurement"), ", ",
                                     counted(file->jobs, "job"), ", no damage")};
  const int64_t in_future = file->local_in_future + file->imported_in_future;
  if (in_future == 0) return check;
  check.health = Health::kWeak;
  const bool is_cut = std::ssize(file->rows_in_future) < in_future;
  absl::StrAppend(
      &check.detail, "; ", in_future, " dated in the future (rows ",
      absl::StrJoin(file->rows_in_future, ", "), is_cut ? ", …" : "", "), up to ",
      absl::FormatTime("%Y-%m-%d %H:%M UTC", absl::FromUnixNanos(file->latest_unix_ns), absl::UTCTimeZone()));
  check.remedy = "check this machine's clock";
  if (file->local_in_future > 0)
    absl::StrAppend(&check.remedy, "; newer local measurements still take precedence");
  if (file->imported_in_future > 0)
    absl::StrAppend(&check.remedy, "; ", file->imported_in_future,
                    " of them were imported and override other imported records: tune those kernels again");
  return check;
}

Check examine_database(const std::string& spec, const std::string& tls) {
  const std::optional<std::string> file = database::sqlite_file(spec);
  if (file && database::is_missing(*file)) {
    absl::Status makeable = database::check_makeable(*file);
    if (!makeable.ok()) return check_of("database", makeable, kOtherDatabase);
    return {.what = "database",
            .detail = absl::StrCat("there is no ", spec, " yet; `tuner tune` or `tuner serve` creates it")};
  }
  if (file) return examine_file(*file);
  return check_of("database", database_contents(spec, tls), kOtherDatabase);
}

Finding examine_devices(const rpc::Endpoint& tracker, const std::shared_ptr<rpc::Credentials>& credentials) {
  TF_ASSIGN_OR_RETURN(const service::FarmView farm, service::look_at_farm(tracker, credentials));
  if (farm.known_keys.empty())
    return with_remedy(absl::StatusCode::kNotFound, "the tracker has no devices",
                       "start device_agent --key KEY");
  return absl::StrCat("device keys (at most ten): ", absl::StrJoin(farm.known_keys, ", "));
}

// Its certificate first: without a good one nothing else of the farm answers.
void examine_farm(const DoctorArguments& arguments, CheckList& checks) {
  const auto credentials = rpc::credentials_of_command(arguments.tls, arguments.tracker);
  if (!arguments.tls.empty()) {
    checks.add(rpc::examine_certificate(credentials,
                                        {.role = rpc::Role::kTuner,
                                         .why = "`tuner serve` leases devices as a tuner",
                                         .otherwise = Health::kWeak},
                                        absl::Now()));
  }
  if (!credentials.ok()) return;
  const std::string address =
      arguments.tracker.empty() && *credentials ? (*credentials)->tracker() : arguments.tracker;
  if (address.empty()) return;
  const absl::StatusOr<rpc::Endpoint> tracker = rpc::parse_endpoint(address);
  const std::vector<Check> answers = rpc::examine_tracker(tracker, *credentials, "this tuner");
  for (const Check& answer : answers) checks.add(answer);
  if (exit_code_of(answers) != kExitOk) return;
  const Finding devices = examine_devices(*tracker, *credentials);
  // Whose certificate may not look at them, is refused by `tracker devices`, too.
  checks.add(check_of("devices", devices,
                      absl::IsPermissionDenied(devices.status())
                          ? "give --tls the folder of a certificate with that role"
                          : "ask the operator of the tracker; `tracker devices` lists its devices"));
}

Check examine_listen(const std::string& listen, bool secured) {
  const absl::StatusOr<rpc::Endpoint> endpoint = rpc::parse_endpoint(listen);
  return endpoint.ok() ? rpc::examine_listen(*endpoint, "--listen", secured)
                       : check_of("listen", endpoint.status(), "give --listen HOST:PORT");
}

int run(const DoctorArguments& arguments) {
  CheckList checks(arguments.json ? CheckList::Format::kJson : CheckList::Format::kLines, stdout);
  checks.add(examine_target());
  checks.add(check_of("build worker", examine_builder(),
                      "put the build_worker of this version beside this program"));
  checks.add(check_of("measuring", examine_runner(checks),
                      "put the trial_worker of this version beside this program"));
  if (!arguments.db.empty()) checks.add(examine_database(arguments.db, arguments.tls));
  examine_farm(arguments, checks);
  if (!arguments.listen.empty()) checks.add(examine_listen(arguments.listen, !arguments.tls.empty()));
  return checks.finish();
}

}  // namespace

void add_doctor_command(CLI::App& app, Invocation& invocation) {
  auto arguments = std::make_shared<DoctorArguments>();
  CLI::App* command = app.add_subcommand("doctor", "Check that this machine can tune");
  command->add_option("--db", arguments->db,
                      "Also check this database: FILE (read completely), FILE.jsonl or tuner://HOST:PORT. If "
                      "FILE does not exist, check that it can be created");
  command->add_option(
      "--tracker", arguments->tracker,
      "Also check the tracker at HOST:PORT: protocol, clock and devices [the certificate's tracker]");
  command->add_option(
      "--tls", arguments->tls,
      "Folder of your certificate (`tuner join`), for a secured farm; checks its role and lifetime");
  command->add_option("--listen", arguments->listen, "Also check that `tuner serve` can listen at HOST:PORT");
  command->add_flag("--json", arguments->json, "Print JSON");
  command->footer("Example: tuner doctor --db tune.db --tracker 127.0.0.1:7190 --listen 127.0.0.1:7191");
  command->callback([arguments, &invocation] { invocation.run = [arguments] { return run(*arguments); }; });
}

}  // namespace tf::tuner_cli
