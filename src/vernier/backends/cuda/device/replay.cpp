// Capture by CUDA graphs.
#include "vernier/backends/cuda/device/cuda_stream.h"

namespace vernier::cuda {

namespace {

class CudaReplay : public Replay {
 public:
  CudaReplay(CudaStream& stream, ReadyGraph graph) : stream_(stream), graph_(std::move(graph)) {}
  void enqueue() override { stream_.launch(graph_.get()); }

 private:
  CudaStream& stream_;
  ReadyGraph graph_;
};

std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& known) {
    return known.what();
  }
}

}  // namespace

std::unique_ptr<Replay> CudaDevice::capture(Stream& stream, const std::function<void()>& work,
                                            std::string& reason) {
  return dynamic_cast<CudaStream&>(stream).capture(work, reason);
}

ReadyGraph CudaDevice::stale_or(ReadyGraph graph, const KernelNames& kernels) {
  if (!injected_faults_.expects(DeviceFault::Kind::kStaleReplay)) return graph;
  const std::lock_guard lock(captured_mutex_);
  const auto [before, is_first] = captured_.try_emplace(kernels, graph);
  const bool strikes = !is_first && injected_faults_.strikes(DeviceFault::Kind::kStaleReplay);
  return strikes ? before->second : before->second = graph;
}

std::unique_ptr<Replay> CudaStream::capture(const std::function<void()>& work, std::string& reason) {
  if (failure_) std::rethrow_exception(failure_);
  const DriverApi& api = context_.api();
  GraphHandle captured = nullptr;
  ReadyGraphHandle ready = nullptr;
  attempt([&] { context_.check(api.begin_capture(handle_, kThreadLocalCapture), "beginning a capture"); });
  KernelNames kernels;
  if (!failure_) {
    captured_ = &kernels;
    attempt(work);
    captured_ = nullptr;
    // It ends whatever went wrong: a stream that goes on capturing does nothing.
    const Status ended = api.end_capture(handle_, &captured);
    attempt([&] {
      context_.check(ended, "ending a capture");
      context_.check(api.make_ready(&ready, captured, 0), "making a captured graph ready");
    });
  }
  if (captured != nullptr) api.destroy_graph(captured);
  if (!failure_) {
    ReadyGraph graph(ready, [&api](ReadyGraphHandle handle) { api.destroy_ready(handle); });
    return std::make_unique<CudaReplay>(*this, device_.stale_or(std::move(graph), kernels));
  }
  reason = text_of(std::exchange(failure_, nullptr));
  return nullptr;
}

}  // namespace vernier::cuda
