// A file of JSON lines that is imported, and each of its lines.
#include <sstream>

#include "database/jsonl.h"
#include "database/memory_store.h"
#include "database/record_json.h"
#include "tests/fuzz/input.h"

namespace {

using namespace tf::database;

// What was imported can be exported, and imported elsewhere as the same.
void pass_on(Store& store) {
  std::ostringstream text;
  const auto exported = export_jsonl(store, {}, text);
  TF_CHECK(exported.ok()) << exported.status().message();
  const auto elsewhere = make_memory_store();
  const auto imported = import_jsonl(tf::fuzz::as_file("exported.jsonl", text.str()), *elsewhere);
  TF_CHECK(imported.ok()) << imported.status().message();
  TF_CHECK(imported->workloads == exported->workloads && imported->measurements == exported->measurements)
      << text.str();
}

void round_trip(std::string_view text) {
  const auto line = parse_json_line(text);
  if (!line.ok() || std::holds_alternative<JsonNetworkTime>(*line)) return;  // left out by imports
  const auto print = [](const auto& value) -> std::string {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, JsonNetworkTime>)
      return "";
    else
      return to_json(value);
  };
  const std::string printed = std::visit(print, *line);
  const auto again = parse_json_line(printed);
  TF_CHECK(again.ok()) << again.status().message() << "\n" << printed;
  TF_CHECK(std::visit(print, *again) == printed) << printed;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = tf::fuzz::text(data, size);
  const auto store = make_memory_store();
  if (import_jsonl(tf::fuzz::as_file("records.jsonl", text), *store).ok()) pass_on(*store);
  round_trip(text.substr(0, text.find('\n')));
  return 0;
}
