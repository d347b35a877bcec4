#include "vernier/backends/cuda/cudnn/dnn_graph.h"

#include <algorithm>
#include <array>

namespace vernier::cuda {

namespace {

constexpr int64_t kAlignment = 16;  // of operands, as all kernels have them

int data_type(ElementType type) {
  if (type == ElementType::kFloat) return kDnnFloat;
  return type == ElementType::kFloat16 ? kDnnFloat16 : kDnnBFloat16;
}

std::vector<int> notes_of(const DnnDescriptor& engine, int attribute, int type) {
  constexpr size_t kMost = 32;
  std::array<int, kMost> notes{};
  const size_t count = engine.get(attribute, type, notes.data(), kMost);
  return {notes.begin(), notes.begin() + static_cast<std::ptrdiff_t>(std::min(count, kMost))};
}

}  // namespace

DnnGraph::DnnGraph(const CudnnApi& api, DnnHandle handle, const DnnConvolution& asked)
    : api_(api), handle_(handle), asked_(asked) {
  std::vector<DnnPointer> added;  // what is added; null: cut off below zero
  if (asked.residual_input) added.push_back(tensor(DnnId::kResidual, asked.y));
  if (asked.bias_input || asked.adds_zeros) added.push_back(tensor(DnnId::kBias, asked.bias));
  if (asked.relu) added.push_back(nullptr);
  const auto result = [&](bool is_last) { return tensor(is_last ? DnnId::kY : DnnId::kBetween, asked.y); };
  DnnPointer last = result(added.empty());
  convolve(last);
  for (size_t i = 0; i < added.size(); ++i) {
    const DnnPointer to = result(i + 1 == added.size());
    follow(last, added[i], to);
    last = to;
  }
  DnnDescriptor graph(api_, kDnnGraph);
  graph.set(kDnnGraphHandle, kDnnOfHandle, handle_);
  graph.set(kDnnGraphOperations, kDnnOfDescriptor, operations_.data(), operations_.size());
  graph.finalize();
  graph_ = keep(std::move(graph));
}

DnnPointer DnnGraph::keep(DnnDescriptor descriptor) {
  kept_.push_back(std::move(descriptor));
  return kept_.back().get();
}

DnnPointer DnnGraph::tensor(DnnId id, const DnnTensor& tensor) {
  const bool is_virtual = id == DnnId::kBetween;
  DnnDescriptor made(api_, kDnnTensor);
  const int64_t number = static_cast<int64_t>(id) + (is_virtual ? between_++ : 0);
  made.set(kDnnTensorType, kDnnOfDataType, is_virtual ? kDnnFloat : data_type(asked_.element));
  made.set(kDnnTensorSizes, tensor.sizes);
  made.set(kDnnTensorSteps, tensor.steps);
  made.set(kDnnTensorId, kDnnOfInt64, number);
  made.set(kDnnTensorAlignment, kDnnOfInt64, kAlignment);
  if (is_virtual) made.set(kDnnTensorIsVirtual, kDnnOfBoolean, true);
  made.finalize();
  return keep(std::move(made));
}

void DnnGraph::convolve(DnnPointer to) {
  std::vector<int64_t> strides, dilations, begins, ends;
  for (const ops::WindowAxis& axis : asked_.axes) {
    strides.push_back(axis.stride);
    dilations.push_back(axis.dilation);
    begins.push_back(axis.pad_begin);
    ends.push_back(axis.pad_end);
  }
  DnnDescriptor windows(api_, kDnnConvolution);
  windows.set(kDnnConvolutionComputes, kDnnOfDataType, kDnnFloat);
  windows.set(kDnnConvolutionMode, kDnnOfConvolutionMode, kDnnCrossCorrelation);
  windows.set(kDnnSpatialAxes, kDnnOfInt64, static_cast<int64_t>(asked_.axes.size()));
  windows.set(kDnnStrides, strides);
  windows.set(kDnnDilations, dilations);
  windows.set(kDnnPadsBegin, begins);
  windows.set(kDnnPadsEnd, ends);
  windows.finalize();
  const DnnPointer x = tensor(DnnId::kX, asked_.x), w = tensor(DnnId::kW, asked_.w);
  DnnDescriptor operation(api_, kDnnConvolutionForward);
  operation.set(kDnnForwardConvolution, windows);
  operation.set(kDnnForwardX, kDnnOfDescriptor, x);
  operation.set(kDnnForwardW, kDnnOfDescriptor, w);
  operation.set(kDnnForwardY, kDnnOfDescriptor, to);
  operation.set(kDnnForwardAlpha, kDnnOfFloat, 1.0F);
  operation.set(kDnnForwardBeta, kDnnOfFloat, 0.0F);
  operation.finalize();
  keep(std::move(windows));
  operations_.push_back(keep(std::move(operation)));
}

void DnnGraph::follow(DnnPointer from, DnnPointer operand, DnnPointer to) {
  const bool adds = operand != nullptr;
  DnnDescriptor pointwise(api_, kDnnPointwise);
  pointwise.set(kDnnPointwiseMode, kDnnOfPointwiseMode, adds ? kDnnAdd : kDnnRelu);
  pointwise.set(kDnnPointwiseComputes, kDnnOfDataType, kDnnFloat);
  if (!adds) pointwise.set(kDnnPointwiseNan, kDnnOfNanPropagation, kDnnPropagateNan);
  if (!adds && asked_.most != HUGE_VAL) pointwise.set(kDnnReluUpper, kDnnOfDouble, asked_.most);
  pointwise.finalize();
  DnnDescriptor operation(api_, kDnnPointwiseOperation);
  operation.set(kDnnOperationPointwise, pointwise);
  operation.set(kDnnOperationX, kDnnOfDescriptor, from);
  if (adds) operation.set(kDnnOperationB, kDnnOfDescriptor, operand);
  operation.set(kDnnOperationY, kDnnOfDescriptor, to);
  operation.finalize();
  keep(std::move(pointwise));
  operations_.push_back(keep(std::move(operation)));
}

std::vector<DnnEngine> DnnGraph::engines(int mode) const {
  DnnDescriptor heuristics(api_, kDnnHeuristics);
  heuristics.set(kDnnHeuristicsGraph, kDnnOfDescriptor, graph_);
  heuristics.set(kDnnHeuristicsMode, kDnnOfHeuristicsMode, mode);
  heuristics.finalize();
  const size_t count = heuristics.get(kDnnHeuristicsResults, kDnnOfDescriptor, nullptr, 0);
  std::vector<DnnEngine> found;
  std::vector<DnnPointer> results;
  for (size_t i = 0; i < count; ++i) {
    found.push_back({DnnDescriptor(api_, kDnnConfiguration), 0, {}, {}});
    results.push_back(found.back().configuration.get());
  }
  const size_t given = heuristics.get(kDnnHeuristicsResults, kDnnOfDescriptor, results.data(), count);
  while (found.size() > given) found.pop_back();
  for (DnnEngine& each : found) {
    const DnnDescriptor engine(api_, kDnnEngine);
    DnnPointer pointer = engine.get();
    each.configuration.get(kDnnConfigurationEngine, kDnnOfDescriptor, &pointer, 1);
    engine.get(kDnnEngineNumber, kDnnOfInt64, &each.number, 1);
    each.numerical = notes_of(engine, kDnnEngineNumericalNotes, kDnnOfNumericalNote);
    each.behaviour = notes_of(engine, kDnnEngineBehaviourNotes, kDnnOfBehaviourNote);
  }
  return found;
}

DnnPlan DnnGraph::plan(const DnnEngine& engine) const {
  return {api_, handle_, engine.configuration};
}

bool keeps_to_contract(const DnnEngine& engine, const DnnConvolution& asked) {
  const auto has = [](const std::vector<int>& notes, int note) {
    return std::find(notes.begin(), notes.end(), note) != notes.end();
  };
  constexpr int kNever[] = {kDnnDownConvertsInputs, kDnnReducedPrecision, kDnnFft,       kDnnNondeterministic,
                            kDnnWinograd,           kDnnWinograd4,        kDnnWinograd6, kDnnWinograd13};
  // The matrix units round floats to TF32.
  if (asked.element == ElementType::kFloat && has(engine.numerical, kDnnTensorCores) != asked.tf32)
    return false;
  return !has(engine.behaviour, kDnnCompilesAtRunTime) &&
         std::none_of(std::begin(kNever), std::end(kNever),
                      [&](int note) { return has(engine.numerical, note); });
}

}  // namespace vernier::cuda
