#pragma once
// Owns: StoreScheme, what a kind of store offers to the table of stores: how it is named and opened. Does not
// know: which kinds there are.

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "database/store.h"

namespace tf::database {

struct ReadOptions {
  std::string tls_folder;  // of the caller's certificate, for a secured server; empty: plain text
};

struct WriteOptions {
  // Called, on another thread, each time a write has waited 5 s because another program holds the store
  // locked (not the one that writes it); false gives up with UNAVAILABLE.
  std::function<bool(const absl::Status& locked)> keep_trying = [](const absl::Status&) { return false; };
  // What to do if another process writes the store: the end of that message.
  std::string locked_remedy = "wait for it or stop it";
};

// `place` is the URL after "NAME:" or "NAME://", or the whole of a file's name.
struct StoreScheme {
  const char* name;    // as in "sqlite:FILE"
  const char* form;    // for messages: "FILE or sqlite:FILE"
  const char* suffix;  // of the files that need no scheme: ".jsonl"; "" for all; null for none
  absl::StatusOr<std::unique_ptr<Records>> (*open_records)(const std::string& place,
                                                           const ReadOptions& options);
  // Null: it can only be read, for the reason and with the remedy below.
  absl::StatusOr<std::unique_ptr<Store>> (*open_store)(const std::string& place, const WriteOptions& options);
  const char* why_only_read = "";
  const char* instead = "";
};

}  // namespace tf::database
