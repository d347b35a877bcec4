// y = relu(a b + c) on two streams, which take turns, as a session would do it by hand.
#pragma once

#include "simulated/graph_requests.h"

namespace vernier::simulated {

class Chain {
 public:
  static constexpr size_t kWaits = 4, kCopies = 4;

  explicit Chain(SimulatedBackend& backend)
      : model_(parse_graph(R"(
          graph "chain" (%a: f32[2, 3], %b: f32[3, 2], %c: f32[2, 2]) -> (%y) {
            %m: f32[2, 2] = MatMul(%a, %b) version 13 @"matmul" from ["matmul"]
            %s: f32[2, 2] = Add(%m, %c) version 13 @"add" from ["add"]
            %y: f32[2, 2] = Relu(%s) version 13 @"relu" from ["relu"]
          })")),
        device_(backend.device()),
        copies_(device_.stream()),
        kernels_(device_.stream()) {
    for (const auto& node : model_.graph->nodes()) {
      std::string reason;
      made_.push_back(backend.make(request_for(*node), reason));
    }
  }

  // Each value in a buffer of its own, which live for one run.
  void run() {
    std::map<std::string, std::unique_ptr<Buffer>> memory;
    for (const auto& [name, size] : sizes_) memory[name] = device_.allocate(size * sizeof(float));
    enqueue(memory);
    y.assign(4, -1);
    copies_->copy(memory["y"]->address(), y.data(), y.size() * sizeof(float));
    for (auto& [name, buffer] : memory) copies_->release(std::move(buffer));
    copies_->wait_on_host(copies_->record());
    device_.host_reads(y.data(), y.size() * sizeof(float));
  }

  // Ends what an earlier run has left over.
  void drain() {
    for (auto* stream : {copies_.get(), kernels_.get()}) {
      try {
        stream->wait_on_host(stream->record());
      } catch (const Error&) {
      }
    }
  }

  std::vector<float> a = {1, -2, 3, 4, 5, -6}, b = {1, 0, 2, 1, -1, 3}, c = {10, 1, -30, 40}, y;
  static std::vector<float> expected() { return {4, 8, 0, 27}; }

 private:
  using Memory = std::map<std::string, std::unique_ptr<Buffer>>;

  void enqueue(Memory& memory) {
    for (const auto& [name, values] : {std::pair{"a", &a}, {"b", &b}, {"c", &c}}) {
      device_.host_writes(values->data(), values->size() * sizeof(float));
      copies_->copy(values->data(), memory[name]->address(), values->size() * sizeof(float));
    }
    kernels_->wait(copies_->record());
    kernel(0, *kernels_, {memory["a"].get(), memory["b"].get()}, *memory["m"]);
    copies_->wait(kernels_->record());
    kernel(1, *copies_, {memory["m"].get(), memory["c"].get()}, *memory["s"]);
    kernels_->wait(copies_->record());
    kernel(2, *kernels_, {memory["s"].get()}, *memory["y"]);
    copies_->wait(kernels_->record());
  }

  void kernel(size_t index, Stream& stream, const std::vector<Buffer*>& inputs, const Buffer& output) {
    std::vector<const void*> from;
    for (const Buffer* input : inputs) from.push_back(input->address());
    void* to = output.address();
    made_[index]->run({from.data(), &to, nullptr, &stream});
  }

  Model model_;
  SimulatedDevice& device_;
  std::vector<std::unique_ptr<Kernel>> made_;
  const std::map<std::string, size_t> sizes_ = {{"a", 6}, {"b", 6}, {"c", 4}, {"m", 4}, {"s", 4}, {"y", 4}};
  std::unique_ptr<Stream> copies_, kernels_;
};

}  // namespace vernier::simulated
