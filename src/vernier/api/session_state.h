#pragma once

#include <atomic>

#include "vernier/api/bindings.h"
#include "vernier/api/pending_run.h"
#include "vernier/engine/session.h"

namespace vernier::api {

class SessionState {
 public:
  SessionState(std::shared_ptr<const EngineState> engine, int threads);

  const Engine& engine() const { return session_.engine(); }

  void bind_input(std::string_view name, const Memory& memory);
  void bind_output(std::string_view name, const Memory& memory);
  void unbind(std::string_view name);
  void bind_cache(std::string_view past, std::string_view present, const Memory& memory, int64_t rows);
  // Only element type and sizes of the memory count.
  void keep_cache(std::string_view past, std::string_view present, const Memory& memory);
  void read_cache(std::string_view past, void* data, size_t bytes);
  int64_t cache_rows(std::string_view past);
  void set_cache_rows(std::string_view past, int64_t rows);
  void use_stream(std::string_view device, void* queue);
  void leave_stream();
  void synchronize();
  std::shared_ptr<OutputsState> run();
  std::shared_ptr<PendingRun> run_async();
  void cancel() noexcept { stop_.store(true, std::memory_order_relaxed); }
  std::vector<v1::LayerTime> profile(int runs);
  size_t memory_bytes();

 private:
  // The session is in use while one lives; a second one throws kBusy.
  class Use;
  std::shared_ptr<OutputsState> begin();
  void execute(OutputsState& outputs);
  void forget_spare_outputs();

  std::shared_ptr<const EngineState> engine_;
  std::unique_ptr<Stream> stream_;  // of the caller; outlives the session, which may still work in its order
  int stream_device_ = kHost;
  Session session_;
  Bindings bindings_;
  std::shared_ptr<OutputPool> pool_ = std::make_shared<OutputPool>();
  std::atomic<bool> stop_{false}, in_use_{false};
  std::shared_ptr<PendingRun> pending_;  // the last; the worker's task uses it until it is finished
  Worker worker_;                        // last, so that it ends before what its task uses
};

}  // namespace vernier::api
