// tuner push | pull: sets of best records that people share.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/cli/counted.h"
#include "base/cli/exit_code.h"
#include "base/status.h"
#include "base/text/json_text.h"
#include "base/text/printable.h"
#include "base/unix_time.h"
#include "compiler/target/target.h"
#include "database/sqlite/record_sets.h"
#include "database/stores/open_store.h"
#include "tuner/cli/commands.h"
#include "tuner/cli/local_user.h"
#include "tuner/record_sets/best_records.h"
#include "tuner/record_sets/keys.h"
#include "tuner/record_sets/push.h"
#include "tuner/record_sets/read_set.h"
#include "tuner/session/calibrate/calibration_kernels.h"

namespace tf::tuner_cli {
namespace {

using nlohmann::json;

struct PushArguments {
  std::string folder, tls, device, as, target, set, key, make_key, by;
  std::vector<std::string> databases;
  bool json = false;
};

struct PullArguments {
  std::string place, db, ca;
  std::vector<std::string> trusted;
  bool json = false;
};

absl::StatusOr<int> make_key(const PushArguments& arguments) {
  TF_ASSIGN_OR_RETURN(const rpc::KeyPair key, record_sets::make_keys(arguments.make_key));
  const std::string fingerprint = rpc::PublicKey::of(key).fingerprint().hex();
  if (arguments.json) {
    std::printf("%s\n", json_text(json{{"key", arguments.make_key},
                                       {"public_key", arguments.make_key + ".pub"},
                                       {"fingerprint", fingerprint}})
                            .c_str());
  } else {
    std::fprintf(stderr, "made %s, which stays secret, and %s.pub, which you give to others (SHA-256 %s)\n",
                 arguments.make_key.c_str(), arguments.make_key.c_str(), fingerprint.c_str());
  }
  return kExitOk;
}

// What the record's device class is called in the set.
absl::StatusOr<std::string> shared_class(const PushArguments& arguments) {
  constexpr char kLocal[] = "local";  // tuner/session/session.h
  const std::string& name = arguments.as.empty() ? arguments.device : arguments.as;
  if (name != kLocal) return name;
  return absl::InvalidArgumentError(
      "the device class local means each user's own machine: give --as with a name for this kind of machine, "
      "such as "
      "--as ryzen-9950x");
}

absl::StatusOr<record_sets::BestRecords> select(const PushArguments& arguments) {
  record_sets::Selection selection{.device_class = arguments.device,
                                   .as = arguments.as == arguments.device ? "" : arguments.as,
                                   .leave_out = session::is_calibration};
  if (!arguments.target.empty()) {
    TF_ASSIGN_OR_RETURN(const target::Target target, target::parse_target(arguments.target));
    selection.target = target.text();
  }
  TF_ASSIGN_OR_RETURN(const auto records,
                      database::open_all_records(arguments.databases, {.tls_folder = arguments.tls}));
  return best_records(*records, selection);
}

absl::StatusOr<int> run_push(const PushArguments& arguments) {
  if (!arguments.make_key.empty()) return make_key(arguments);
  if (arguments.folder.empty() || arguments.databases.empty() || arguments.device.empty() ||
      arguments.key.empty())
    return absl::InvalidArgumentError("give FOLDER, --db, --device and --key; or --make-key alone");
  TF_ASSIGN_OR_RETURN(const std::string device_class, shared_class(arguments));
  const std::string name = arguments.set.empty() ? device_class : arguments.set;
  if (const absl::Status named = record_sets::check_name(name); !named.ok())
    return absl::InvalidArgumentError(absl::StrCat(std::string(named.message()), "; give --set"));
  TF_ASSIGN_OR_RETURN(const rpc::KeyPair key, record_sets::read_private_key(arguments.key));
  TF_ASSIGN_OR_RETURN(const record_sets::BestRecords best, select(arguments));
  TF_ASSIGN_OR_RETURN(const record_sets::Pushed pushed,
                      record_sets::push(best, key,
                                        {.folder = arguments.folder,
                                         .name = name,
                                         .device_class = device_class,
                                         .by = arguments.by.empty() ? local_user() : arguments.by,
                                         .created_unix_ns = now_unix_ns()}));
  const record_sets::Manifest& manifest = pushed.manifest;
  if (best.verdicts_left_out > 0)
    std::fprintf(stderr, "tuner push: leaves out %s on networks, which are on device class %s\n",
                 counted(best.verdicts_left_out, "verdict").c_str(), arguments.device.c_str());
  if (arguments.json) {
    std::printf("%s\n", json_text(json{{"set", manifest.name},
                                       {"version", manifest.version},
                                       {"is_new", pushed.is_new},
                                       {"device_class", manifest.device_class},
                                       {"targets", manifest.targets},
                                       {"workloads", manifest.workloads},
                                       {"measurements", manifest.measurements},
                                       {"verdicts", manifest.verdicts},
                                       {"bytes", manifest.bytes}},
                                  1)
                            .c_str());
  } else if (!pushed.is_new) {
    std::fprintf(stderr, "nothing to publish: version %s of set %s has these records\n",
                 absl::StrCat(manifest.version).c_str(), manifest.name.c_str());
  } else {
    std::fprintf(stderr, "published version %s of set %s in %s: %s of %s, %s\n",
                 absl::StrCat(manifest.version).c_str(), manifest.name.c_str(), arguments.folder.c_str(),
                 counted(manifest.measurements, "record").c_str(),
                 counted(manifest.workloads, "workload").c_str(),
                 counted(manifest.verdicts, "verdict").c_str());
  }
  return kExitOk;
}

absl::StatusOr<int> run_pull(const PullArguments& arguments) {
  const std::optional<std::string> file = database::sqlite_file(arguments.db);
  if (!file)
    return absl::InvalidArgumentError(
        absl::StrCat("cannot pull into ", arguments.db, ": give a database FILE"));
  std::vector<rpc::PublicKey> trusted;
  for (const std::string& key : arguments.trusted) {
    TF_ASSIGN_OR_RETURN(rpc::PublicKey known, record_sets::read_public_key(key));
    trusted.push_back(std::move(known));
  }
  TF_ASSIGN_OR_RETURN(const record_sets::Place place,
                      record_sets::Place::parse(arguments.place, {.ca_file = arguments.ca}));
  TF_ASSIGN_OR_RETURN(const record_sets::Described described, describe_set(place, trusted));
  const record_sets::Manifest& manifest = described.manifest;
  TF_ASSIGN_OR_RETURN(const database::JsonRecords records, read_records(place, manifest));
  TF_ASSIGN_OR_RETURN(const database::MergeCounts counts,
                      database::merge_record_set(*file,
                                                 {.name = manifest.name,
                                                  .signer = described.signer,
                                                  .version = manifest.version,
                                                  .manifest = described.digest,
                                                  .previous = manifest.previous,
                                                  .device_class = manifest.device_class,
                                                  .made_by = manifest.by,
                                                  .source = place.text(),
                                                  .created_unix_ns = manifest.created_unix_ns,
                                                  .pulled_unix_ns = now_unix_ns()},
                                                 records, "wait until it ends, or stop it and pull again"));
  if (arguments.json) {
    std::printf("%s\n", json_text(json{{"set", manifest.name},
                                       {"version", manifest.version},
                                       {"device_class", manifest.device_class},
                                       {"signer", described.signer.hex()},
                                       {"by", manifest.by},
                                       {"new", counts.added},
                                       {"better", counts.better},
                                       {"slower", counts.slower},
                                       {"equal", counts.equal},
                                       {"verdicts", counts.verdicts}},
                                  1)
                            .c_str());
    return kExitOk;
  }
  std::fprintf(stderr,
               "pulled version %s of set %s (device class %s, by %s): %s: %s new, %s better, %s slower, %s "
               "equal; %s\n",
               absl::StrCat(manifest.version).c_str(), manifest.name.c_str(),
               printable(manifest.device_class).c_str(), printable(manifest.by).c_str(),
               counted(manifest.measurements, "record").c_str(), absl::StrCat(counts.added).c_str(),
               absl::StrCat(counts.better).c_str(), absl::StrCat(counts.slower).c_str(),
               absl::StrCat(counts.equal).c_str(), counted(counts.verdicts, "verdict").c_str());
  return kExitOk;
}

void add_push(CLI::App& app, Invocation& invocation) {
  auto arguments = std::make_shared<PushArguments>();
  CLI::App* command = app.add_subcommand(
      "push", "Publish the best records of a device class in a folder, as a signed version of a set");
  command->add_option("folder", arguments->folder,
                      "Folder of the set, which any web server can serve; made if need be");
  command
      ->add_option("--db", arguments->databases,
                   absl::StrCat("Database: ", database::store_forms(), "; repeatable: the best of all"))
      ->allow_extra_args(false);
  command->add_option("--tls", arguments->tls,
                      "Folder of your certificate (`tuner join`), for a secured tuner");
  command->add_option("--device", arguments->device, "Device class of the records");
  command->add_option(
      "--as", arguments->as,
      "Name of the device class in the set, of records of `tuner tune` without a farm, whose class is local");
  command->add_option("--target", arguments->target, "Only records of this target [all]");
  command->add_option("--set", arguments->set, "Name of the set [the device class]");
  command->add_option("--key", arguments->key, "File of your private key");
  command->add_option("--by", arguments->by, "Who publishes it, for people [your user name]");
  command->add_option("--make-key", arguments->make_key,
                      "Make the private key FILE and the public key FILE.pub, and do nothing else");
  command->add_flag("--json", arguments->json, "Print the result as JSON");
  command->footer(
      "Example: tuner push --make-key publisher.key\n"
      "         tuner push sets/rpi4 --db tune.db --device rpi4 --key publisher.key");
  command->callback(
      [arguments, &invocation] { invocation.run = [arguments] { return run_push(*arguments); }; });
}

void add_pull(CLI::App& app, Invocation& invocation) {
  auto arguments = std::make_shared<PullArguments>();
  CLI::App* command = app.add_subcommand(
      "pull", "Merge the newest version of a set of records into a database; repeating it changes nothing");
  command->add_option("place", arguments->place, "FOLDER or URL (https://…) that `tuner push` published in")
      ->required();
  command->add_option("--trust", arguments->trusted, "File of a publisher's public key; repeatable")
      ->required()
      ->allow_extra_args(false);
  command->add_option("--db", arguments->db, "Database FILE, created if it does not exist")->required();
  command->add_option("--ca", arguments->ca,
                      "Certificates in PEM that may vouch for an https server [those of the system]");
  command->add_flag("--json", arguments->json, "Print the counts as JSON");
  command->footer(
      "Example: tuner pull https://example.org/sets/rpi4 --trust publisher.key.pub --db shared.db\n"
      "         compiler build squeezenet.onnx --db tune.db --db shared.db -o build/squeezenet\n"
      "new: of a kernel without a time on that device class. better, slower: than the fastest that was "
      "there.");
  command->callback(
      [arguments, &invocation] { invocation.run = [arguments] { return run_pull(*arguments); }; });
}

}  // namespace

void add_set_commands(CLI::App& app, Invocation& invocation) {
  add_push(app, invocation);
  add_pull(app, invocation);
}

}  // namespace tf::tuner_cli
