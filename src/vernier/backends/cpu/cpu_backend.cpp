#include "vernier/backends/cpu/cpu_backend.h"

#include <atomic>

#include "vernier/backends/cpu/driver.h"
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/movement/copy_kernel.h"
#include "vernier/backends/cpu/onednn/packed_form.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/processor.h"
#include "vernier/backends/cpu/quantized/int8_rows.h"
#include "vernier/backends/cpu/quantized/picture.h"
#include "vernier/backends/cpu/upcast.h"
#include "vernier/backends/shared/caches.h"
#include "vernier/backends/shared/faults/fault_kernels.h"
#include "vernier/exec/one_thread.h"
#include "vernier/ops/group.h"
#include "vernier/ops/support/movement/permutation.h"

namespace vernier::cpu {

namespace {

// The layout in which most of what is read lies, of the tensors of the output's rank; the others are brought
// into it. There is no reorder of elements of more than 4 bytes.
Layout shared_layout(const KernelRequest& request) {
  const auto is_wide = [](const std::optional<Operand>& operand) {
    return operand && element_size(operand->element) > 4;
  };
  if (std::any_of(request.inputs.begin(), request.inputs.end(), is_wide) ||
      std::any_of(request.outputs.begin(), request.outputs.end(), is_wide))
    return Layout::kPlain;
  std::map<Layout, int64_t> elements;
  for (const auto& input : request.inputs) {
    if (input && input->constant == nullptr && input->rank() == request.out().rank())
      elements[input->layout == Layout::kCache ? Layout::kPlain : input->layout] += input->size();
  }
  const auto most = std::max_element(elements.begin(), elements.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == elements.end() ? Layout::kPlain : most->first;
}

// Images are input 0, and whatever an epilogue adds element by element; input 1 holds weights.
bool is_image(const KernelRequest& request, size_t input, LayoutRule rule) {
  const Operand& operand = request.in(input);
  if (rule == LayoutRule::kImage) return input == 0 || (input > 1 && operand.dims == request.out().dims);
  return operand.rank() == request.out().rank();
}

void lay_out(KernelRequest& request, LayoutRule rule, Layout layout) {
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    if (!request.has(i)) continue;
    Operand& input = *request.inputs[i];
    const bool takes = layout != Layout::kPlain && input.constant == nullptr && is_image(request, i, rule);
    input.layout = takes ? layout : Layout::kPlain;
  }
  // Blocks of sixteen channels of which three are there: oneDNN reads such images plain.
  if (rule == LayoutRule::kImage && layout == Layout::kBlocked16 && request.in(0).dims[1] < 4)
    request.inputs[0]->layout = Layout::kPlain;
  for (auto& output : request.outputs) {
    if (output) output->layout = layout;
  }
}

// A plain input transposed into channels-last memory, where that keeps the elements in order: what models of
// TensorFlow do around each convolution.
void lay_out_transpose(KernelRequest& request, Layout image_layout) {
  constexpr int64_t kImageRank = 4;  // of lower rank are tokens, which matrix products read plain
  Operand &x = *request.inputs[0], &y = *request.outputs[0];
  if (x.layout == Layout::kBlocked16 || x.layout == Layout::kCache) x.layout = Layout::kPlain;
  if (x.layout != Layout::kPlain || image_layout != Layout::kChannelsLast || y.rank() < kImageRank) return;
  auto perm = ops::permutation_of(request.node, y.dims.size());
  std::rotate(perm.begin() + 1, perm.begin() + 2, perm.end());
  if (ops::keeps_order(x.dims, perm)) y.layout = image_layout;
}

bool has_elements(const std::vector<std::optional<Operand>>& operands) {
  return std::any_of(operands.begin(), operands.end(),
                     [](const auto& operand) { return operand && operand->size() != 0; });
}

// Computes a node whose outputs have no elements.
class EmptyKernel : public Kernel {
 public:
  EmptyKernel() { name = "cpu:empty"; }
  void run(const KernelArguments& /*arguments*/) const override {}
  bool reads(size_t /*input*/) const override { return false; }
};

// Whether outputs have elements though a contraction, or a group, reads an input that has none: sums of
// nothing. Their kernels divide work, and walk memory, by sizes that are not 0.
bool sums_nothing(const KernelRequest& request) {
  const std::string& op = request.node.op;
  const bool contracts = op.find("Conv") != std::string::npos || op.find("MatMul") != std::string::npos ||
                         op.ends_with("Gemm") || ops::is_group(request.node);
  return contracts && std::any_of(request.inputs.begin(), request.inputs.end(),
                                  [](const auto& operand) { return operand && operand->size() == 0; });
}

std::unique_ptr<Kernel> make_as_is(const KernelRequest& request, std::string& reason) {
  reason = "the CPU backend has no kernel for it";
  for (const KernelMaker& maker : KernelRegistry::instance().find(request.node)) {
    if (!request.tactic.empty() && maker.tactics == nullptr) continue;  // it knows one way only
    if (request.open_sizes && !maker.measures) continue;
    try {
      if (auto kernel = maker.make(request, reason)) return kernel;
    } catch (Error& error) {
      throw error.at_node(request.node.name);
    }
  }
  return nullptr;
}

std::vector<std::string> tactics_as_is(const KernelRequest& request) {
  std::vector<std::string> all;
  for (const KernelMaker& maker : KernelRegistry::instance().find(request.node)) {
    if (maker.tactics == nullptr) continue;
    for (std::string& tactic : maker.tactics(request)) all.push_back(std::move(tactic));
  }
  return all;
}

// Tells whether a library computes it element by element, for want of better.
bool is_slow(const Kernel& kernel) {
  return kernel.name.starts_with("onednn:ref") || kernel.name.starts_with("onednn:gemm:ref");
}

std::unique_ptr<Kernel> make_sound(const KernelRequest& request, std::string& reason) {
  if (!request.open_sizes && !has_elements(request.outputs)) return std::make_unique<EmptyKernel>();
  if (sums_nothing(request)) {
    reason = "an input has no elements: what that gives is left to the reference";
    return nullptr;
  }
  auto kernel = make_as_is(request, reason);
  if ((kernel && !is_slow(*kernel)) || !can_be_upcast(request)) return kernel;
  std::string no_wide;
  auto wide = make_upcast(request, no_wide, make_as_is);
  return wide ? std::move(wide) : std::move(kernel);
}

// Bytes in blocks of 16 channels only oneDNN's reference multiplies.
Layout image_layout(const KernelRequest& request) {
  const bool bytes = request.has(0) && element_size(request.in(0).element) == 1;
  return bytes && request.images == Layout::kBlocked16 ? Layout::kChannelsLast : request.images;
}

}  // namespace

bool computes_bf16() {
  return has(Feature::kBf16);
}

bool attends_int8() {
  return has_int8_rows();
}

CpuBackend::CpuBackend(const std::optional<FaultSpec>& fault)
    : injector_(fault ? std::make_unique<FaultInjector>(*fault, device(), make_sound, make_faulty_host_sums)
                      : nullptr) {
  require_avx2();
}

std::unique_ptr<Kernel> CpuBackend::make(const KernelRequest& request, std::string& reason) const {
  if (request.tactic == kOneThreadTactic)
    return make_one_thread(request, reason,
                           [this](const KernelRequest& own, std::string& why) { return make(own, why); });
  return injector_ ? injector_->make(request, reason) : make_sound(request, reason);
}

std::optional<FaultSpec> CpuBackend::applied_fault() const {
  return injector_ ? std::optional(injector_->applied()) : std::nullopt;
}

std::vector<std::string> CpuBackend::tactics(const KernelRequest& request) const {
  if (!has_elements(request.outputs) || sums_nothing(request)) return {};
  auto all = tactics_as_is(request);
  if (all.empty()) all = upcast_tactics(request, tactics_as_is);
  // A user may name every tactic that there is.
  for (const std::string& tactic : all) {
    if (!tactic.empty() && !tactic_names().contains(tactic))
      throw internal_error("the tactic '{}' is not among tactic_names()", tactic);
  }
  if (injector_) injector_->note_tactics(request, all);
  return all;
}

void CpuBackend::choose_layouts(KernelRequest& request) const {
  const auto makers = KernelRegistry::instance().find(request.node);
  const LayoutRule rule = makers.empty() || request.outputs.empty() || !request.wants(0)
                              ? LayoutRule::kPlain
                              : makers.front().layouts;
  if (rule == LayoutRule::kTranspose) return lay_out_transpose(request, request.images);
  const auto caches = caches_of(request);
  Layout layout = Layout::kPlain;
  const bool image = request.wants(0) && request.out().rank() >= 3;
  if (rule == LayoutRule::kImage && image) layout = image_layout(request);
  if (rule == LayoutRule::kFollow && image) layout = shared_layout(request);
  lay_out(request, rule, layout);
  if (becomes_pixels(request)) request.outputs[0]->layout = request.images;
  if (!caches.empty() && !makers.empty() && makers.front().lay_out_caches != nullptr)
    makers.front().lay_out_caches(request, caches);
}

void CpuBackend::read(std::span<const std::byte> memory) const {
  constexpr size_t kLine = 64;
  std::atomic<uint64_t> sum = 0;  // so that reading is not left out
  parallel(static_cast<int64_t>(memory.size() / kLine), 1, [&](int64_t begin, int64_t end) {
    uint64_t part = 0;
    for (int64_t line = begin; line < end; ++line)
      part += std::to_integer<uint64_t>(memory[static_cast<size_t>(line) * kLine]);
    sum += part;
  });
}

std::unique_ptr<Kernel> CpuBackend::reorder(const Operand& from, Layout to) const {
  return make_reorder(from, to);
}

}  // namespace vernier::cpu
