#include "vernier/backends/shared/faults/fault_kernels.h"
#include "vernier/exec/device/device_constants.h"

namespace vernier {

namespace {

bool is_one_of(const Node& node, std::initializer_list<std::string_view> ops) {
  return std::find(ops.begin(), ops.end(), node.op) != ops.end();
}

bool drop_clip_bound(ChangedRequest& request, Node& clip) {
  if (clip.op != "Clip") return false;
  if (clip.version < 11) return clip.attributes.erase("max") > 0;
  if (clip.input(2) == nullptr) return false;
  if (&clip == &request.node()) request.request().inputs[2].reset();
  clip.inputs[2] = nullptr;
  return true;
}

// The inputs of an operator that hold a scale for each channel.
std::vector<size_t> scales_of(const Node& node) {
  if (is_one_of(node, {"QuantizeLinear", "DequantizeLinear", "BatchNormalization", "InstanceNormalization",
                       "GroupNormalization", "LayerNormalization", "RMSNormalization"}))
    return {1};
  if (is_one_of(node, {"QLinearConv", "QLinearMatMul"})) return {4};
  return node.op == "Mul" ? std::vector<size_t>{0, 1} : std::vector<size_t>{};
}

std::vector<size_t> zero_points_of(const Node& node) {
  if (is_one_of(node, {"QuantizeLinear", "DequantizeLinear"})) return {2};
  if (is_one_of(node, {"QLinearConv", "QLinearMatMul"})) return {2, 5, 7};
  return is_one_of(node, {"ConvInteger", "MatMulInteger"}) ? std::vector<size_t>{2, 3}
                                                           : std::vector<size_t>{};
}

// The constant that a member reads, if it does.
const Operand* constant_operand(ChangedRequest& request, const Node& member, size_t at) {
  const int index = request.operand_of(member, at);
  if (index < 0) return nullptr;
  const Operand& operand = request.request().in(static_cast<size_t>(index));
  return operand.constant == nullptr ? nullptr : &operand;
}

bool share_first_scale(ChangedRequest& request, Node& member) {
  for (const size_t at : scales_of(member)) {
    const Operand* scale = constant_operand(request, member, at);
    if (scale == nullptr || !is_float(scale->element)) continue;
    const auto values = scale->constant->to_doubles();
    if (std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end()) continue;
    const std::vector<double> shared(values.size(), values[0]);
    request.give(member, at, Tensor::from_doubles(scale->element, scale->dims, shared), Layout::kPlain, true);
    return true;
  }
  return false;
}

bool move_zero_point(ChangedRequest& request, Node& member) {
  for (const size_t at : zero_points_of(member)) {
    const Operand* zero_point = constant_operand(request, member, at);
    if (zero_point == nullptr || !is_integer(zero_point->element) || zero_point->size() == 0) continue;
    auto values = zero_point->constant->to_ints();
    for (int64_t& value : values) value += value > 0 ? -1 : 1;  // never beyond the type
    request.give(member, at, Tensor::from_ints(zero_point->element, zero_point->dims, values), Layout::kPlain,
                 true);
    return true;
  }
  return false;
}

// Skips the second of an Add's two inputs that come from outside; in a group the other is what it computes.
bool skip_residual(ChangedRequest& request, Node& add) {
  if (!is_one_of(add, {"Add", "Sum", "SkipLayerNormalization", "SkipSimplifiedLayerNormalization"}))
    return false;
  for (size_t at = std::min<size_t>(add.inputs.size(), 2); at-- > 0;) {
    const int index = request.operand_of(add, at);
    if (index < 0) continue;
    const Operand operand = request.request().in(static_cast<size_t>(index));
    if (operand.constant != nullptr || operand.dims != request.request().out().dims) continue;
    const Tensor zeros(operand.element, operand.memory_dims());
    request.give(add, at, zeros, operand.layout, false);
    return true;
  }
  return false;
}

// The output is larger then, so whatever else the group reads must fit it, too: scalars, and one number for
// each channel.
bool ignore_stride(ChangedRequest& changed, Node& window) {
  const KernelRequest& request = changed.request();
  if (!is_one_of(window, {"Conv", "MaxPool", "AveragePool", "LpPool"}) || request.wants(1) ||
      &window != changed.members().front())
    return false;
  auto strides = window.attribute<std::vector<int64_t>>("strides", {});
  if (std::all_of(strides.begin(), strides.end(), [](int64_t stride) { return stride == 1; })) return false;
  const Dims before = request.out().dims;
  std::set<int> own;
  for (size_t at = 0; at < window.inputs.size(); ++at) own.insert(changed.operand_of(window, at));
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    if (!own.contains(static_cast<int>(i)) && request.has(i) && request.in(i).size() > before[1])
      return false;
  }
  std::fill(strides.begin(), strides.end(), 1);
  window.attributes.insert_or_assign("strides", Attribute(strides));
  return changed.infer_again() != before;
}

// Reads other operands than the plan gives, and leaves out what is too much of the output.
class ChangedKernel : public WrappedKernel {
 public:
  ChangedKernel(const FaultPlace& place, std::shared_ptr<ChangedRequest> changed,
                std::unique_ptr<Kernel> inner, Mover crop)
      : WrappedKernel(std::move(inner), std::move(crop), place.kind),
        changed_(std::move(changed)),
        inputs_(place.request.inputs.size()),
        outputs_(place.request.outputs.size()),
        crops_(made_dims(place.request, *changed_) != place.request.out().memory_dims()) {
    if (crops_) {
      reserve(static_cast<size_t>(element_count(made_dims(place.request, *changed_))) *
              element_size(place.request.out().element));
    }
    for (const auto& [index, content] : changed_->given()) {
      if (!place.device.host_visible())
        on_device_.emplace(index, std::make_unique<DeviceConstant>(place.device, content));
    }
  }

  void run(const KernelArguments& arguments) const override {
    std::vector<const void*> inputs(changed_->request().inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (const auto given = changed_->given().find(i); given != changed_->given().end())
        inputs[i] = arguments.stream == nullptr ? given->second.raw()
                    : inner_->reads(i)          ? on_device_.at(i)->address(*arguments.stream)
                                                : nullptr;
      else if (i < inputs_)
        inputs[i] = arguments.inputs[i];
    }
    const KernelArguments redirected{inputs.data(), arguments.outputs, arguments.scratch, arguments.stream};
    if (!crops_) return inner_->run(redirected);
    std::byte* whole = reserved(arguments);
    run_inner(redirected, outputs_, whole);
    move(arguments, whole, arguments.outputs[0]);
  }

 private:
  std::shared_ptr<ChangedRequest> changed_;
  std::map<size_t, std::unique_ptr<DeviceConstant>> on_device_;  // what is given, by input
  size_t inputs_, outputs_;
  bool crops_;
};

}  // namespace

std::string change_operands(const FaultSpec& spec, ChangedRequest& request) {
  const auto change = [&](Node& member) {
    switch (spec.kind) {
      case Fault::kClipBound: return drop_clip_bound(request, member);
      case Fault::kChannelScale: return share_first_scale(request, member);
      case Fault::kZeroPoint: return move_zero_point(request, member);
      case Fault::kResidual: return skip_residual(request, member);
      case Fault::kStride: return ignore_stride(request, member);
      default: return false;
    }
  };
  for (Node* member : request.members()) {
    if (is_meant(spec, *member) && change(*member)) return onnx_name(spec, *member);
  }
  return "";
}

Dims made_dims(const KernelRequest& original, ChangedRequest& changed) {
  return physical_dims(changed.request().out().dims, original.out().layout);
}

std::shared_ptr<ChangedRequest> crop_request(const KernelRequest& original, ChangedRequest& changed) {
  const Dims wanted = original.out().memory_dims();
  return ChangedRequest::of_a_move(
      "Slice", {{"starts", Attribute(Dims(wanted.size(), 0))}, {"ends", Attribute(wanted)}},
      original.out().element, made_dims(original, changed), wanted);
}

std::unique_ptr<Kernel> run_changed(const FaultPlace& place, std::shared_ptr<ChangedRequest> changed,
                                    std::unique_ptr<Kernel> kernel, Mover crop) {
  return std::make_unique<ChangedKernel>(place, std::move(changed), std::move(kernel), std::move(crop));
}

}  // namespace vernier
