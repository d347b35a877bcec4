#include "vernier/tune/exchangeable_kernels.h"

#include "vernier/exec/kernel_decorator.h"

namespace vernier {

namespace {

class ExchangeableKernel : public KernelDecorator {
 public:
  ExchangeableKernel(std::unique_ptr<Kernel> approximate, std::unique_ptr<Kernel> exact,
                     std::shared_ptr<const Exchange> exchange)
      : KernelDecorator(std::move(approximate)), exact_(std::move(exact)), exchange_(std::move(exchange)) {
    scratch_bytes = std::max(inner_->scratch_bytes, exact_->scratch_bytes);
    if (inner_->in_place == exact_->in_place) in_place = inner_->in_place;
  }

  void run(const KernelArguments& arguments) const override {
    (exchange_->approximate ? *inner_ : *exact_).run(arguments);
  }
  bool reads(size_t input) const override { return inner_->reads(input) || exact_->reads(input); }
  void prepare() const override {
    inner_->prepare();
    exact_->prepare();
  }
  bool is_prepared() const override { return inner_->is_prepared() && exact_->is_prepared(); }

 private:
  std::unique_ptr<Kernel> exact_;
  std::shared_ptr<const Exchange> exchange_;
};

double seconds_of(const TuneResult::Records& records, const std::string& tactic) {
  const auto found = records.find(tactic);
  return found == records.end() ? 0 : found->second.seconds;
}

}  // namespace

std::unique_ptr<Kernel> ExchangeableKernels::make(const KernelRequest& request, std::string& reason) const {
  const std::string tactic(request.tactic);
  auto kernel = backend_.make(request, reason);
  if (!kernel || !approximate_.contains(tactic) || request.node.output(0) == nullptr) return kernel;
  KernelRequest asked = request;
  auto exchange = std::make_shared<Exchange>();
  exchange->value = request.node.output(0)->name;
  exchange->exact = exact_.choose(request);
  asked.tactic = exchange->exact;
  std::string why_not;
  auto exact = exchange->exact == kReferenceTactic ? nullptr : backend_.make(asked, why_not);
  if (!exact) return kernel;  // what cannot be exchanged is kept
  if (!exact_.results().empty()) {
    const TuneResult::Records& timed = exact_.results().back().records;
    exchange->saved = seconds_of(timed, exchange->exact) - seconds_of(timed, tactic);
  }
  exchanges_.push_back(exchange);
  return std::make_unique<ExchangeableKernel>(std::move(kernel), std::move(exact), exchange);
}

}  // namespace vernier
