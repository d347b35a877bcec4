// A child process that answers lines with lines, and that can neither hang nor outlive its owner, in whatever
// way that ends.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <string_view>

namespace vernier {

class ChildProcess {
 public:
  // Runs `command` with /bin/sh in a process group of its own, beside a shell that kills the group when this
  // process ends. Throws bad_input when the system refuses.
  explicit ChildProcess(const std::string& command);
  // Kills the group and leaves no zombie.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  struct Reply {
    enum class Outcome {
      kLine,     // `line` is the answer, without the line's end
      kTimeout,  // no whole line in time
      kEnded,    // the process ended or closed its output
      kTooLong,  // a line longer than the limit
      kExtra,    // more than one line
    };
    Outcome outcome = Outcome::kEnded;
    std::string line;
  };
  // Sends one line and waits for one. After any outcome but kLine the process is of no more use.
  Reply exchange(std::string_view line, std::chrono::duration<double> timeout, size_t longest_line);
  // Sends a last line and gives the process `grace` to end by itself.
  void finish(std::string_view line, std::chrono::duration<double> grace);

  // Kills the group if it still runs, and says how the process ended: "ended with exit status 3", "was killed
  // by signal 11 (Segmentation fault)", "was stopped by Vernier".
  std::string stop();
  // The end of what it wrote on its error output, printable, at most 10 lines.
  std::string last_words() const;

 private:
  using Deadline = std::chrono::steady_clock::time_point;
  void send_some(std::string_view& pending);
  void receive_errors();
  bool has_ended() const;
  bool wait_until_ended(Deadline deadline) const;
  int end_group();
  void close_all();

  pid_t process_ = -1, guard_ = -1;
  int input_ = -1, output_ = -1, errors_ = -1;  // our ends, named from the child's side; -1: closed
  int life_ = -1;                               // closes when we end, which the guard waits for
  std::string received_, words_;
  std::string ending_;  // set once reaped
};

}  // namespace vernier
