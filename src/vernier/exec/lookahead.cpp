#include "vernier/exec/lookahead.h"

#include "vernier/base/thread_limit.h"
#include "vernier/base/threads.h"

namespace vernier {

std::shared_ptr<const Plan> Lookahead::take(const Program::Key& key) {
  if (!task_) return nullptr;
  // A plan that nobody has begun is not begun here either: the caller makes the plan that it needs, of
  // whatever sizes.
  const bool done = task_->finish();
  task_.reset();
  auto plan = std::move(next_.plan);
  return done && next_.key == key ? plan : nullptr;
}

// Whether the sizes have changed by the same step twice.
bool Lookahead::moves_on(const Program::Key& key) {
  if (key.size() != last_.size()) {
    last_ = key;
    step_.clear();
    return false;
  }
  Program::Key step(key.size());
  bool moves = false;
  for (size_t i = 0; i < key.size(); ++i) {
    step[i] = key[i] - last_[i];
    moves = moves || step[i] != 0;
  }
  if (!moves) return false;
  const bool again = step == step_;
  last_ = key;
  step_ = std::move(step);
  return again;
}

void Lookahead::note(const Program::Key& key, std::span<const Datum> inputs, Program::Bindings bindings) {
  if (!moves_on(key)) return;
  take({});  // what was begun for other sizes than these
  next_ = {key, types_of(program_.graph(), inputs), {bindings.begin(), bindings.end()}};
  if (!Program::advance(next_.key, next_.inputs, step_) || program_.find(next_.key)) return;
  task_ = std::make_unique<BackgroundTask>([this, threads = thread_count()] {
    const ThreadLimit limit(threads);  // which kernels are made for
    try {
      next_.plan = program_.plan(next_.inputs, next_.key, next_.bindings);
    } catch (const std::exception&) {
      // Whoever runs at these sizes is told.
    }
  });
}

}  // namespace vernier
