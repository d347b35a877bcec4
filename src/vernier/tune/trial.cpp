#include "vernier/tune/trial.h"

#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <random>

#include "vernier/base/threads.h"
#include "vernier/ir/clone.h"
#include "vernier/ops/group.h"
#include "vernier/tensor/drawn_blocks.h"
#include "vernier/tune/fitted_operand.h"

namespace vernier {

namespace {

// Weights that are not in the caches any more when their node runs again.
constexpr size_t kLargeConstants = 64 * 1024;
// Of which it is worth the time to find out how far away they are then.
constexpr size_t kVeryLargeConstants = 1024 * 1024;

bool is_byte(ElementType type) {
  return type == ElementType::kUint8 || type == ElementType::kInt8;
}

bool is_drawn_type(ElementType type) {
  return type == ElementType::kFloat || type == ElementType::kFloat16 || type == ElementType::kBFloat16 ||
         is_byte(type);
}

Tensor draw(const Operand& operand, uint64_t seed) {
  if (!is_float(operand.element)) {
    std::mt19937_64 random(seed);
    Tensor tensor(operand.element, operand.dims);
    const bool bytes = is_byte(operand.element);
    auto* to = static_cast<uint8_t*>(tensor.mutable_raw());
    for (size_t i = 0; i < tensor.byte_size(); ++i)
      to[i] =
          bytes ? static_cast<uint8_t>(random()) : operand.element == ElementType::kBool && random() % 4 != 0;
    return tensor;
  }
  std::vector<double> values(static_cast<size_t>(operand.size()));
  draw_blocks(std::span(values), seed, [](std::span<double> part, SplitMix64& random) {
    std::normal_distribution<double> normal;
    for (double& value : part) value = normal(random);
  });
  return Tensor::from_doubles(operand.element, operand.dims, values);
}

// A model whose graph is the node, or the body of the group, with inputs for all that it reads.
Model model_of(const Node& node) {
  Model model;
  model.ir_version = 1;
  if (ops::is_group(node)) {
    model.graph = clone(ops::body(node));
    return model;
  }
  model.graph = std::make_unique<Graph>();
  ValueMap values;
  for (const Value* input : node.inputs) {
    if (input == nullptr || values.contains(input)) continue;
    values[input] = model.graph->add_input(input->name, input->type);
  }
  for (const Value* output : node.outputs) {
    if (output == nullptr) continue;
    values[output] = model.graph->add_value(output->name, output->type);
    model.graph->outputs.push_back(values[output]);
  }
  model.graph->add_node(clone(node, values, model.graph.get()));
  return model;
}

Tensor laid_out(const KernelSource& kernels, const Tensor& tensor, const Operand& from, Layout to) {
  if (from.layout == to) return tensor;
  Operand target = from;
  target.layout = to;
  Tensor result(from.element, physical_dims(from.dims, to));
  const auto kernel = kernels.reorder(from, to);
  Scratch scratch;
  const void* source = tensor.raw();
  void* at = result.mutable_raw();
  kernel->run({&source, &at, scratch.at_least(kernel->scratch_bytes)});
  return to == Layout::kPlain ? result.reshaped(from.dims) : result;
}

// Squares of a part, and of its differences.
struct Squares {
  double difference = 0, size = 0;

  void add(double expected, double actual) {
    if (!std::isfinite(expected) || !std::isfinite(actual)) {
      const bool same = std::isnan(expected) ? std::isnan(actual) : expected == actual;
      if (!same) difference = std::numeric_limits<double>::infinity();
      return;
    }
    difference += (expected - actual) * (expected - actual);
    size += expected * expected;
  }
};

double distance(const Tensor& expected, const Tensor& actual) {
  const auto a = expected.to_doubles(), b = actual.to_doubles();
  std::vector<Squares> parts(block_count(a.size()));
  for_each_block(std::span(a), [&](size_t block, std::span<const double> part) {
    const auto other = std::span(b).subspan(block * kDrawnBlock, part.size());
    Squares sums;
    for (size_t i = 0; i < part.size(); ++i) sums.add(part[i], other[i]);
    parts[block] = sums;
  });
  Squares all;
  for (const Squares& part : parts) {
    all.difference += part.difference;
    all.size += part.size;
  }
  if (all.difference == 0 || std::isinf(all.difference)) return all.difference;
  return std::sqrt(all.difference / all.size);
}

}  // namespace

size_t second_caches() {
  constexpr size_t kOfACore = size_t{2} << 20;  // larger ones are rare
  return kOfACore * static_cast<size_t>(thread_count());
}

size_t third_cache() {
  static constexpr size_t kUnknown = 32, kMost = 128;  // MiB: large ones have other guests, too
  static const size_t bytes = [] {
    size_t kib = 0;
    std::ifstream("/sys/devices/system/cpu/cpu0/cache/index3/size") >> kib;
    return std::min(kib > 0 ? kib / 1024 : kUnknown, kMost) << 20;
  }();
  return bytes;
}

bool Trial::can_draw(const KernelRequest& request) {
  const auto fits = [](const std::optional<Operand>& operand) {
    return !operand || operand->constant != nullptr || is_drawn_type(operand->element);
  };
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    if (!fits(request.inputs[i]) && request.in(i).element != ElementType::kBool &&
        !fitted_operand(request, i))
      return false;
  }
  return std::all_of(request.outputs.begin(), request.outputs.end(), fits);
}

Trial::Trial(const KernelRequest& request, const KernelSource& kernels, const ReferenceOf& reference)
    : request_(request), kernels_(kernels) {
  std::map<const Value*, Tensor> by_value;
  std::vector<Tensor> given;  // each value once, as the model takes them
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    if (!request.has(i)) {
      inputs_.emplace_back();
      laid_out_.emplace_back();
      continue;
    }
    const Operand& operand = request.in(i);
    Tensor& tensor = by_value[request.node.inputs[i]];
    if (!tensor.is_defined()) {
      const auto known =
          operand.constant != nullptr ? std::optional(*operand.constant) : fitted_operand(request, i);
      tensor = known ? *known : draw(operand, i + 1);
      given.push_back(tensor);
    }
    inputs_.push_back(tensor);
    if (operand.constant != nullptr) constant_bytes_ += tensor.byte_size();
    Operand plain = operand;
    plain.layout = Layout::kPlain;
    laid_out_.push_back(laid_out(kernels, tensor, plain, operand.layout));
  }
  for (size_t i = 0; i < request.outputs.size(); ++i) {
    outputs_.emplace_back();
    if (request.wants(i))
      outputs_.back() =
          Tensor(request.out(i).element, physical_dims(request.out(i).dims, request.out(i).layout));
  }
  for (const Tensor& input : laid_out_) from_.push_back(input.is_defined() ? input.raw() : nullptr);
  for (Tensor& output : outputs_) to_.push_back(output.is_defined() ? output.mutable_raw() : nullptr);
  if (reference) expected_ = reference(model_of(request.node), ops::is_group(request.node) ? inputs_ : given);
}

void Trial::run(const Kernel& kernel) {
  kernel.run({from_.data(), to_.data(), scratch_.at_least(kernel.scratch_bytes)});
}

// What an earlier kernel left must not stand in for what this one does not write. All ones are NaN.
void Trial::run_afresh(const Kernel& kernel) {
  for (Tensor& output : outputs_) {
    if (output.is_defined()) std::memset(output.mutable_raw(), 0xFF, output.byte_size());
  }
  run(kernel);
}

std::vector<Tensor> Trial::outputs(const Kernel& kernel) {
  run_afresh(kernel);
  std::vector<Tensor> copies;
  for (const Tensor& output : outputs_) {
    copies.push_back(output);
    if (output.is_defined()) copies.back().mutable_raw();  // a copy of its own
  }
  return copies;
}

double Trial::error(const Kernel& kernel) {
  run_afresh(kernel);
  double worst = 0;
  for (size_t i = 0, expected = 0; i < outputs_.size(); ++i) {
    if (!request_.wants(i)) continue;
    const Tensor plain = laid_out(kernels_, outputs_[i], request_.out(i), Layout::kPlain);
    worst = std::max(worst, distance(expected_.at(expected++), plain.reshaped(request_.out(i).dims)));
  }
  return worst;
}

double Trial::time(const Kernel& kernel, std::span<const std::byte> others) {
  if (constant_bytes_ >= kLargeConstants) {
    const bool far = constant_bytes_ >= kVeryLargeConstants;
    kernels_.read(far ? others : others.first(std::min(others.size(), second_caches())));
    for (size_t i = 0; i < laid_out_.size(); ++i) {
      if (request_.has(i) && request_.in(i).constant == nullptr)
        kernels_.read({static_cast<const std::byte*>(laid_out_[i].raw()), laid_out_[i].byte_size()});
    }
  }
  const auto start = std::chrono::steady_clock::now();
  run(kernel);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double error_bound(const NumericsContract& contract) {
  // Beside a tie a result may be a step off: one of thousands, where steps are a hundredth of the numbers.
  if (is_byte(contract.stored) && contract.computed == ElementType::kFloat) return 1e-3;
  // Half an ulp of what is stored; sums of thousands of products in another order stay within some dozens.
  const double ulp = contract.stored == ElementType::kBFloat16  ? 0x1p-9
                     : contract.stored == ElementType::kFloat16 ? 0x1p-12
                                                                : 0x1p-25;
  const double factor = contract.stored == ElementType::kFloat ? 128 : 4;
  // Winograd's transforms, and products in pieces, cost some bits: declared, and bounded.
  return ulp * factor * (contract.winograd || contract.approximate ? 16 : 1);
}

}  // namespace vernier
