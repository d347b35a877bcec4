// Capture by CUDA graphs.
#include "vernier/backends/cuda/device/cuda_stream.h"

namespace vernier::cuda {

namespace {

class CudaReplay : public Replay {
 public:
  CudaReplay(CudaStream& stream, ReadyGraphHandle graph) : stream_(stream), graph_(graph) {}
  ~CudaReplay() override { stream_.device().context().api().destroy_ready(graph_); }
  CudaReplay(const CudaReplay&) = delete;
  CudaReplay& operator=(const CudaReplay&) = delete;

  void enqueue() override { stream_.launch(graph_); }

 private:
  CudaStream& stream_;
  ReadyGraphHandle graph_;
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

std::unique_ptr<Replay> CudaStream::capture(const std::function<void()>& work, std::string& reason) {
  if (failure_) std::rethrow_exception(failure_);
  const DriverApi& api = context_.api();
  GraphHandle captured = nullptr;
  ReadyGraphHandle ready = nullptr;
  attempt([&] { context_.check(api.begin_capture(handle_, kThreadLocalCapture), "beginning a capture"); });
  if (!failure_) {
    attempt(work);
    // It ends whatever went wrong: a stream that goes on capturing does nothing.
    const Status ended = api.end_capture(handle_, &captured);
    attempt([&] {
      context_.check(ended, "ending a capture");
      context_.check(api.make_ready(&ready, captured, 0), "making a captured graph ready");
    });
  }
  if (captured != nullptr) api.destroy_graph(captured);
  if (!failure_) return std::make_unique<CudaReplay>(*this, ready);
  reason = text_of(std::exchange(failure_, nullptr));
  return nullptr;
}

}  // namespace vernier::cuda
