// compiler show: what the best record of a workload looks like.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/cli/counted.h"
#include "base/cli/duration_text.h"
#include "base/cli/exit_code.h"
#include "base/status.h"
#include "base/text/json_text.h"
#include "base/text/printable.h"
#include "compiler/cli/commands.h"
#include "compiler/cli/print_after.h"
#include "compiler/cli/show_graph.h"
#include "compiler/driver/build_pool.h"
#include "compiler/driver/wire.h"
#include "compiler/frontends/frontends.h"
#include "compiler/passes/lower.h"
#include "compiler/records/records_source.h"
#include "compiler/schedule/numerics.h"
#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"
#include "compiler/tensor/workload.h"
#include "database/follow_verdict.h"
#include "database/stores/open_store.h"
#include "proto/kernel/v1/kernel.pb.h"

namespace tf::compiler_cli {
namespace {

namespace proto = tunefarm::kernel::v1;
using records::best_but_for_numerics;
using records::device_classes;
using records::mixed_devices_warning;

struct ShowArguments {
  std::string key, tls, device, allow, print_after;
  std::vector<std::string> databases;
  bool ir = false, assembly = false, schedule = false, workload = false, json = false;
  ShowGraphArguments graph;
};

// The record that a build takes for each problem of the workload, in order of the problems' first measurement.
absl::StatusOr<std::vector<database::Measurement>> best_records(database::Records& records, const Digest& key,
                                                                const std::string& device,
                                                                const schedule::Numerics& allowed) {
  TF_ASSIGN_OR_RETURN(const std::vector<tensor::KernelKey> problems, records.problems());
  TF_ASSIGN_OR_RETURN(const std::vector<database::NetworkVerdict> verdicts, records.verdicts());
  std::vector<database::Measurement> best;
  std::set<std::string> classes, needed;  // needed: numerics of records that are not allowed
  for (const tensor::KernelKey& problem : problems) {
    if (!(problem.workload == key)) continue;
    database::BestQuery query{.problem = problem, .allowed_numerics = allowed};
    if (device.empty()) {
      TF_ASSIGN_OR_RETURN(std::set<std::string> more, device_classes(records, problem));
      classes.merge(more);
    } else {
      query.device_class = device;
    }
    database::follow_verdict(verdicts, query);
    TF_ASSIGN_OR_RETURN(std::optional<database::Measurement> record, records.best(query));
    if (record && record->problem == problem) best.push_back(*std::move(record));
    TF_ASSIGN_OR_RETURN(const std::optional<database::Measurement> faster,
                        best_but_for_numerics(records, problem, query.device_class, allowed));
    if (faster) needed.insert(faster->numerics.begin(), faster->numerics.end());
  }
  const std::string warning = mixed_devices_warning(classes);
  if (!warning.empty()) std::fprintf(stderr, "compiler show: warning: %s\n", warning.c_str());
  const std::string names = absl::StrJoin(needed, ",");
  if (best.empty() && !needed.empty())
    return absl::NotFoundError(
        absl::StrCat("every ok record of this workload uses ", names, ": give --allow ", names));
  if (!needed.empty())
    std::fprintf(stderr, "compiler show: a faster record needs --allow %s\n", names.c_str());
  if (best.empty())
    return absl::NotFoundError(absl::StrCat("this workload has no successful measurement",
                                            device.empty() ? "" : " on device ", device, ": tune it first"));
  return best;
}

// The reply's texts, as the arguments ask. Texts from a database are lowered and compiled in a build worker
// only.
absl::StatusOr<proto::BuildReply> kernel_text(driver::BuildPool& pool, const database::Workload& workload,
                                              const database::Measurement& record,
                                              const ShowArguments& arguments) {
  const auto refused = [&](absl::string_view why) {
    return absl::FailedPreconditionError(absl::StrCat("the schedule of record ",
                                                      database::record_digest(record).hex().substr(0, 12),
                                                      " cannot be built: ", std::string(why)));
  };
  const absl::StatusOr<tensor::KernelSpec> spec = tensor::parse_spec(workload.text, record.problem);
  if (!spec.ok()) return refused(spec.status().message());
  proto::BuildRequest request;
  request.mutable_show()->set_print_after(arguments.print_after);
  request.mutable_show()->set_ir(arguments.ir);
  request.mutable_show()->set_assembly(arguments.assembly);
  *request.mutable_show()->mutable_kernel() =
      driver::kernel_request(*spec, record.problem.target, record.schedule).kernel();
  TF_ASSIGN_OR_RETURN(proto::BuildReply reply, pool.build(request));
  if (reply.code() == static_cast<int>(absl::StatusCode::kInvalidArgument) && !arguments.print_after.empty())
    return absl::InvalidArgumentError(reply.message());
  if (reply.code() != 0) return refused(reply.message());
  return reply;
}

// As a shell reads it. A record may be another's.
std::string quoted(const std::string& text) {
  const auto is_plain = [](char c) { return absl::ascii_isalnum(c) || absl::StrContains("_.,:=+/-", c); };
  if (!text.empty() && std::ranges::all_of(text, is_plain)) return text;
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

// Nothing if all are row-major.
std::string layout_options(const std::string& option, const std::vector<std::string>& layouts) {
  std::string out;
  const bool is_row_major = std::ranges::all_of(layouts, &std::string::empty);
  for (const std::string& layout : is_row_major ? std::vector<std::string>() : layouts)
    absl::StrAppend(&out, " ", option, " ", quoted(layout));
  return out;
}

// What `compiler kernel` needs beside the two texts to build the record's kernel.
std::string kernel_options(const tensor::KernelKey& problem) {
  return absl::StrCat(
      "--target ", quoted(problem.target), problem.binding.empty() ? "" : " --dim " + quoted(problem.binding),
      layout_options("--in-layout", problem.in_layouts), layout_options("--out-layout", problem.out_layouts));
}

absl::StatusOr<int> run(const ShowArguments& arguments) {
  if (!arguments.graph.model.model.empty()) return show_graph(arguments.graph, arguments.json);
  if (arguments.key.empty() || arguments.databases.empty())
    return absl::InvalidArgumentError("give a workload's key and --db, or --graph MODEL");
  TF_ASSIGN_OR_RETURN(const schedule::Numerics allowed, schedule::parse_numerics(arguments.allow));
  TF_ASSIGN_OR_RETURN(const auto records,
                      database::open_all_records(arguments.databases, {.tls_folder = arguments.tls}));
  TF_ASSIGN_OR_RETURN(const database::Workload workload, records->find_workload(arguments.key));
  const bool lowered = arguments.ir || arguments.assembly || !arguments.print_after.empty();
  const bool code = lowered || arguments.schedule;
  if (arguments.workload && !code && !arguments.json) {  // one text, whatever was measured of it
    std::printf("# %s\n%s", printable(workload.op).c_str(), printable_lines(workload.text).c_str());
    return kExitOk;
  }
  TF_ASSIGN_OR_RETURN(const std::vector<database::Measurement> best,
                      best_records(*records, workload.key(), arguments.device, allowed));
  const bool everything = !code && !arguments.workload;
  std::unique_ptr<driver::BuildPool> pool;
  if (lowered) {
    TF_ASSIGN_OR_RETURN(pool, driver::BuildPool::create({}));
  }
  nlohmann::json all = nlohmann::json::array();
  std::vector<std::string> after_passes;  // for each record, if any is lowered
  for (const database::Measurement& record : best) {
    nlohmann::json entry = {{"key", workload.key().hex()},
                            {"op", workload.op},
                            {"target", record.problem.target},
                            {"threads", record.problem.threads},
                            {"binding", record.problem.binding},
                            {"in_layouts", record.problem.in_layouts},
                            {"out_layouts", record.problem.out_layouts},
                            {"device_class", record.device.device_class},
                            {"record", database::record_digest(record).hex()},
                            {"median_ns", record.median_ns().value_or(0)},
                            {"untuned", record.untuned}};
    if (everything || arguments.schedule) entry["schedule"] = record.schedule;
    if (everything || arguments.workload) entry["workload"] = workload.text;
    if (pool) {
      TF_ASSIGN_OR_RETURN(const proto::BuildReply text, kernel_text(*pool, workload, record, arguments));
      std::vector<PassText> passes;
      for (const proto::PassOutput& output : text.after_passes())
        passes.push_back({output.pass(), output.ir()});
      after_passes.push_back(print_after_text(passes));
      if (!passes.empty()) entry["passes"] = print_after_json(passes);
      if (arguments.ir) entry["ir"] = text.ir();
      if (arguments.assembly) entry["asm"] = text.assembly();
    }
    all.push_back(std::move(entry));
  }
  if (arguments.json) {
    std::printf("%s\n", json_text(all, 1).c_str());
    return kExitOk;
  }
  // A record may be another's: its texts are shown, not obeyed.
  for (size_t i = 0; i < best.size(); ++i) {
    const nlohmann::json& entry = all[i];
    std::printf(
        "# %s\n# %s, %s, device %s, %s schedule, %s, record %.12s\n# compiler kernel WORKLOAD --with "
        "SCHEDULE %s\n",
        printable(workload.op).c_str(), printable(entry["target"].get<std::string>()).c_str(),
        counted(entry["threads"].get<int>(), "thread").c_str(),
        printable(entry["device_class"].get<std::string>()).c_str(), best[i].untuned ? "untuned" : "tuned",
        duration_text(entry["median_ns"].get<double>()).c_str(), entry["record"].get<std::string>().c_str(),
        printable(kernel_options(best[i].problem), std::string::npos).c_str());
    if (!arguments.print_after.empty()) std::printf("%s\n", printable_lines(after_passes[i]).c_str());
    for (const char* part : {"workload", "schedule", "ir", "asm"}) {
      if (entry.contains(part)) std::printf("%s\n", printable_lines(entry[part].get<std::string>()).c_str());
    }
  }
  return kExitOk;
}

}  // namespace

void add_show_command(CLI::App& app, Invocation& invocation) {
  auto arguments = std::make_shared<ShowArguments>();
  CLI::App* command = app.add_subcommand(
      "show", "Print the record of a workload that a build uses: text, schedule, code; or a network's graph");
  auto* key =
      command->add_option("key", arguments->key, "The workload's key, or at least its first 6 digits");
  command
      ->add_option("--db", arguments->databases,
                   absl::StrCat("Database: ", database::store_forms(), "; repeatable: the best of all"))
      ->allow_extra_args(false);
  command->add_option("--tls", arguments->tls,
                      "Folder of your certificate (`tuner join`), for a secured tuner");
  command->add_option("--device", arguments->device, "Only records of this device class [any]");
  command->add_option("--allow", arguments->allow,
                      absl::StrCat("Reduced-precision methods to allow: ", schedule::kAllowHelp));
  command->add_flag("--ir", arguments->ir, "Print the loop IR after the last pass");
  add_print_after_option(*command, arguments->print_after, "the loop IR");
  command->add_flag("--asm", arguments->assembly, "Print the assembly");
  command->add_flag("--workload", arguments->workload, "Print the workload, as `compiler kernel` reads it");
  command->add_flag("--schedule", arguments->schedule,
                    "Print the schedule, as `compiler kernel --with` reads it");
  auto* graph = command
                    ->add_option("--graph", arguments->graph.model.model,
                                 absl::StrCat("Print the graph of this network instead, an ",
                                              frontends::format_names(), " file"))
                    ->excludes(key);
  for (CLI::Option* option : add_graph_options(*command, arguments->graph.model)) option->needs(graph);
  command
      ->add_option("--svg", arguments->graph.svg,
                   "Draw the graph to this file, by Graphviz's dot, instead of printing it")
      ->needs(graph);
  command->add_flag("--json", arguments->json, "Print the result as JSON");
  command->footer(
      "Example: compiler show fb0d19c09b24 --db tuning.db --asm\n"
      "         compiler show --graph squeezenet.onnx --svg squeezenet.svg");
  command->callback([arguments, &invocation] { invocation.run = [arguments] { return run(*arguments); }; });
}

}  // namespace tf::compiler_cli
