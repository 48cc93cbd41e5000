#include "profiler/base/files/temporary_name.h"

#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <functional>
#include <new>
#include <system_error>
#include <thread>

#include "profiler/base/files/output_file.h"
#include "profiler/base/machine.h"

namespace pipescope::base {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class TemporaryNameTest : public testing::Test {
 protected:
  TemporaryNameTest()
      : folder_(fs::temp_directory_path() / ("pipescope_temporary_test_" + std::to_string(getpid()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~TemporaryNameTest() override { fs::remove_all(folder_); }

  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
  /// Runs `work` in a child process and gives the status that waitpid() tells.
  static int inChild(const std::function<void()>& work) {
    const pid_t child = fork();
    if (child == 0) {
      work();
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
  }

  const fs::path folder_;
};

TEST_F(TemporaryNameTest, SignalsRemoveUnfinishedFiles) {
  for (const int signal : {SIGHUP, SIGINT, SIGPIPE, SIGTERM}) {
    const int status = inChild([&] {
      removeTemporaryFilesOnSignals();
      Result<OutputFile> file = OutputFile::create(folder_ / "x.csv", FileKind::csv, {});
      if (!file.ok() || files().size() != 1) _exit(9);
      raise(signal);
    });
    ASSERT_TRUE(WIFSIGNALED(status)) << status;
    EXPECT_EQ(WTERMSIG(status), signal);
    EXPECT_THAT(files(), IsEmpty());
  }
}

/// A signal that comes while a file is made waits until its name is known.
TEST_F(TemporaryNameTest, SignalsWaitUntilAFileHasItsName) {
  for (const bool fromAnotherThread : {false, true}) {
    const int status = inChild([&] {
      removeTemporaryFilesOnSignals();
      TemporaryName name;
      std::thread other;
      {
        const SignalsWait named;
        if (fromAnotherThread)
          other = std::thread([] {
            sigset_t taken;
            sigemptyset(&taken);
            sigaddset(&taken, SIGTERM);
            pthread_sigmask(SIG_UNBLOCK, &taken, nullptr);
            raise(SIGTERM);
          });
        else
          raise(SIGTERM);
        std::ofstream(folder_ / "made") << "x";
        name = TemporaryName(folder_ / "made");
      }
      if (other.joinable()) other.join();
    });
    ASSERT_TRUE(WIFSIGNALED(status)) << status;
    EXPECT_THAT(files(), IsEmpty());
  }
}

TEST_F(TemporaryNameTest, AnIgnoredSignalStaysIgnored) {
  EXPECT_EQ(inChild([] {
              std::signal(SIGHUP, SIG_IGN);
              removeTemporaryFilesOnSignals();
              raise(SIGHUP);
            }),
            0);
}

TEST_F(TemporaryNameTest, AChildLeavesTheFilesOfItsParent) {
  const Result<PendingFile> file = PendingFile::create(folder_ / "x.csv");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(inChild([] { removeTemporaryFiles(); }), 0);
  EXPECT_EQ(files().size(), 1U);
  removeTemporaryFiles();
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(TemporaryNameTest, TheNextFileRemovesWhatAKilledProcessLeft) {
  const fs::path path = folder_ / "x.csv";
  const int status = inChild([&] {
    const Result<PendingFile> file = PendingFile::create(path);
    raise(SIGKILL);
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_THAT(files(), ElementsAre(".x.csv.0.partial"));
  {
    Result<PendingFile> first = PendingFile::create(path), second = PendingFile::create(path);
    ASSERT_TRUE(first.ok() && second.ok());
    EXPECT_EQ(first->temporary().filename(), ".x.csv.0.partial");
    // Somebody writes to the first one, so it stays.
    EXPECT_THAT(files(), ElementsAre(".x.csv.0.partial", ".x.csv.1.partial"));
  }
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(TemporaryNameTest, WhatIsNoneOfOursStays) {
  const fs::path path = folder_ / "x.csv", precious = folder_ / "precious";
  std::ofstream(precious) << "data";
  fs::create_symlink(precious, folder_ / ".x.csv.0.partial");
  fs::create_hard_link(precious, folder_ / ".x.csv.1.partial");
  Result<PendingFile> file = PendingFile::create(path);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->temporary().filename(), ".x.csv.2.partial");
  EXPECT_EQ(fs::file_size(precious), 4U);
  EXPECT_TRUE(fs::exists(folder_ / ".x.csv.1.partial"));
}

TEST_F(TemporaryNameTest, TheLongestNamesHaveNamesBeside) {
  const std::string longest(255, 'n');
  Result<OutputFile> file = OutputFile::create(folder_ / longest, FileKind::csv, {});
  ASSERT_TRUE(file.ok()) << file.error().message;
  ASSERT_TRUE(file->write("a\n").ok());
  ASSERT_TRUE(file->close().ok());
  EXPECT_THAT(files(), ElementsAre(longest));
  // Names with the same beginning differ, no character is cut in two, and there is room behind.
  std::string umlauts;
  for (int i = 0; i < 127; ++i) umlauts += "ü";
  const std::string a = besidePath(umlauts + "a", ".", ".lock", 8).string(),
                    b = besidePath(umlauts + "b", ".", ".lock", 8).string();
  EXPECT_NE(a, b);
  EXPECT_LE(a.size(), 247U);
  EXPECT_GT(a.size(), 240U);
  EXPECT_EQ(a.find("ü~"), a.rfind('~') - 2);
  EXPECT_EQ(besidePath("d/short.pop", "", ".part").string(), "d/short.pop.part");
}

TEST(Machine, TellsItsTroubleFromFaults) {
  const auto kind = [](const std::exception& problem) {
    const auto trouble = machineTrouble(problem);
    return trouble ? trouble->message.substr(0, 30) : "none";
  };
  EXPECT_EQ(kind(std::bad_alloc()), "This machine has not enough me");
  EXPECT_EQ(kind(std::length_error("vector")), "This machine has not enough me");
  EXPECT_EQ(kind(std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again))),
            "The system refuses to start an");
  EXPECT_EQ(kind(std::system_error(std::make_error_code(std::errc::permission_denied))), "none");
  EXPECT_EQ(kind(std::logic_error("fault")), "none");
  const Status status = guarded([]() -> Status { throw std::bad_alloc(); });
  EXPECT_EQ(status.error().kind, ErrorKind::machine);
  EXPECT_FALSE(isAnswer(ErrorKind::machine) || isAnswer(ErrorKind::io) || isAnswer(ErrorKind::internal));
  EXPECT_TRUE(isAnswer(ErrorKind::badInput) && isAnswer(ErrorKind::refused));
}

TEST_F(TemporaryNameTest, MemoryThatRunsOutInAThreadEndsTheProgramWithASentence) {
  const auto fail = [&] {
    endOnMachineTrouble("pipescope", 1);
    const Result<PendingFile> file = PendingFile::create(folder_ / "x.csv");
    std::thread([] { throw std::bad_alloc(); }).join();
  };
  EXPECT_EXIT(fail(), testing::ExitedWithCode(1), "pipescope: This machine has not enough memory");
  EXPECT_THAT(files(), IsEmpty());
}

}  // namespace
}  // namespace pipescope::base
