#include "vernier/cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "vernier/report/events.h"

namespace vernier {

namespace {

constexpr const char* kWipeLine = "\r\x1b[K";
constexpr size_t kBarWidth = 24, kNameWidth = 48;

}  // namespace

Progress::Progress(const CommonOptions& common, std::optional<size_t> steps)
    : bar_(!common.quiet && isatty(STDERR_FILENO) == 1),
      lines_(!common.quiet && !bar_ && common.verbosity > 0),
      steps_(steps) {}

Progress::~Progress() {
  if (bar_ && step_ > 0) std::cerr << kWipeLine << std::flush;
}

void Progress::stage(const std::string& name) {
  ++step_;
  tell_stage(name, step_ - 1, steps_);
  if (lines_) std::cerr << name << "\n";
  if (!bar_) return;
  std::string text = kWipeLine;
  if (steps_) {
    // Full when the last stage is done, which nobody sees: the bar is gone then.
    const size_t done = std::min(step_ - 1, *steps_);
    const size_t filled = kBarWidth * done / std::max<size_t>(*steps_, 1);
    text += fmt::format("[{}{}] {}/{}", std::string(filled, '#'), std::string(kBarWidth - filled, '.'), done,
                        *steps_);
  } else {
    text += fmt::format("[{}]", step_);
  }
  std::cerr << text << " " << name.substr(0, kNameWidth) << std::flush;
}

}  // namespace vernier
