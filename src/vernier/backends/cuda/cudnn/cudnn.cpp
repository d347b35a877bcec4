#include "vernier/backends/cuda/cudnn/cudnn.h"

#include <array>

#include "vernier/backends/cuda/cudnn/dnn_graph.h"
#include "vernier/backends/cuda/cudnn/rounding_proof.h"
#include "vernier/backends/cuda/device/cuda_stream.h"
#include "vernier/base/error.h"
#include "vernier/base/hash.h"

namespace vernier::cuda {

Cudnn::Loan::Loan(Cudnn& lender, StreamHandle stream)
    : lender_(lender), handle_(lender.take()), has_stream_(stream != nullptr) {
  if (has_stream_) lender.check(lender.api().set_stream(handle_, stream), "taking a stream");
}

Cudnn::Loan::~Loan() {
  if (has_stream_) lender_.api().set_stream(handle_, nullptr);
  lender_.give_back(handle_);
}

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

std::shared_ptr<const DnnPlan> Cudnn::plan(const DnnConvolution& asked, std::string_view tactic,
                                           std::string& reason) {
  const std::string text = fmt::format("{} {}", text_of(asked), tactic);
  const std::string name = "cudnn plan " + hash_to_text(hash_text(text));
  std::string known;
  {
    const std::lock_guard lock(plans_mutex_);
    if (const auto found = plans_.find(text); found != plans_.end()) {
      reason = found->second.reason;
      return found->second.plan;
    }
    if (const auto found = known_.find(name); found != known_.end()) known = found->second;
  }
  auto chosen = known.empty() ? nullptr : restore(known);
  if (chosen == nullptr) chosen = choose(asked, tactic, reason);
  if (chosen != nullptr) chosen->name = name;
  const std::lock_guard lock(plans_mutex_);
  return plans_.try_emplace(text, Chosen{std::move(chosen), reason}).first->second.plan;
}

namespace {

// Sums of 16 bits that lie in working memory before something is added may lie there rounded: some plans for
// odd numbers of channels do so.
bool may_round_twice(const DnnConvolution& asked, const DnnPlan& plan) {
  return plan.workspace > 0 && asked.element != ElementType::kFloat &&
         (asked.bias_input || asked.residual_input);
}

// The engines of a graph that keep to the contract, one mode of the library's heuristics after the other, by
// the names of their tactics: the engine's number, and how many of its configurations were named before.
class SoundEngines {
 public:
  SoundEngines(const DnnGraph& graph, const DnnConvolution& asked) : graph_(graph), asked_(asked) {}

  // Until `take` returns true; then so does this.
  bool any(const std::function<bool(const std::string& tactic, const DnnEngine& engine)>& take) {
    for (const int mode : {kDnnModeA, kDnnFallback}) {
      for (const DnnEngine& engine : graph_.engines(mode)) {
        ++offered;
        if (!keeps_to_contract(engine, asked_)) continue;
        const int before = named_[engine.number]++;
        if (take(fmt::format("cudnn:{}engine{},configuration{}", asked_.tf32 ? "tf32," : "", engine.number,
                             before),
                 engine))
          return true;
      }
    }
    return false;
  }

  size_t offered = 0;  // by the library, so far

 private:
  const DnnGraph& graph_;
  const DnnConvolution& asked_;
  std::map<int64_t, int> named_;
};

}  // namespace

std::vector<std::string> Cudnn::tactics(const DnnConvolution& asked) {
  constexpr size_t kMost = 12;
  context_.use();
  const Loan loan(*this);
  std::vector<std::string> names;
  try {
    const DnnGraph graph(api(), loan.handle(), asked);
    SoundEngines(graph, asked).any([&](const std::string& tactic, const DnnEngine&) {
      names.push_back(tactic);
      return names.size() == kMost;
    });
  } catch (const DnnRefusal&) {  // choose() says why
  }
  return names;
}

void Cudnn::know(const Payloads& plans) {
  const std::lock_guard lock(plans_mutex_);
  known_.insert(plans.begin(), plans.end());
}

std::shared_ptr<DnnPlan> Cudnn::restore(const std::string& json) {
  context_.use();
  const Loan loan(*this);
  try {
    return std::make_shared<DnnPlan>(api(), loan.handle(), json);
  } catch (const DnnRefusal&) {  // choose() finds it again
    return nullptr;
  }
}

std::shared_ptr<DnnPlan> Cudnn::choose(const DnnConvolution& asked, std::string_view tactic,
                                       std::string& reason) {
  context_.use();
  const Loan loan(*this);
  try {
    const DnnGraph graph(api(), loan.handle(), asked);
    std::shared_ptr<DnnPlan> chosen;
    SoundEngines engines(graph, asked);
    const bool found = engines.any([&](const std::string& name, const DnnEngine& engine) {
      if (!tactic.empty() && name != tactic) return false;
      try {
        chosen = std::make_shared<DnnPlan>(graph.plan(engine));
        if (!may_round_twice(asked, *chosen) || rounds_once(*this, asked, *chosen)) return true;
        reason = fmt::format("{} is not shown to round what it adds to once", name);
      } catch (const DnnRefusal& refusal) {  // the next may serve
        reason = refusal.reason;
      }
      return false;
    });
    if (found) return chosen;
    reason = fmt::format("of {} ways of cuDNN none serves and keeps to {} in float{}{}", engines.offered,
                         asked.tf32 ? "TF32 and sums" : "strict sums", reason.empty() ? "" : ": ", reason);
  } catch (const DnnRefusal& refusal) {
    reason = fmt::format("cuDNN has no way to compute it: {}", refusal.reason);
  }
  return nullptr;
}

void Cudnn::run(const DnnPlan& plan, std::span<const DnnOperand> operands, std::byte* memory,
                CudaStream& stream, std::string_view what) {
  std::array<int64_t, kMostOperands> ids{};
  std::array<void*, kMostOperands> pointers{};
  for (size_t i = 0; i < operands.size(); ++i) {
    ids.at(i) = static_cast<int64_t>(operands[i].id);
    pointers.at(i) = operands[i].address;
  }
  const auto unaligned = reinterpret_cast<uintptr_t>(memory) % DnnPlan::kAlignment;
  void* const workspace =
      plan.workspace == 0 ? nullptr : memory + (unaligned == 0 ? 0 : DnnPlan::kAlignment - unaligned);
  stream.enqueue([&](StreamHandle handle) {
    auto& kept = stream.kept_by(this);
    if (!kept) kept = std::make_shared<Loan>(*this, handle);
    const auto& loan = *static_cast<const Loan*>(kept.get());
    try {
      DnnDescriptor pack(api(), kDnnVariantPack);
      pack.set(kDnnPackIds, kDnnOfInt64, ids.data(), operands.size());
      pack.set(kDnnPackPointers, kDnnOfPointer, pointers.data(), operands.size());
      pack.set(kDnnPackWorkspace, kDnnOfPointer, workspace);
      pack.finalize();
      check(api().execute(loan.handle(), plan.plan.get(), pack.get()), what);
    } catch (const DnnRefusal& refusal) {
      throw internal_error("cuDNN: {}: {}", what, refusal.reason);
    }
  });
}

void Cudnn::check(DnnStatus status, std::string_view what) const {
  if (status != kDnnSuccess) throw internal_error("cuDNN: {}: {}", what, api().status_text(status));
}

}  // namespace vernier::cuda
