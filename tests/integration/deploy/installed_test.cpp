// What `cmake --install` and the Debian packages put into a folder works from there: a model is built and run by the
// installed programs alone.
#include <filesystem>
#include <set>

#include "absl/strings/str_split.h"
#include "base/files/file.h"
#include "base/files/temporary_folder.h"
#include "tests/integration/deploy/script.h"

namespace tf::deploy_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Installed : public ::testing::Test {
 protected:
  std::string file(const std::string& name) const { return folder_.file(name); }

  // The C example with the programs below `prefix`, which must not find those of the build.
  Ended run_example(const std::string& example, const std::string& prefix) {
    return run("env -u TUNEFARM_BUILD PATH=" + prefix + "/bin:$PATH " TF_SOURCE_DIR "/examples/" + example +
               "/run.sh " + file(example));
  }
  void expect_complete(const std::string& prefix) {
    for (const char* path : {"bin/tunefarm",
                             "lib/tunefarm/bin/compiler",
                             "lib/tunefarm/bin/tuner",
                             "lib/tunefarm/bin/tracker",
                             "lib/tunefarm/bin/device_agent",
                             "lib/tunefarm/bin/build_worker",
                             "lib/tunefarm/bin/trial_worker",
                             "lib/tunefarm/bin/gpu_worker",
                             "lib/tunefarm/lib/libtf_runtime_model.a",
                             "lib/cmake/tunefarm/tunefarm-config.cmake",
                             "include/tunefarm/kernel_abi.h",
                             "share/man/man1/tunefarm-compiler.1",
                             "share/bash-completion/completions/tunefarm",
                             "share/zsh/vendor-completions/_tunefarm",
                             "share/fish/vendor_completions.d/tunefarm.fish",
                             "share/doc/tunefarm/LICENSE",
                             "share/doc/tunefarm/NOTICE",
                             "share/doc/tunefarm/copyright",
                             "share/doc/tunefarm-agent/copyright",
                             "share/doc/tunefarm/examples/tracker.txtpb",
                             "share/doc/tunefarm/examples/tuner.txtpb",
                             "share/doc/tunefarm/examples/device_agent.txtpb"})
      EXPECT_TRUE(fs::exists(prefix + "/" + path)) << path;
    // The Python module, where this build has one.
    const std::string packages = "/lib/python3/dist-packages";
    if (!fs::exists(TF_BINARY_DIR "/python/tunefarm")) return;
    for (const char* file : {"__init__.py", "__init__.pyi", "_core.pyi", "py.typed"})
      EXPECT_TRUE(fs::exists(prefix + packages + "/tunefarm/" + file)) << file;
    const Ended python = run("cd / && env -u TUNEFARM_PROGRAMS PYTHONPATH=" + prefix + packages +
                             " /usr/bin/python3 -c 'import tunefarm as tf; print(tf.programs.folder()); "
                             "print(tf.compile(tf.zoo(\"mlp\", \"" +
                             file("mlp.onnx") + "\")))'");
    EXPECT_EQ(python.code, 0) << python.output;
    EXPECT_THAT(python.output, HasSubstr(prefix + "/lib/tunefarm/bin\n"));
    EXPECT_THAT(python.output, HasSubstr("f32[1, 784]"));
  }
  // Every program that a unit starts is there, below `root` if the unit does not know of that.
  void expect_units_fit(const std::string& prefix, const std::string& root) {
    for (const char* daemon : {"agent", "tracker", "tuner"}) {
      const std::string unit =
          read_file(prefix + "/lib/systemd/system/tunefarm-" + daemon + ".service").value_or("");
      const size_t start = unit.find("\nExecStart=");
      ASSERT_NE(start, std::string::npos) << daemon;
      const size_t begin = start + std::string("\nExecStart=").size();
      const std::string program = unit.substr(begin, unit.find(' ', begin) - begin);
      EXPECT_TRUE(fs::exists(root + program)) << program;
      EXPECT_THAT(unit, Not(HasSubstr("/usr/local"))) << daemon;
    }
  }

 private:
  const TemporaryFolder folder_ = *TemporaryFolder::make();
};

TEST_F(Installed, ByCMakeBuildsAndRunsAModelFromItsOwnFolder) {
  const std::string prefix = file("prefix");
  const Ended install = run("cmake --install " TF_BINARY_DIR " --prefix " + prefix);
  ASSERT_EQ(install.code, 0) << install.output;
  expect_complete(prefix);
  expect_units_fit(prefix, "");
  if (fs::exists("/usr/bin/systemd-analyze") && fs::exists("/lib/systemd/system/sysinit.target")) {
    const Ended units =
        run("systemd-analyze verify --man=no " + prefix + "/lib/systemd/system/tunefarm-*.service");
    EXPECT_EQ(units.code, 0);
    EXPECT_EQ(units.output, "");
  }
  const Ended c = run_example("c", prefix);
  EXPECT_EQ(c.code, 0) << c.output;
  EXPECT_THAT(c.output, HasSubstr(" with score "));
  const Ended cmake = run_example("cmake", prefix);
  EXPECT_EQ(cmake.code, 0) << cmake.output;
  EXPECT_THAT(cmake.output, HasSubstr(" of 10\n"));
}

TEST_F(Installed, ByDebianPackagesBuildsAndRunsAModel) {
  if (run("command -v dpkg-deb dpkg-shlibdeps").code != 0)
    GTEST_SKIP() << "there is no dpkg-deb or dpkg-shlibdeps here";
  const Ended pack = run("cpack --config " TF_BINARY_DIR "/CPackConfig.cmake -B " + file("packages"));
  ASSERT_EQ(pack.code, 0) << pack.output;
  const std::string root = file("root");
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(file("packages"))) {
    if (entry.path().extension() != ".deb") continue;
    const std::string path = entry.path().string();
    names.insert(entry.path().filename().string().substr(0, entry.path().filename().string().find('_')));
    const Ended unpack = run("dpkg-deb -x " + path + " " + root);
    ASSERT_EQ(unpack.code, 0) << unpack.output;
    const std::string depends = run("dpkg-deb -f " + path + " Depends").output;
    EXPECT_THAT(depends, HasSubstr("libc6")) << path;
    const std::string control = file("control");
    EXPECT_EQ(run("rm -rf " + control + " && dpkg-deb -e " + path + " " + control + " && sh -n " + control +
                  "/postinst && sh -n " + control + "/prerm")
                  .code,
              0);
    // What a package starts, it stops before it is removed.
    const std::string units = run("dpkg-deb -c " + path + " | grep -o 'tunefarm-[a-z]*\\.service'").output;
    EXPECT_NE(units, "") << path;
    for (const absl::string_view unit : absl::StrSplit(units, '\n', absl::SkipEmpty()))
      EXPECT_EQ(run("grep -q 'systemctl stop .*" + std::string(unit) + "' " + control + "/prerm").code, 0)
          << unit;
  }
  EXPECT_EQ(names, (std::set<std::string>{"tunefarm", "tunefarm-agent"}));
  expect_complete(root + "/usr");
  expect_units_fit(root + "/usr", root);
  const Ended c = run_example("c", root + "/usr");
  EXPECT_EQ(c.code, 0) << c.output;
  EXPECT_THAT(c.output, HasSubstr(" with score "));
}

TEST_F(Installed, TheAgentAloneListsOnlyWhatIsThere) {
  const std::string prefix = file("prefix");
  const Ended install = run("cmake --install " TF_BINARY_DIR " --component agent --prefix " + prefix);
  ASSERT_EQ(install.code, 0) << install.output;
  EXPECT_FALSE(fs::exists(prefix + "/lib/tunefarm/bin/compiler"));
  const Ended help = run(prefix + "/bin/tunefarm --help");
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.output, AllOf(HasSubstr("\n  device_agent "), Not(HasSubstr("\n  compiler "))));
  const Ended missing = run(prefix + "/bin/tunefarm compiler --help");
  EXPECT_EQ(missing.code, 2);
  EXPECT_THAT(missing.output, HasSubstr("no program 'compiler'"));
}

}  // namespace
}  // namespace tf::deploy_test
