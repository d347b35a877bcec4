#include "vernier/api/session_state.h"

#include "vernier/bench/profile.h"

namespace vernier::api {

class SessionState::Use {
 public:
  explicit Use(SessionState& session) : in_use_(session.in_use_) {
    if (in_use_.exchange(true, std::memory_order_acquire)) throw v1::Error(v1::ErrorCode::kBusy);
    if (!session.pending_ || session.pending_->collected()) return;
    in_use_.store(false, std::memory_order_release);
    throw v1::Error(v1::ErrorCode::kBusy);
  }
  ~Use() { in_use_.store(false, std::memory_order_release); }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

 private:
  std::atomic<bool>& in_use_;
};

SessionState::SessionState(std::shared_ptr<const EngineState> engine, int threads)
    : engine_(std::move(engine)), session_(engine_->engine, threads), bindings_(*engine_->engine) {}

void SessionState::forget_spare_outputs() {
  const std::lock_guard lock(pool_->mutex);
  ++pool_->generation;
  pool_->spare.clear();
}

void SessionState::bind_input(std::string_view name, const Memory& memory) {
  const Use use(*this);
  bindings_.bind_input(name, memory);
}

void SessionState::bind_output(std::string_view name, const Memory& memory) {
  const Use use(*this);
  bindings_.bind_output(name, memory);
  forget_spare_outputs();
}

void SessionState::unbind(std::string_view name) {
  const Use use(*this);
  bindings_.unbind(name);
  forget_spare_outputs();
}

void SessionState::bind_cache(std::string_view past, std::string_view present, const Memory& memory,
                              int64_t rows) {
  const Use use(*this);
  bindings_.bind_cache(past, present, memory, rows);
  forget_spare_outputs();
}

void SessionState::keep_cache(std::string_view past, std::string_view present, const Memory& memory) {
  const Use use(*this);
  bindings_.keep_cache(past, present, {memory.element, memory.dims, nullptr, {}, preferred_device(engine())});
  forget_spare_outputs();
}

void SessionState::read_cache(std::string_view past, void* data, size_t bytes) {
  const Use use(*this);
  session_.settle();
  bindings_.read_cache(past, data, bytes);
}

int64_t SessionState::cache_rows(std::string_view past) {
  const Use use(*this);
  return bindings_.cache_rows(past);
}

void SessionState::set_cache_rows(std::string_view past, int64_t rows) {
  const Use use(*this);
  bindings_.set_cache_rows(past, rows);
}

void SessionState::use_stream(std::string_view device, void* queue) {
  const Use use(*this);
  const EngineDevice found = find_device(engine(), device);
  auto adopted = found.device->adopt(queue);
  session_.settle();
  stream_ = std::move(adopted);
  stream_device_ = found.number;
}

void SessionState::leave_stream() {
  const Use use(*this);
  session_.settle();
  stream_.reset();
}

void SessionState::synchronize() {
  const Use use(*this);
  session_.settle();
}

std::shared_ptr<OutputsState> SessionState::begin() {
  bindings_.require_inputs();
  stop_.store(false, std::memory_order_relaxed);
  return std::make_shared<OutputsState>(engine_, pool_);
}

void SessionState::execute(OutputsState& outputs) {
  RunOptions options;
  options.memory = bindings_.outputs();
  const auto bindings = bindings_.bindings();
  options.bindings = bindings;
  options.stream = stream_.get();
  options.stream_device = stream_device_;
  options.stop = &stop_;
  std::vector<int64_t> cached_rows(options.bindings.size());
  options.cached_rows = cached_rows;
  session_.run(bindings_.inputs(), outputs.data, options);
  bindings_.take_cache_rows(cached_rows);
  if (bindings.empty()) return;
  for (size_t i = 0; i < outputs.data.size(); ++i) outputs.devices.push_back(bindings_.device_of(i));
}

std::shared_ptr<OutputsState> SessionState::run() {
  const Use use(*this);
  auto outputs = begin();
  execute(*outputs);
  return outputs;
}

std::shared_ptr<PendingRun> SessionState::run_async() {
  const Use use(*this);
  auto run = std::make_shared<PendingRun>(begin());
  // Held by pending_: once the event was waited for, the thread keeps nothing alive.
  worker_.post([this, run = run.get()] {
    std::exception_ptr failure;
    try {
      execute(*run->outputs);
    } catch (...) {
      failure = std::current_exception();
    }
    run->finish(std::move(failure));
  });
  pending_ = run;
  return run;
}

std::vector<v1::LayerTime> SessionState::profile(int runs) {
  const Use use(*this);
  bindings_.require_inputs();
  session_.settle();
  const Profile measured =
      vernier::profile(session_, bindings_.named_inputs(), static_cast<size_t>(std::max(1, runs)));
  std::vector<v1::LayerTime> layers;
  for (const StepTime& step : measured.steps)
    layers.push_back({step.kernel, step.nodes, step.milliseconds, step.fallback_ms > 0});
  return layers;
}

size_t SessionState::memory_bytes() {
  const Use use(*this);
  return session_.bytes() + bindings_.kept_bytes();
}

}  // namespace vernier::api
