#include "vernier/cli/polygraphy/check_program.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <regex>

#include "vernier/base/error.h"
#include "vernier/base/file.h"
#include "vernier/base/leftovers.h"
#include "vernier/cli/polygraphy/closing_lines.h"
#include "vernier/cli/process_end.h"

extern char** environ;

namespace vernier {

namespace {

namespace fs = std::filesystem;

// In a group of its own, which dies with us.
pid_t start(const CommandWords& words, const fs::path& output, const fs::path& errors) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT, 0600);
  ::posix_spawn_file_actions_addopen(&actions, 2, errors.c_str(), O_WRONLY | O_CREAT, 0600);
  sigset_t ignored_by_us;
  ::sigemptyset(&ignored_by_us);
  for (const int signal : {SIGPIPE, SIGXFSZ}) ::sigaddset(&ignored_by_us, signal);
  ::posix_spawnattr_setsigdefault(&attributes, &ignored_by_us);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t process = -1;
  const auto lock = lock_leftovers();
  const int code = ::posix_spawnp(&process, arguments[0], &actions, &attributes, arguments.data(), environ);
  if (code == 0) note_process_group(process);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (code != 0)
    throw bad_input("--check: '{}' cannot be started: {}", words[0], std::strerror(code))
        .advise("name a program, with its folder where PATH does not lead to it");
  return process;
}

std::string time_text() {
  return fmt::format("{:%m-%d-%y_%H-%M-%S}", fmt::localtime(std::time(nullptr)));
}

}  // namespace

CheckEnd run_check(const CommandWords& words) {
  const TemporaryFolder folder;
  const fs::path output = folder.path() / "output", errors = folder.path() / "errors";
  const pid_t process = start(words, output, errors);
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) continue;
  {
    const auto lock = lock_leftovers();
    forget_process_group(process);
  }
  const int code = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  return {code, read_file(output), read_file(errors)};
}

bool passes(const PolygraphyDebug& debug, const CheckEnd& end) {
  const auto holds = [&](const std::vector<int>& codes) {
    return std::find(codes.begin(), codes.end(), end.status) != codes.end();
  };
  if (holds(debug.ignored_codes)) return true;
  const bool by_status = debug.fail_codes.empty() ? end.status != 0 : holds(debug.fail_codes);
  if (debug.fail_regexes.empty()) return !by_status;
  const std::string all = end.output + end.errors;
  const bool is_found =
      std::any_of(debug.fail_regexes.begin(), debug.fail_regexes.end(),
                  [&](const std::string& text) { return std::regex_search(all, std::regex(text)); });
  return !(debug.fail_codes.empty() ? is_found : by_status && is_found);
}

bool CheckedSteps::ask() {
  if (!debug_.iteration_info.empty())
    write_file(debug_.iteration_info, fmt::format("{{\"iteration\": {}}}\n", count_));
  print(polygraphy_line('I', fmt::format("    Running check command: {}", fmt::join(debug_.check, " "))));
  CommandWords words = debug_.check;
  if (debug_.checks_by_polygraphy()) {  // ours, whatever is installed
    words[0] = "polygraphy";
    words.insert(words.begin(), "/proc/self/exe");
  }
  const CheckEnd end = run_check(words);
  const bool passed = passes(debug_, end);
  if (debug_.show_output || (!passed && !debug_.hide_fail_output))
    print("========== CAPTURED STDOUT ==========\n" + end.output +
          "\n========== CAPTURED STDERR ==========\n" + end.errors + "\n");
  sort_artifacts(passed);
  std::error_code ignored;
  if (!debug_.iteration_info.empty()) fs::remove(debug_.iteration_info, ignored);
  return passed;
}

void CheckedSteps::sort_artifacts(bool passed) const {
  for (const std::string& artifact : debug_.artifacts) {
    const fs::path from = artifact, folder = fs::path(debug_.artifacts_folder) / (passed ? "good" : "bad");
    const fs::path to = folder / fmt::format("{}_{}_N{}{}", from.stem().string(), time_text(), count_,
                                             from.extension().string());
    std::error_code error;
    if (!fs::exists(from)) {
      print(polygraphy_line('E', "    Artifact: " + artifact + " does not exist, and is left out"));
      continue;
    }
    fs::create_directories(folder, error);
    if (!error) fs::rename(from, to, error);
    if (error)
      throw usage_error("--artifacts: cannot move '{}' to '{}': {}", artifact, to.string(), error.message());
    print(polygraphy_line('I', "    Moving " + artifact + " to " + to.string()));
  }
}

bool CheckedSteps::step(const std::function<bool()>& make, int remaining) {
  const std::string rest =
      remaining < 0 ? "" : fmt::format(" | Approximately {} iteration(s) remaining", remaining);
  print(polygraphy_line('I', fmt::format("RUNNING | Iteration {}{}", count_ + 1, rest)));
  const auto begin = std::chrono::steady_clock::now();
  const auto remove_artifact = [this] {
    std::error_code ignored;
    if (!debug_.artifact.empty() && !debug_.keeps_artifact) fs::remove(debug_.artifact, ignored);
  };
  bool passed = false;
  try {
    passed = make() && ask();
  } catch (...) {
    remove_artifact();
    throw;
  }
  remove_artifact();
  ++count_;
  passed_ += passed ? 1 : 0;
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  print(polygraphy_line(passed ? 'I' : 'E',
                        fmt::format("    {} | Iteration {} | Duration {:.3f}s", passed ? "PASSED" : "FAILED",
                                    count_, seconds.count())));
  return passed;
}

void CheckedSteps::finish() const {
  const double rate = count_ == 0 ? 0 : 100.0 * static_cast<double>(passed_) / static_cast<double>(count_);
  print(polygraphy_line('I', fmt::format("Finished {} iteration(s) | Passed: {}/{} | Pass Rate: {}%", count_,
                                         passed_, count_, rate)));
}

}  // namespace vernier
