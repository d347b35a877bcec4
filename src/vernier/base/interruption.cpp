#include "vernier/base/interruption.h"

#include <atomic>

namespace vernier {

namespace {

std::atomic<bool> taken{false}, interrupted{false};

}  // namespace

void take_interruptions() {
  taken = true;
}

bool takes_interruptions() {
  return taken;
}

void interrupt() {
  interrupted = true;
}

bool is_interrupted() {
  return interrupted;
}

}  // namespace vernier
