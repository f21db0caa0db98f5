#include "rpc/identity/identity_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/files/file.h"
#include "base/files/owned_fd.h"
#include "base/remedy.h"
#include "base/status.h"

namespace tf::rpc {
namespace {

absl::Status annotated(const std::string& path, const absl::Status& status) {
  return absl::DataLossError(absl::StrCat(path, " is damaged: ", std::string(status.message())));
}

// Also of what cannot be looked at: whoever reads it then says why.
bool is_there(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::status(path, ignored).type() != std::filesystem::file_type::not_found;
}

// A file of ours that is not there is no "not found": that means a device, to who asks a tracker.
absl::StatusOr<std::string> read_own_file(const std::string& path) {
  absl::StatusOr<std::string> text = read_regular_file(path, kMostIdentityBytes);
  if (!absl::IsNotFound(text.status())) return text;
  return with_remedy(absl::StatusCode::kFailedPrecondition, std::string(text.status().message()),
                     "restore it from a copy, or join again into another folder", Between::kSemicolon);
}

absl::StatusOr<Certificate> read_certificate(const std::string& path) {
  TF_ASSIGN_OR_RETURN(const std::string pem, read_own_file(path));
  absl::StatusOr<Certificate> certificate = Certificate::from_pem(pem);
  if (!certificate.ok()) return annotated(path, certificate.status());
  return certificate;
}

absl::Status check_private(const std::string& path) {
  struct stat there {};
  if (::stat(path.c_str(), &there) != 0 || (there.st_mode & 077) == 0) return absl::OkStatus();
  return with_remedy(absl::StatusCode::kPermissionDenied, absl::StrCat("other users may read the key ", path),
                     "run chmod 600 on it; if somebody may have read it, join again");
}

// Of a folder without a member's certificate: what it is instead.
absl::Status no_member(const std::string& folder) {
  constexpr auto kCode = absl::StatusCode::kFailedPrecondition;
  constexpr const char* kJoin = "make one with `tuner join` or `device_agent join`";
  if (folder_of(folder) == FolderOf::kCa) {
    const std::string admin = absl::StrCat(absl::StripSuffix(folder, "/"), "/admin");
    return with_remedy(kCode, absl::StrCat("--tls ", folder, " is the CA's folder, not a member's"),
                       folder_of(admin) == FolderOf::kMember
                           ? absl::StrCat("give --tls ", admin, ", or the folder of your own certificate")
                           : "give the folder of your own certificate");
  }
  if (!is_there(folder)) return with_remedy(kCode, absl::StrCat("--tls ", folder, " does not exist"), kJoin);
  return with_remedy(kCode, absl::StrCat("--tls ", folder, " holds no certificate"), kJoin);
}

}  // namespace

IdentityFiles identity_files(const std::string& folder) {
  return {.key = folder + "/key.pem",
          .certificate = folder + "/cert.pem",
          .ca = folder + "/ca.pem",
          .tracker = folder + "/tracker"};
}

std::string ca_key_file(const std::string& folder) {
  return folder + "/ca-key.pem";
}

FolderOf folder_of(const std::string& folder) {
  if (is_there(ca_key_file(folder))) return FolderOf::kCa;
  const IdentityFiles files = identity_files(folder);
  return is_there(files.certificate) || is_there(files.key) ? FolderOf::kMember : FolderOf::kNobody;
}

absl::StatusOr<Member> load_member(const std::string& folder, absl::Time now) {
  const IdentityFiles files = identity_files(folder);
  if (!is_there(files.certificate)) return no_member(folder);
  TF_ASSIGN_OR_RETURN(Certificate certificate, read_certificate(files.certificate));
  TF_ASSIGN_OR_RETURN(Certificate ca, read_certificate(files.ca));
  TF_RETURN_IF_ERROR(check_private(files.key));
  TF_ASSIGN_OR_RETURN(const std::string pem, read_own_file(files.key));
  absl::StatusOr<KeyPair> key = KeyPair::from_pem(pem);
  if (!key.ok()) return annotated(files.key, key.status());
  if (!certificate.matches(*key)) {
    return with_remedy(absl::StatusCode::kDataLoss,
                       absl::StrCat(files.certificate, " does not match the key in its folder"),
                       "join again into another folder");
  }
  if (!certificate.identity()) {
    return absl::DataLossError(absl::StrCat(files.certificate, " does not name a farm member"));
  }
  if (const absl::Status issued = certificate.check_issued_by(ca, now); !issued.ok()) {
    const Trouble trouble = trouble_of(issued);
    return with_remedy(issued.code(), absl::StrCat("--tls ", folder, ": ", trouble.truth), trouble.remedy);
  }
  const absl::StatusOr<std::string> tracker = read_regular_file(files.tracker, kMostIdentityBytes);
  return Member{.key = *key,
                .certificate = certificate,
                .ca = std::move(ca),
                .tracker = tracker.ok() ? std::string(absl::StripAsciiWhitespace(*tracker)) : "",
                .identity = *certificate.identity()};
}

absl::Status make_private_folder(const std::string& folder) {
  const std::string path(absl::StripSuffix(folder, "/"));
  std::error_code error;
  const std::filesystem::path above = std::filesystem::path(path).parent_path();
  if (!above.empty()) std::filesystem::create_directories(above, error);
  if (!error && ::mkdir(path.c_str(), 0700) == 0) return absl::OkStatus();
  struct stat there {};
  if (error || errno != EEXIST || ::stat(path.c_str(), &there) != 0) {
    return absl::PermissionDeniedError(absl::StrCat("cannot make the folder ", folder, ": ",
                                                    error ? error.message() : std::strerror(errno)));
  }
  if (S_ISDIR(there.st_mode) && there.st_uid == ::geteuid() && (there.st_mode & 077) == 0)
    return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("a key needs a folder that only its owner may enter, but others may enter ", folder,
                   ": give a new folder"));
}

absl::StatusOr<KeyPair> make_member_key(const std::string& folder) {
  TF_RETURN_IF_ERROR(make_private_folder(folder));
  const IdentityFiles files = identity_files(folder);
  if (folder_of(folder) == FolderOf::kCa) {  // whose ca.pem a member's would replace
    return absl::AlreadyExistsError(
        absl::StrCat(folder, " is the CA's folder; a member needs its own: give another --tls"));
  }
  if (std::filesystem::exists(files.certificate)) {
    return absl::AlreadyExistsError(
        absl::StrCat(folder, " already holds a certificate: remove the folder, or give another --tls"));
  }
  std::error_code error;
  std::filesystem::remove(files.key, error);  // of an attempt that got no certificate
  TF_ASSIGN_OR_RETURN(KeyPair key, KeyPair::generate());
  TF_RETURN_IF_ERROR(write_secret(files.key, key.pem()));
  return key;
}

void discard_member_key(const std::string& folder) {
  ::unlink(identity_files(folder).key.c_str());
  ::rmdir(folder.c_str());  // only if it is empty
}

absl::Status save_member(const std::string& folder, const Certificate& certificate, const Certificate& ca,
                         const std::string& tracker) {
  const IdentityFiles files = identity_files(folder);
  TF_RETURN_IF_ERROR(write_file(files.ca, ca.pem()));
  if (!tracker.empty()) TF_RETURN_IF_ERROR(write_file(files.tracker, tracker + "\n"));
  return write_file(files.certificate, certificate.pem() + ca.pem());
}

absl::Status write_secret(const std::string& path, std::string_view bytes) {
  const OwnedFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (file.get() < 0 && errno == EEXIST)
    return absl::AlreadyExistsError(absl::StrCat(path, " already exists and is not overwritten"));
  const bool written =
      file.get() >= 0 &&
      ::write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()) &&
      ::fsync(file.get()) == 0;
  if (written) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat("cannot write ", path, ": ", std::strerror(errno)));
}

}  // namespace tf::rpc
