#include "conformance/resident_run.h"

#include <cstring>

#include "conformance/cases.h"
#include "vernier/base/error.h"
#include "vernier/engine/engine_device.h"
#include "vernier/ops/op_def.h"

namespace vernier {

namespace {

bool can_lie_there(const Datum& datum) {
  return datum.is_tensor() && datum.tensor.type() != ElementType::kString;
}

// Whether two runs may differ.
bool draws(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const auto& node) {
    const ops::OpDef* def = ops::OpRegistry::instance().find(*node);
    return (def != nullptr && (def->traits & ops::kNondeterministic) != 0) ||
           std::any_of(node->regions.begin(), node->regions.end(),
                       [](const auto& region) { return draws(*region.second); });
  });
}

class ResidentRun {
 public:
  ResidentRun(Session& session, std::span<const Datum> inputs, std::span<const Datum> expected)
      : session_(session),
        device_(preferred_device(session.engine())),
        expected_(expected),
        memory_(expected.size()) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      inputs_.push_back(inputs[i]);
      if (!can_lie_there(inputs[i])) continue;
      const Tensor& tensor = inputs[i].tensor;
      std::byte* memory = allocate(tensor);
      if (tensor.byte_size() > 0) device_.device->copy(tensor.raw(), memory, tensor.byte_size());
      inputs_.back() = Tensor::borrow(tensor.type(), tensor.dims(), memory, nullptr);
      bindings_.push_back({.input = i, .device = device_.number});
    }
  }

  void bind_outputs() {
    for (size_t i = 0; i < expected_.size(); ++i) {
      if (!can_lie_there(expected_[i])) continue;
      const Tensor& tensor = expected_[i].tensor;
      memory_[i] = {tensor.type(), tensor.dims(), allocate(tensor)};
      bindings_.push_back({.output = i, .device = device_.number});
    }
  }

  void run(Stream* stream) {
    std::vector<Datum> outputs;
    session_.run(
        inputs_, outputs,
        {.memory = memory_, .bindings = bindings_, .stream = stream, .stream_device = device_.number});
    session_.settle();
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (can_lie_there(expected_[i])) compare(i, outputs[i].tensor);
    }
  }

 private:
  std::byte* allocate(const Tensor& tensor) {
    buffers_.push_back(device_.device->allocate(std::max<size_t>(1, tensor.byte_size())));
    return buffers_.back()->address();
  }

  void compare(size_t output, const Tensor& made) const {
    const Tensor& expected = expected_[output].tensor;
    Tensor read(expected.type(), expected.dims());
    if (read.byte_size() == 0) return;
    if (memory_[output].given())
      device_.device->copy(memory_[output].data, read.mutable_raw(), read.byte_size());
    else
      read = made;
    if (std::memcmp(read.raw(), expected.raw(), read.byte_size()) == 0) return;
    const bool is_exact = session_.engine().options().profiles.empty();
    const std::string why = is_exact ? "other bits" : vernier::compare(Datum(read), expected_[output]);
    if (!why.empty())
      throw internal_error("output {} differs in memory of {}: {}", output, device_.name, why);
  }

  Session& session_;
  const EngineDevice device_;
  const std::span<const Datum> expected_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::vector<Datum> inputs_;
  std::vector<OutputMemory> memory_;
  std::vector<MemoryBinding> bindings_;
};

}  // namespace

void expect_the_same_on_the_device(Session& session, std::span<const Datum> inputs,
                                   std::span<const Datum> expected) {
  if (draws(session.engine().graph())) return;
  const auto stream = preferred_device(session.engine()).device->stream();
  ResidentRun only_inputs(session, inputs, expected), all(session, inputs, expected);
  all.bind_outputs();
  try {
    all.run(nullptr);
    all.run(stream.get());
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnsupported) throw;
    only_inputs.run(stream.get());  // only running tells the sizes of some output
  }
}

}  // namespace vernier
