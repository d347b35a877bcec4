// Files: what is written is whole or not there, and what is read does not change unnoticed.
#include "vernier/base/file.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csetjmp>
#include <fstream>

#include "vernier/base/error.h"
#include "vernier/base/file_writer.h"
#include "vernier/base/leftovers.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr size_t kPage = 4096;

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    return error.what();
  }
  return "";
}

// The exit status of a child that calls this; 128 and the signal that ended it.
int status_of_child(const std::function<int()>& child) {
  const pid_t process = fork();
  if (process == 0) {
    alarm(20);
    _exit(child());
  }
  int status = 0;
  waitpid(process, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

struct Files : testing::Test {
  TemporaryFolder folder;
  fs::path path = folder.path() / "file";

  Files() { write_file(path, std::string(4 * kPage, 'a')); }
  void fill(const fs::path& file) const { write_file(file, std::string(4 * kPage, 'a')); }
  void cut_to(size_t bytes) const { fs::resize_file(path, bytes); }
  size_t entries() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder.path()), {}));
  }
};

TEST_F(Files, AFileThatIsCutOffReadsAsZerosAndIsRefused) {
  const auto file = MappedFile::open(path);
  EXPECT_NO_THROW(file->require_unchanged());
  cut_to(kPage + 10);
  EXPECT_EQ(file->bytes()[kPage], std::byte{'a'});
  EXPECT_EQ(file->bytes()[3 * kPage], std::byte{0});
  EXPECT_EQ(file->bytes()[2 * kPage], std::byte{0});
  EXPECT_THAT(message_of([&] { file->require_unchanged(); }),
              testing::AllOf(HasSubstr(path.string()), HasSubstr("was cut off")));
  EXPECT_NE(message_of([] { MappedFile::require_all_unchanged(); }), "");
}

// Suites of this name run before others: here no file was mapped in the process before.
using FilesDeathTest = Files;

TEST_F(FilesDeathTest, ALossIsRememberedWhenTheFileIsUnmapped) {
  EXPECT_EQ(status_of_child([&] {
              MappedFile::require_all_unchanged();
              const auto read = [&](std::span<const std::byte> bytes) {
                cut_to(0);
                return static_cast<int>(*static_cast<const volatile std::byte*>(bytes.data()));
              };
              const bool refused = message_of([&] { read_mapped(path, read); }) != "";
              return refused && message_of([] { MappedFile::require_all_unchanged(); }) != "" ? 42 : 1;
            }),
            42);
}

TEST_F(Files, AFileThatIsOverwrittenIsRefused) {
  const auto file = MappedFile::open(path);
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary) << "b";
  // Times of files have the resolution of the system's clock tick.
  fs::last_write_time(path, fs::last_write_time(path) + std::chrono::milliseconds(20));
  EXPECT_THAT(message_of([&] { file->require_unchanged(); }), HasSubstr("was changed"));
}

TEST_F(Files, AFileThatIsReplacedOrDeletedIsStillThere) {
  const auto file = MappedFile::open(path);
  write_file(path, "other");
  EXPECT_NO_THROW(file->require_unchanged());
  fs::remove(path);
  EXPECT_NO_THROW(file->require_unchanged());
  EXPECT_EQ(file->bytes()[3 * kPage], std::byte{'a'});
}

TEST_F(Files, AnAddressTellsItsFile) {
  const auto file = MappedFile::open(path);
  EXPECT_EQ(MappedFile::containing(file->bytes().data() + 5), file);
  EXPECT_EQ(MappedFile::containing(file->bytes().data() + 4 * kPage), nullptr);
  EXPECT_EQ(MappedFile::containing(&path), nullptr);
  const fs::path link = folder.path() / "link";
  fs::create_symlink(path, link);
  EXPECT_TRUE(MappedFile::is_mapped(link));
  EXPECT_FALSE(MappedFile::is_mapped(folder.path() / "missing"));
  write_file(link, "another file of this name");
  EXPECT_FALSE(MappedFile::is_mapped(path));
}

sigjmp_buf jump;
volatile sig_atomic_t seen = 0;
void plain_handler(int) {
  seen = 1;
  siglongjmp(jump, 1);
}
void informed_handler(int, siginfo_t* info, void*) {
  seen = info->si_addr != nullptr ? 2 : 3;
  siglongjmp(jump, 1);
}

// A fault of the program that uses the library, in a mapping of its own.
void fault_of_others(const fs::path& path) {
  std::FILE* file = std::fopen(path.c_str(), "r+");
  void* memory = mmap(nullptr, kPage, PROT_READ, MAP_SHARED, fileno(file), 0);
  fs::resize_file(path, 0);
  if (sigsetjmp(jump, 1) != 0) return;
  [[maybe_unused]] const char read = *static_cast<volatile char*>(memory);
}

TEST_F(FilesDeathTest, FaultsOfOthersGoToTheHandlerThatWasThere) {
  const fs::path other = folder.path() / "other";
  const auto with_handler = [&](const std::function<void(struct sigaction&)>& set) {
    fill(path);
    fill(other);
    return status_of_child([&] {
      struct sigaction action {};
      set(action);
      sigaction(SIGBUS, &action, nullptr);
      const auto file = MappedFile::open(path);
      cut_to(0);
      const bool ours = file->bytes()[0] == std::byte{0} && seen == 0;
      fault_of_others(other);
      return ours ? 40 + seen : 1;
    });
  };
#ifndef VERNIER_SANITIZED
  EXPECT_EQ(with_handler([](struct sigaction& action) { action.sa_handler = SIG_DFL; }), 128 + SIGBUS);
  EXPECT_EQ(with_handler([](struct sigaction& action) { action.sa_handler = SIG_IGN; }), 128 + SIGBUS);
#endif
  EXPECT_EQ(with_handler([](struct sigaction& action) { action.sa_handler = plain_handler; }), 41);
  EXPECT_EQ(with_handler([](struct sigaction& action) {
              action.sa_sigaction = informed_handler;
              action.sa_flags = SA_SIGINFO;
            }),
            42);
}

TEST_F(Files, ASignalThatSomebodySendsIsNoFault) {
#ifdef VERNIER_SANITIZED
  GTEST_SKIP() << "the sanitizer takes the signal for a fault";
#endif
  EXPECT_EQ(status_of_child([&] {
              const auto file = MappedFile::open(path);
              raise(SIGBUS);
              return 1;
            }),
            128 + SIGBUS);
}

TEST_F(Files, WhatIsNotCommittedIsNotThere) {
  {
    FileWriter writer(path);
    writer.write("half");
    EXPECT_EQ(entries(), 2U);
  }
  EXPECT_EQ(entries(), 1U);
  EXPECT_EQ(read_file(path).size(), 4 * kPage);
  FileWriter writer(path);
  writer.write("who");
  writer.write("le");
  writer.commit();
  EXPECT_EQ(read_file(path), "whole");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(Files, WhatCannotBeWrittenSaysSo) {
  try {
    write_file(folder.path(), "x");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    EXPECT_THAT(error.what(), HasSubstr("is a folder"));
  }
  try {
    write_file(folder.path() / "missing" / "file", "x");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    EXPECT_THAT(error.what(), HasSubstr("cannot create: No such file"));
  }
}

TEST_F(Files, NothingIsLeftWhenASignalEndsTheProcess) {
  EXPECT_EQ(status_of_child([&] {
              setenv("TMPDIR", folder.path().c_str(), 1);
              FileWriter writer(path);
              writer.write("half");
              const TemporaryFolder inner;
              write_file(inner.path() / "a", "x");
              fs::create_directory(inner.path() / "b");
              const pid_t child = fork();
              if (child == 0) {
                setpgid(0, 0);
                for (;;) pause();
              }
              setpgid(child, child);
              {
                const auto lock = lock_leftovers();
                note_process_group(child);
              }
              end_leftovers();
              int status = 0;
              waitpid(child, &status, 0);
              _exit(WIFSIGNALED(status) ? 42 : 1);
              return 0;
            }),
            42);
  EXPECT_EQ(entries(), 1U);
  EXPECT_EQ(read_file(path).size(), 4 * kPage);
}

TEST_F(Files, WhatIsGoneIsForgotten) {
  EXPECT_EQ(status_of_child([&] {
              write_file(path, "new");
              const fs::path inner = TemporaryFolder().path();
              fs::create_directory(inner);
              end_leftovers();
              _exit(fs::exists(path) && fs::exists(inner) ? 42 : 1);
              return 0;
            }),
            42);
}

}  // namespace
}  // namespace vernier
