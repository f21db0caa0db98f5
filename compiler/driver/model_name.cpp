#include "compiler/driver/model_name.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "compiler/runtime/model_abi.h"

namespace tf::driver {
namespace {

constexpr size_t kLongest = 100;

bool is_name_letter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
}

bool is_identifier(std::string_view name) {
  return !name.empty() && name.size() <= kLongest &&
         !absl::ascii_isdigit(static_cast<unsigned char>(name[0])) &&
         std::ranges::all_of(name, is_name_letter);
}

// A function of a model with that name that the C library has, too; or empty.
std::string clash_with_libc(std::string_view name) {
  void* libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  if (libc == nullptr) return "";
  std::string clash;
#define TF_CLASH(function)                                                       \
  if (const std::string symbol = absl::StrCat(std::string(name), "_" #function); \
      dlsym(libc, symbol.c_str()) != nullptr)                                    \
    clash = symbol;
  TF_MODEL_FUNCTIONS(TF_CLASH)
#undef TF_CLASH
  dlclose(libc);
  return clash;
}

// Libraries that every C and C++ compiler finds by -lNAME, of the C library and of the compiler itself.
constexpr std::string_view kSystemLibraries[] = {
    "anl",    "asan",   "atomic", "c",         "crypt", "dl",    "gcc",    "gcc_eh", "gcc_s",   "gfortran",
    "gomp",   "hwasan", "itm",    "lsan",      "m",     "mvec",  "nsl",    "omp",    "pthread", "quadmath",
    "resolv", "rt",     "ssp",    "thread_db", "tsan",  "ubsan", "unwind", "util"};

absl::Status refuse(std::string_view name, const std::string& truth) {
  return absl::InvalidArgumentError(absl::StrCat("the name '", std::string(name), "' ", truth,
                                                 ": give another with --name, as in --name my_model"));
}

}  // namespace

absl::Status check_model_name(std::string_view name) {
  if (!is_identifier(name))
    return refuse(name, absl::StrCat("is not a C identifier of at most ", kLongest, " characters"));
  if (name.starts_with("tf_")) return refuse(name, "begins with tf_, as the runtime's own functions do");
  if (std::ranges::find(kSystemLibraries, name) != std::end(kSystemLibraries))
    return refuse(name, absl::StrCat("would make the library lib", std::string(name), ".so, which -l",
                                     std::string(name), " takes from the system"));
  const std::string clash = clash_with_libc(name);
  if (clash.empty()) return absl::OkStatus();
  return refuse(name, absl::StrCat("would replace the C library's ", clash));
}

std::string model_name_of(const std::string& path) {
  std::error_code error;
  const std::filesystem::path file = std::filesystem::absolute(path, error).lexically_normal();
  std::string name = file.stem().string();
  if (name == "model" && file.parent_path().has_filename()) name = file.parent_path().filename().string();
  name = name.substr(0, kLongest);
  std::ranges::replace_if(
      name, [](char c) { return !is_name_letter(c); }, '_');
  if (check_model_name(name).ok()) return name;
  return absl::StrCat("model_", name.substr(0, kLongest - 6));
}

}  // namespace tf::driver
