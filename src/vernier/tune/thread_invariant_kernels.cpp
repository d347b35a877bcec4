#include "vernier/tune/thread_invariant_kernels.h"

#include <algorithm>
#include <cstring>

#include "vernier/exec/one_thread.h"
#include "vernier/tune/request_key.h"
#include "vernier/tune/trial.h"

namespace vernier {

namespace {

KernelRequest with_tactic(const KernelRequest& request, std::string_view tactic) {
  KernelRequest result = request;
  result.tactic = tactic;
  return result;
}

KernelRequest in_plain_memory(const KernelRequest& request) {
  KernelRequest plain = request;
  for (auto* operands : {&plain.inputs, &plain.outputs}) {
    for (auto& operand : *operands) {
      if (operand) operand->layout = Layout::kPlain;
    }
  }
  return plain;
}

// Integers are exact, and so is what only moves bits.
bool rounds(const NumericsContract& contract) {
  return contract.computed != ElementType::kUndefined && !is_integer(contract.computed) &&
         contract.computed != ElementType::kBool;
}

bool same_bits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].is_defined() && a[i].byte_size() > 0 &&
        std::memcmp(a[i].raw(), b[i].raw(), a[i].byte_size()) != 0)
      return false;
  }
  return true;
}

bool is_narrow(const std::optional<Operand>& operand) {
  return operand && is_float(operand->element) && element_size(operand->element) < sizeof(float);
}

KernelRequest with_float_results(const KernelRequest& request) {
  KernelRequest result = request;
  for (auto& output : result.outputs) {
    if (is_narrow(output)) output->element = ElementType::kFloat;
  }
  return result;
}

}  // namespace

// Rounding to fewer digits than a float has hides most differences between sums, on drawn data, but not all
// on others. So the same kernels are compared before they round, where they can be made to store floats.
bool ThreadInvariantKernels::differs_before_rounding(const KernelRequest& request, const Kernel& alone,
                                                     const Kernel& together) const {
  if (std::none_of(request.outputs.begin(), request.outputs.end(), is_narrow)) return false;
  const KernelRequest wide = with_float_results(request);
  std::string reason;
  const auto one = backend_.make(with_tactic(wide, kOneThreadTactic), reason);
  const auto all = backend_.make(with_tactic(wide, ""), reason);
  if (!one || !all || one->name != alone.name || all->name != together.name) return false;
  Trial trial(wide, backend_);
  return !same_bits(trial.outputs(*one), trial.outputs(*all));
}

ThreadInvariantKernels::Finding ThreadInvariantKernels::compare(const KernelRequest& request) const {
  std::string reason;
  const auto alone = backend_.make(with_tactic(request, kOneThreadTactic), reason);
  const auto together = backend_.make(with_tactic(request, ""), reason);
  if (!alone) return together ? Finding::kRefusedByOne : Finding::kRefused;
  if (!together) return Finding::kDiffers;
  if (!rounds(alone->contract) && !rounds(together->contract)) return Finding::kSame;
  Trial trial(request, backend_);
  if (!same_bits(trial.outputs(*alone), trial.outputs(*together))) return Finding::kDiffers;
  return differs_before_rounding(request, *alone, *together) ? Finding::kDiffers : Finding::kSame;
}

ThreadInvariantKernels::Finding ThreadInvariantKernels::find(const KernelRequest& request) const {
  const std::pair key{threads_(), request_key(request)};
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = found_.find(key); found != found_.end()) return found->second;
  }
  KernelRequest tried = request;
  tried.packed = nullptr;  // what is only tried is not kept
  const Finding finding = compare(tried);
  const std::lock_guard lock(mutex_);
  return found_.emplace(key, finding).first->second;
}

std::unique_ptr<Kernel> ThreadInvariantKernels::make(const KernelRequest& request,
                                                     std::string& reason) const {
  if (request.tactic == kOneThreadTactic) return backend_.make(request, reason);
  if (threads_() == 1) return backend_.make(with_tactic(request, ""), reason);
  switch (find(request)) {
    case Finding::kSame: return backend_.make(with_tactic(request, ""), reason);
    case Finding::kDiffers: return backend_.make(with_tactic(request, kOneThreadTactic), reason);
    case Finding::kRefusedByOne:
    case Finding::kRefused: break;
  }
  backend_.make(with_tactic(request, kOneThreadTactic), reason);  // for the reason
  return nullptr;
}

std::vector<std::string> ThreadInvariantKernels::tactics(const KernelRequest& request) const {
  std::vector<std::string> all = backend_.tactics(request);
  std::erase_if(all, [](const std::string& tactic) { return tactic != kOneThreadTactic; });
  return all;
}

std::string ThreadInvariantKernels::choice(const KernelRequest& request) const {
  if (threads_() == 1) return "";
  Finding finding = find(request);
  if (finding == Finding::kRefused) finding = find(in_plain_memory(request));  // as make_plan goes on
  return finding == Finding::kDiffers || finding == Finding::kRefusedByOne ? kOneThreadTactic : "";
}

}  // namespace vernier
