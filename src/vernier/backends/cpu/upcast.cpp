#include "vernier/backends/cpu/upcast.h"

#include <cstring>
#include <deque>
#include <mutex>

#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/vectors/float_storage.h"
#include "vernier/exec/kernel_decorator.h"
#include "vernier/ops/group.h"

namespace vernier::cpu {

namespace {

constexpr int64_t kGrain = 8192;  // elements worth a thread
constexpr size_t kAlignment = 64;

size_t aligned(size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

void upcast(ElementType type, const void* from, int64_t count, float* to) {
  parallel(count, kGrain,
           [&](int64_t begin, int64_t end) { load_floats(type, from, begin, end - begin, to + begin); });
}

void narrow(ElementType type, const float* from, int64_t count, void* to) {
  parallel(count, kGrain,
           [&](int64_t begin, int64_t end) { store_floats(type, from + begin, end - begin, to, begin); });
}

Tensor upcast(const Tensor& tensor) {
  Tensor result(ElementType::kFloat, tensor.dims());
  upcast(tensor.type(), tensor.raw(), tensor.size(), static_cast<float*>(result.mutable_raw()));
  return result;
}

int64_t physical_size(const Operand& operand) {
  return element_count(operand.memory_dims());
}

// An operand of the narrow kernel, and where the wide one has it.
struct Place {
  ElementType element = ElementType::kUndefined;  // narrow; undefined: passed on as it is
  int64_t size = 0;
  size_t offset = 0;  // in the scratch memory
  Tensor content;     // of a constant
};

class UpcastKernel : public KernelDecorator {
 public:
  UpcastKernel(std::unique_ptr<Kernel> kernel, std::vector<Place> inputs, std::vector<Place> outputs)
      : KernelDecorator(std::move(kernel)), inputs_(std::move(inputs)), outputs_(std::move(outputs)) {
    name += ":upcast";
    scratch_bytes = aligned(inner_->scratch_bytes);
    const auto place = [&](Place& each) {
      if (each.element == ElementType::kUndefined || each.content.is_defined()) return;
      each.offset = scratch_bytes;
      scratch_bytes += aligned(static_cast<size_t>(each.size) * sizeof(float));
    };
    for (Place& input : inputs_) place(input);
    const int source = inner_->in_place;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const bool overwrites = i == 0 && source >= 0 && is_in_scratch(inputs_[static_cast<size_t>(source)]) &&
                              outputs_[0].element != ElementType::kUndefined;
      if (overwrites)
        outputs_[0].offset = inputs_[static_cast<size_t>(source)].offset;
      else
        place(outputs_[i]);
    }
    if (!outputs_.empty() && outputs_[0].element != ElementType::kUndefined &&
        contract.computed != ElementType::kUndefined)
      contract.stored = outputs_[0].element;
  }

  void run(const KernelArguments& arguments) const override {
    const void* inputs[kMaxOperands];
    void* outputs[kMaxOperands];
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const Place& place = inputs_[i];
      inputs[i] = place.content.is_defined() ? place.content.raw() : arguments.inputs[i];
      if (!is_in_scratch(place) || arguments.inputs[i] == nullptr) continue;
      auto* wide = reinterpret_cast<float*>(arguments.scratch + place.offset);
      upcast(place.element, arguments.inputs[i], place.size, wide);
      inputs[i] = wide;
    }
    for (size_t i = 0; i < outputs_.size(); ++i)
      outputs[i] = is_in_scratch(outputs_[i]) ? arguments.scratch + outputs_[i].offset : arguments.outputs[i];
    inner_->run({inputs, outputs, arguments.scratch});
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (is_in_scratch(outputs_[i]))
        narrow(outputs_[i].element, static_cast<const float*>(outputs[i]), outputs_[i].size,
               arguments.outputs[i]);
    }
  }

  // It reads the wide copy of a constant, if it has one.
  bool reads(size_t input) const override {
    return inner_->reads(input) && !(input < inputs_.size() && inputs_[input].content.is_defined());
  }

  static constexpr size_t kMaxOperands = 64;

 private:
  static bool is_in_scratch(const Place& place) {
    return place.element != ElementType::kUndefined && !place.content.is_defined();
  }

  std::vector<Place> inputs_, outputs_;
};

bool has_narrow(const std::vector<std::optional<Operand>>& operands) {
  return std::any_of(operands.begin(), operands.end(),
                     [](const auto& operand) { return operand && is_narrow(operand->element); });
}

// Makes the operands wide; gives where each is.
std::vector<Place> widen_all(std::vector<std::optional<Operand>>& operands) {
  std::vector<Place> places;
  for (auto& operand : operands) {
    Place& place = places.emplace_back();
    if (!operand || !is_narrow(operand->element)) continue;
    place.element = operand->element;
    place.size = physical_size(*operand);
    if (operand->constant != nullptr) place.content = upcast(*operand->constant);
    operand->element = ElementType::kFloat;
  }
  return places;
}

// A constant that is upcast when its content is first read.
class WideContent : public DeferredContent {
 public:
  explicit WideContent(Tensor narrow) : narrow_(std::move(narrow)) {}
  const void* get() const override {
    std::call_once(once_, [this] { wide_ = upcast(narrow_); });
    return wide_.raw();
  }

 private:
  Tensor narrow_;
  mutable std::once_flag once_;
  mutable Tensor wide_;
};

}  // namespace

bool can_be_upcast(const KernelRequest& request) {
  const Node& node = request.node;
  if (request.inputs.size() > UpcastKernel::kMaxOperands ||
      request.outputs.size() > UpcastKernel::kMaxOperands || node.op == "BitCast" || request.open_sizes)
    return false;
  // The body of a pointwise group states where values are rounded; an epilogue rounds once, at its end.
  if (ops::is_group(node) && ops::group_kind(node) == "pointwise") return false;
  // Operands in a cache must stay as they are.
  for (const auto* operands : {&request.inputs, &request.outputs}) {
    for (const auto& operand : *operands) {
      if (operand && operand->layout == Layout::kCache) return false;
    }
  }
  return has_narrow(request.inputs) || has_narrow(request.outputs);
}

std::vector<std::string> upcast_tactics(const KernelRequest& request, const FindTactics& find) {
  const bool is_float16 = request.has(0) && request.in(0).element == ElementType::kFloat16;
  if (!is_float16 || !can_be_upcast(request)) return {};
  KernelRequest wide = request;
  std::deque<Tensor> contents;
  for (auto* operands : {&wide.inputs, &wide.outputs}) {
    for (auto& operand : *operands) {
      if (!operand || !is_narrow(operand->element)) continue;
      operand->element = ElementType::kFloat;
      if (operand->constant == nullptr) continue;
      contents.push_back(Tensor::deferred(ElementType::kFloat, operand->dims,
                                          std::make_shared<WideContent>(*operand->constant)));
      operand->constant = &contents.back();
    }
  }
  return find(wide);
}

std::unique_ptr<Kernel> make_upcast(const KernelRequest& request, std::string& reason,
                                    const MakeKernel& make) {
  KernelRequest wide = request;
  auto inputs = widen_all(wide.inputs), outputs = widen_all(wide.outputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].content.is_defined()) wide.inputs[i]->constant = &inputs[i].content;
  }
  auto kernel = make(wide, reason);
  if (!kernel) return nullptr;
  for (size_t i = 0; i < inputs.size(); ++i) {
    // Weights that the kernel has packed are not kept twice.
    if (inputs[i].content.is_defined() && !kernel->reads(i)) inputs[i] = {};
  }
  return std::make_unique<UpcastKernel>(std::move(kernel), std::move(inputs), std::move(outputs));
}

namespace {

class OneThreadKernel : public KernelDecorator {
 public:
  explicit OneThreadKernel(std::unique_ptr<Kernel> inner) : KernelDecorator(std::move(inner)) {
    name += ", one thread";
    scratch_bytes = inner_->scratch_bytes;
    in_place = inner_->in_place;
  }
  void run(const KernelArguments& arguments) const override {
    const ThreadLimit scope(1);
    inner_->run(arguments);
  }
  void measure(const KernelArguments& arguments, std::span<Dims> sizes) const override {
    const ThreadLimit scope(1);
    inner_->measure(arguments, sizes);
  }
  void prepare() const override {
    const ThreadLimit scope(1);
    inner_->prepare();
  }
  bool reads(size_t input) const override { return inner_->reads(input); }
};

}  // namespace

std::unique_ptr<Kernel> make_one_thread(
    const KernelRequest& request, std::string& reason,
    const std::function<std::unique_ptr<Kernel>(const KernelRequest&, std::string&)>& make) {
  const ThreadLimit scope(1);
  KernelRequest own = request;
  own.tactic = {};
  auto kernel = make(own, reason);
  return kernel ? std::make_unique<OneThreadKernel>(std::move(kernel)) : nullptr;
}

}  // namespace vernier::cpu
