#include "vernier/backends/cuda/cudnn/cudnn.h"

#include "vernier/backends/cuda/cudnn/dnn_graph.h"
#include "vernier/base/error.h"

namespace vernier::cuda {

DnnHandle Cudnn::make(std::string& reason) const {
  context_.use();
  DnnHandle made = nullptr;
  const DnnStatus status = api().create(&made);
  if (status == kDnnSuccess) return made;
  reason = fmt::format("cuDNN does not serve this GPU: {}", api().status_text(status));
  return nullptr;
}

bool Cudnn::serves(std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (!asked_) {
    missing_ = library_.found().missing;
    if (missing_.empty()) {
      if (const DnnHandle first = make(missing_)) free_.push_back(first);
    }
    asked_ = true;
  }
  reason = missing_;
  return missing_.empty();
}

DnnHandle Cudnn::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      const DnnHandle last = free_.back();
      free_.pop_back();
      return last;
    }
  }
  std::string reason;
  const DnnHandle made = make(reason);
  if (made == nullptr) throw internal_error("cuDNN: {}", reason);
  return made;
}

void Cudnn::give_back(DnnHandle handle) {
  const std::lock_guard lock(mutex_);
  free_.push_back(handle);
}

std::shared_ptr<const DnnPlan> Cudnn::plan(const DnnConvolution& asked, std::string& reason) {
  const std::string text = text_of(asked);
  {
    const std::lock_guard lock(plans_mutex_);
    if (const auto found = plans_.find(text); found != plans_.end()) {
      reason = found->second.reason;
      return found->second.plan;
    }
  }
  auto chosen = choose(asked, reason);
  const std::lock_guard lock(plans_mutex_);
  return plans_.try_emplace(text, Chosen{std::move(chosen), reason}).first->second.plan;
}

namespace {

// Sums of 16 bits that lie in working memory before something is added may lie there rounded: some plans for
// odd numbers of channels do so, and nothing tells which.
bool may_round_twice(const DnnConvolution& asked) {
  return asked.element != ElementType::kFloat && (asked.bias_input || asked.residual_input);
}

}  // namespace

std::shared_ptr<const DnnPlan> Cudnn::choose(const DnnConvolution& asked, std::string& reason) {
  context_.use();
  const Loan loan(*this);
  size_t offered = 0;
  try {
    const DnnGraph graph(api(), loan.handle(), asked);
    for (const int mode : {kDnnModeA, kDnnFallback}) {
      for (const DnnEngine& engine : graph.engines(mode)) {
        ++offered;
        if (!keeps_to_contract(engine, asked.element)) continue;
        try {
          auto plan = std::make_shared<DnnPlan>(graph.plan(engine));
          if (plan->workspace == 0 || !may_round_twice(asked)) return plan;
        } catch (const DnnRefusal& refusal) {  // the next may serve
          reason = refusal.reason;
        }
      }
    }
    reason = fmt::format("of {} ways of cuDNN none serves and keeps to strict sums in float{}{}", offered,
                         reason.empty() ? "" : ": ", reason);
  } catch (const DnnRefusal& refusal) {
    reason = fmt::format("cuDNN has no way to compute it: {}", refusal.reason);
  }
  return nullptr;
}

void Cudnn::check(DnnStatus status, std::string_view what) const {
  if (status != kDnnSuccess) throw internal_error("cuDNN: {}: {}", what, api().status_text(status));
}

}  // namespace vernier::cuda
