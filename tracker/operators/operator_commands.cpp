#include "tracker/operators/operator_commands.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/cli/text_table.h"
#include "base/status.h"
#include "base/text/json_text.h"
#include "base/text/printable.h"
#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/connection/default_endpoints.h"
#include "tracker/operators/devices_text.h"
#include "tracker/operators/durations.h"
#include "tracker/operators/operator_client.h"
#include "tracker/operators/tracker_call.h"

namespace tf::tracker {
namespace {

struct OperatorArguments {
  std::string tracker = rpc::kDefaultTracker;
  std::string tls;
  std::string key;
  std::string selector;
  std::string name;
  std::vector<std::string> names;  // ids, or patterns of them
  std::string user;
  std::string from;
  std::string duration;
  uint64_t id = 0;
  bool json = false;
  bool undo = false;
};

namespace pb = tunefarm::farm::v1;
using Stub = pb::Operators::Stub;

template <typename Request>
Request about_device(const std::string& id) {
  Request request;
  request.set_device_id(id);
  return request;
}

using Command = absl::Status (*)(const TrackerLink&, const OperatorArguments&);

TextFormat format_of(const OperatorArguments& arguments) {
  return arguments.json ? TextFormat::kJson : TextFormat::kTable;
}

absl::Status print(const absl::StatusOr<std::string>& text) {
  if (text.ok()) std::fputs(text->c_str(), stdout);
  return text.status();
}

// For people, beside what scripts read: what is so now.
absl::Status say(const absl::Status& done, const std::string& line) {
  if (done.ok()) std::fprintf(stderr, "%s\n", line.c_str());
  return done;
}

std::string device_text(const std::string& id) {
  return absl::StrCat("device ", printable(id));
}

// The first failure decides; each is told.
absl::Status for_each_device(const TrackerLink& tracker, const OperatorArguments& arguments,
                             Presence presence,
                             const std::function<absl::Status(const std::string& id)>& change) {
  TF_ASSIGN_OR_RETURN(const std::vector<std::string> ids, devices_called(tracker, arguments.names, presence));
  absl::Status first;
  for (const std::string& id : ids) {
    const absl::Status changed = change(id);
    if (changed.ok()) continue;
    if (!first.ok()) std::fprintf(stderr, "tracker: %s\n", std::string(changed.message()).c_str());
    first.Update(changed);
  }
  return first;
}

absl::Status devices(const TrackerLink& tracker, const OperatorArguments& arguments) {
  TF_ASSIGN_OR_RETURN(const DevicesText listed, render_devices(tracker, arguments.key, arguments.selector,
                                                               format_of(arguments), terminal_width()));
  std::fputs(listed.text.c_str(), stdout);
  const bool is_asked_for = !arguments.key.empty() || !arguments.selector.empty();
  if (is_asked_for && !arguments.json && listed.devices == 0) {
    std::fprintf(stderr,
                 "tracker devices: no device matches the key and labels; run `tracker devices` without them "
                 "to list all devices\n");
  }
  return absl::OkStatus();
}

absl::Status waiting(const TrackerLink& tracker, const OperatorArguments& arguments) {
  return print(render_waiting(tracker, format_of(arguments), terminal_width()));
}

absl::Status reservations(const TrackerLink& tracker, const OperatorArguments& arguments) {
  return print(render_reservations(tracker, format_of(arguments), terminal_width()));
}

absl::Status cordon(const TrackerLink& tracker, const OperatorArguments& arguments) {
  return for_each_device(tracker, arguments, Presence::kAny, [&](const std::string& id) {
    return say(
        set_admission(tracker, id, Admission::kCordoned).status(),
        absl::StrCat(device_text(id), " is cordoned: it gets no new lease; the current one continues"));
  });
}

absl::Status uncordon(const TrackerLink& tracker, const OperatorArguments& arguments) {
  return for_each_device(tracker, arguments, Presence::kAny, [&](const std::string& id) {
    return say(set_admission(tracker, id, Admission::kOpen).status(),
               absl::StrCat(device_text(id), " is open: it can be leased again"));
  });
}

// A tracker of before does not say how many leases the device has.
std::string draining_text(std::optional<uint32_t> leases) {
  if (!leases) return "is draining: it gets no new lease; a current one is not renewed";
  if (*leases == 0) return "is drained: it has no lease and gets no new one";
  return absl::StrCat("is draining: it gets no new lease, and the current ",
                      *leases == 1 ? "one is" : "ones are",
                      " not renewed; `tracker devices` shows when it is drained");
}

absl::Status drain(const TrackerLink& tracker, const OperatorArguments& arguments) {
  if (arguments.undo) return uncordon(tracker, arguments);
  return for_each_device(tracker, arguments, Presence::kAny, [&](const std::string& id) -> absl::Status {
    TF_ASSIGN_OR_RETURN(const std::optional<uint32_t> leases,
                        set_admission(tracker, id, Admission::kDraining));
    return say(absl::OkStatus(), absl::StrCat(device_text(id), " ", draining_text(leases)));
  });
}

absl::Status readmit(const TrackerLink& tracker, const OperatorArguments& arguments) {
  return for_each_device(tracker, arguments, Presence::kAny, [&](const std::string& id) {
    return say(
        call(tracker, about_device<pb::ReadmitDeviceRequest>(id), &Stub::ReadmitDevice).status(),
        absl::StrCat(device_text(id),
                     " is readmitted: it has left quarantine, and its golden kernel sets a new baseline"));
  });
}

absl::Status forget(const TrackerLink& tracker, const OperatorArguments& arguments) {
  return for_each_device(tracker, arguments, Presence::kAway, [&](const std::string& id) {
    return say(call(tracker, about_device<pb::ForgetDeviceRequest>(id), &Stub::ForgetDevice).status(),
               absl::StrCat(device_text(id), " is forgotten"));
  });
}

absl::Status pardon(const TrackerLink& tracker, const OperatorArguments& arguments) {
  pb::PardonCandidateRequest request;
  request.set_candidate_digest(arguments.name);
  return say(call(tracker, request, &Stub::PardonCandidate).status(),
             absl::StrCat("candidate ", printable(arguments.name), " is unblocked: it can run again"));
}

absl::Status release(const TrackerLink& tracker, const OperatorArguments& arguments) {
  std::vector<std::string> all;
  const absl::Status released =
      for_each_device(tracker, arguments, Presence::kAny, [&](const std::string& name) -> absl::Status {
        TF_ASSIGN_OR_RETURN(const std::vector<std::string> ids, force_release(tracker, name));
        all.insert(all.end(), ids.begin(), ids.end());
        if (ids.empty()) {
          std::fprintf(
              stderr,
              "tracker release: nothing was released: %s has no lease; `tracker devices` shows all holders\n",
              printable(name).c_str());
        }
        return absl::OkStatus();
      });
  if (arguments.json && (released.ok() || !all.empty())) {
    std::printf("%s\n", json_text({{"leases", all}}, 2).c_str());
  } else {
    for (const std::string& id : all) std::printf("%s\n", id.c_str());
  }
  return released;
}

absl::Status reserve(const TrackerLink& tracker, const OperatorArguments& arguments) {
  absl::Time from = absl::Now();
  std::string error;
  if (!arguments.from.empty() && !absl::ParseTime(absl::RFC3339_full, arguments.from, &from, &error)) {
    return absl::InvalidArgumentError(absl::StrCat("--from ", printable(arguments.from),
                                                   " is not a time: write it as in 2026-05-01T09:00:00Z"));
  }
  TF_ASSIGN_OR_RETURN(const absl::Duration duration, parse_duration("--for", arguments.duration));
  pb::ReserveRequest request;
  request.set_user(arguments.user);
  request.set_device_key(arguments.key);
  request.set_selector(arguments.selector);
  request.set_from_unix_ms(absl::ToUnixMillis(from));
  request.set_until_unix_ms(absl::ToUnixMillis(from + duration));
  TF_ASSIGN_OR_RETURN(const pb::Reservation made, call(tracker, request, &Stub::Reserve));
  if (arguments.json) return print(reservation_json(made));
  std::printf("%llu\n", static_cast<unsigned long long>(made.id()));
  // It is made all the same, for one who is yet to come; nor does it depend on this second call.
  if (!knows_user(tracker, arguments.user).value_or(true)) {
    std::fprintf(stderr,
                 "tracker reserve: warning: user %s neither holds nor waits for a device; see the column "
                 "user in `tracker waiting` for names of submitters and tuners\n",
                 printable(arguments.user).c_str());
  }
  if (made.devices() == 0) {
    std::fprintf(stderr,
                 "tracker reserve: warning: no device matches the key and labels yet; reservation %llu "
                 "applies to matching devices that join later (`tracker unreserve %llu` ends it)\n",
                 static_cast<unsigned long long>(made.id()), static_cast<unsigned long long>(made.id()));
  }
  return absl::OkStatus();
}

absl::Status unreserve(const TrackerLink& tracker, const OperatorArguments& arguments) {
  pb::UnreserveRequest request;
  request.set_id(arguments.id);
  return say(call(tracker, request, &Stub::Unreserve).status(),
             absl::StrCat("reservation ", arguments.id, " has ended"));
}

// One program's commands, all of which fill the same arguments.
class Adder {
 public:
  Adder(CLI::App& app, std::function<absl::Status()>& run) : app_(app), run_(run) {}

  OperatorArguments& arguments() { return *arguments_; }

  CLI::App& add(const std::string& name, const std::string& what, const std::string& example,
                Command command) {
    CLI::App& added = *app_.add_subcommand(name, what);
    added.add_option("--tracker", arguments_->tracker, "The tracker's HOST:PORT")->capture_default_str();
    added.add_option("--tls", arguments_->tls, "Folder of your certificate, for a secured tracker");
    added.footer(absl::StrCat("Example: tracker ", example));
    added.callback([arguments = arguments_, command, &run = run_] {
      run = [arguments, command]() -> absl::Status {
        TF_ASSIGN_OR_RETURN(const TrackerLink tracker, link_to(arguments->tracker, arguments->tls));
        return command(tracker, *arguments);
      };
    });
    return added;
  }

  CLI::App& add_listing(const std::string& name, const std::string& what, const std::string& example,
                        Command command) {
    CLI::App& added = add_printing(name, what, example, command, "Print JSON instead of a table");
    added.footer(absl::StrCat(
        added.get_footer(),
        "\nLong texts are shortened to fit the terminal; --json and piped output show them in full."));
    return added;
  }

  CLI::App& add_printing(const std::string& name, const std::string& what, const std::string& example,
                         Command command, const std::string& json) {
    CLI::App& added = add(name, what, example, command);
    added.add_flag("--json", arguments_->json, json);
    return added;
  }

  CLI::App& add_of_device(const std::string& name, const std::string& what, Command command) {
    CLI::App& added = add(name, what, absl::StrCat(name, " box-1a2b3c4d"), command);
    added
        .add_option("DEVICE", arguments_->names,
                    "Device ids (without the slot), or patterns such as 'rack1-*'")
        ->required();
    return added;
  }

 private:
  CLI::App& app_;
  std::function<absl::Status()>& run_;
  const std::shared_ptr<OperatorArguments> arguments_ = std::make_shared<OperatorArguments>();
};

void add_listings(Adder& adder) {
  OperatorArguments& arguments = adder.arguments();
  CLI::App& listing = adder.add_listing("devices", "List devices: state, holder, temperature, drift, labels",
                                        "devices --tracker 127.0.0.1:7190 --json", devices);
  listing.footer(absl::StrCat(listing.get_footer(),
                              "\nThe columns queued and done count trials of the current lease. Trials sent "
                              "directly to the agent are counted when the agent reports one finished."));
  listing.add_option("--key", arguments.key, "Only devices with this key");
  listing.add_option("--selector", arguments.selector,
                     "Only devices with these labels, as in room=lab3,!shared");
  adder.add_listing("waiting", "List waiting lease requests in order, and the slots that each user holds",
                    "waiting", waiting);
  adder.add_listing("reservations", "List reservations", "reservations --json", reservations);
}

void add_device_commands(Adder& adder) {
  adder.add_of_device("cordon", "Stop granting leases of a device; the current lease continues", cordon);
  adder.add_of_device("uncordon", "Allow leases of a device again, after cordon or drain", uncordon);
  adder.add_of_device("drain", "Stop granting and renewing leases of a device", drain)
      .add_flag("--undo", adder.arguments().undo, "Same as uncordon");
  adder.add_of_device(
      "readmit", "Move a device from quarantine to probation, with a new golden-kernel baseline", readmit);
  adder.add_of_device("forget",
                      "Remove absent devices from the list; a pattern skips devices that are online", forget);
}

void add_reservation_commands(Adder& adder) {
  OperatorArguments& arguments = adder.arguments();
  CLI::App& making =
      adder.add_printing("reserve", "Reserve devices for one user; prints the reservation's id",
                         "reserve --user alice --key pi4 --selector room=lab3 --for 2h", reserve,
                         "Print the reservation as a JSON object, as `tracker reservations` does");
  making
      .add_option(
          "--user", arguments.user,
          "Name of a submitter or a tuner, as in the column user of `tracker waiting` and `tracker devices`")
      ->required();
  making.add_option("--key", arguments.key, "Only devices with this key [any]");
  making.add_option("--selector", arguments.selector,
                    "Only devices with these labels, as in room=lab3,!shared");
  making.add_option("--from", arguments.from, "Start time, as in 2026-05-01T09:00:00Z [now]");
  making.add_option("--for", arguments.duration, "Duration, as in 1h30m or 2d; at most 366 days")->required();
  adder.add("unreserve", "End a reservation", "unreserve 3", unreserve)
      .add_option("ID", arguments.id, "Id of the reservation (`tracker reservations`)")
      ->required();
}

}  // namespace

void add_operator_commands(CLI::App& app, std::function<absl::Status()>& run) {
  Adder adder(app, run);
  add_listings(adder);
  add_device_commands(adder);
  add_reservation_commands(adder);
  adder
      .add("pardon", "Remove a candidate from the blocklist, so that it can run again",
           absl::StrCat("pardon ", std::string(64, '0')), pardon)
      .add_option("DIGEST", adder.arguments().name, "The candidate's SHA-256, as in its results")
      ->required();
  adder
      .add_printing("release", "End leases by force; prints their ids", "release box-1a2b3c4d/0", release,
                    "Print a JSON object with the list \"leases\"")
      .add_option(
          "NAME", adder.arguments().names,
          "Slots, devices or id patterns (`tracker devices`), or lease ids (`tracker devices --json`)")
      ->required();
}

}  // namespace tf::tracker
