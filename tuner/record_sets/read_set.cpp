#include "tuner/record_sets/read_set.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/remedy.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "compiler/schedule/schedule.h"

namespace tf::record_sets {
namespace {

constexpr int64_t kMostLatestBytes = 32;
constexpr int64_t kMostSignatureBytes = 1024;

absl::Status refuse(absl::StatusCode code, const std::string& truth, const std::string& remedy) {
  return with_remedy(code, truth, remedy, Between::kSemicolon);
}

absl::StatusOr<int64_t> latest_version(const Place& place) {
  absl::StatusOr<std::string> text = place.read(kLatestFile, kMostLatestBytes);
  if (absl::IsNotFound(text.status()))
    return refuse(
        absl::StatusCode::kNotFound,
        absl::StrCat(printable(place.text()), " holds no set of records: it has no file ", kLatestFile),
        "give the folder that `tuner push` wrote");
  TF_RETURN_IF_ERROR(text.status());
  int64_t version = 0;
  if (absl::SimpleAtoi(absl::StripAsciiWhitespace(*text), &version) && version > 0) return version;
  return absl::InvalidArgumentError(absl::StrCat(
      place.name_of(kLatestFile), " is not the number of a version: \"", printable(*text, 40), "\""));
}

// What the number of the newest version promises is there.
absl::StatusOr<std::string> read_promised(const Place& place, const std::string& file, int64_t most_bytes) {
  absl::StatusOr<std::string> bytes = place.read(file, most_bytes);
  if (!absl::IsNotFound(bytes.status())) return bytes;
  return refuse(absl::StatusCode::kDataLoss,
                absl::StrCat("the set is not whole: there is no ", place.name_of(file)),
                "try again later, or tell its publisher");
}

absl::StatusOr<Digest> signer_of(const Place& place, const std::string& file, const std::string& manifest,
                                 const std::string& signature_text,
                                 const std::vector<rpc::PublicKey>& trusted) {
  std::string signature;
  if (absl::Base64Unescape(absl::StripAsciiWhitespace(signature_text), &signature)) {
    for (const rpc::PublicKey& key : trusted)
      if (key.has_signed(statement_of(manifest), signature)) return key.fingerprint();
  }
  return refuse(absl::StatusCode::kUnauthenticated,
                absl::StrCat(place.name_of(file), " is not signed by a trusted key"),
                "give the publisher's key with --trust, and ask the publisher if you have it");
}

absl::Status check_record(const database::Measurement& m, const Manifest& manifest) {
  if (m.device.device_class != manifest.device_class)
    return absl::InvalidArgumentError("another device class");
  if (std::ranges::find(manifest.targets, m.problem.target) == manifest.targets.end())
    return absl::InvalidArgumentError("another target");
  if (m.semantics_version != manifest.semantics_version)
    return absl::InvalidArgumentError("another version of schedules");
  if (m.outcome != database::Outcome::kOk) return absl::InvalidArgumentError("no time");
  return absl::OkStatus();
}

absl::Status check_as_said(const database::JsonRecords& records, const Manifest& manifest) {
  for (const database::Measurement& m : records.measurements) {
    const absl::Status as_said = check_record(m, manifest);
    if (!as_said.ok())
      return absl::InvalidArgumentError(absl::StrCat("record ", record_digest(m).hex().substr(0, 12), " has ",
                                                     std::string(as_said.message())));
  }
  if (std::ssize(records.measurements) != manifest.measurements ||
      std::ssize(records.workloads) != manifest.workloads ||
      std::ssize(records.verdicts) != manifest.verdicts)
    return absl::InvalidArgumentError("it has another number of records");
  const bool is_foreign = std::ranges::any_of(records.verdicts, [&](const database::NetworkVerdict& verdict) {
    return verdict.device_class != manifest.device_class;
  });
  return is_foreign ? absl::InvalidArgumentError("a verdict has another device class") : absl::OkStatus();
}

}  // namespace

absl::StatusOr<Described> describe_set(const Place& place, const std::vector<rpc::PublicKey>& trusted) {
  TF_ASSIGN_OR_RETURN(const int64_t version, latest_version(place));
  const std::string file = manifest_file(version);
  TF_ASSIGN_OR_RETURN(const std::string text, read_promised(place, file, kMostManifestBytes));
  TF_ASSIGN_OR_RETURN(const std::string signature,
                      read_promised(place, signature_file(version), kMostSignatureBytes));
  TF_ASSIGN_OR_RETURN(const Digest signer, signer_of(place, file, text, signature, trusted));
  absl::StatusOr<Manifest> manifest = parse_manifest(text);
  if (!manifest.ok())
    return absl::InvalidArgumentError(
        absl::StrCat(place.name_of(file), ": ", std::string(manifest.status().message())));
  if (manifest->version != version)
    return absl::InvalidArgumentError(
        absl::StrCat(place.name_of(file), " describes version ", manifest->version));
  return Described{*std::move(manifest), sha256(text), signer};
}

absl::StatusOr<database::JsonRecords> read_records(const Place& place, const Manifest& manifest) {
  const std::string file = content_file(manifest.version), name = place.name_of(file);
  if (manifest.semantics_version != static_cast<uint32_t>(schedule::kSemanticsVersion))
    return refuse(absl::StatusCode::kFailedPrecondition,
                  absl::StrCat(name, " has schedules of version ", manifest.semantics_version,
                               ", but this program builds with version ", schedule::kSemanticsVersion),
                  "use the program's release that the set is for");
  TF_ASSIGN_OR_RETURN(const std::string text, read_promised(place, file, manifest.bytes));
  if (std::ssize(text) < manifest.bytes)
    return refuse(absl::StatusCode::kDataLoss,
                  absl::StrCat(name, " is cut short: it has ", text.size(), " of ", manifest.bytes, " bytes"),
                  "try again, or tell its publisher");
  if (sha256(text) != manifest.content)
    return refuse(absl::StatusCode::kDataLoss, absl::StrCat(name, " is not the file that was signed"),
                  "try again, or tell its publisher");
  TF_ASSIGN_OR_RETURN(database::JsonRecords records, database::parse_jsonl_text(name, text));
  const absl::Status as_said = check_as_said(records, manifest);
  if (!as_said.ok())
    return absl::InvalidArgumentError(
        absl::StrCat(name, " is not what its manifest says: ", std::string(as_said.message())));
  return records;
}

}  // namespace tf::record_sets
