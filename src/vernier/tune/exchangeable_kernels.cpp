#include "vernier/tune/exchangeable_kernels.h"

#include <algorithm>
#include <cmath>
#include <numeric>

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

namespace {

class Choice {
 public:
  explicit Choice(const std::vector<Approximation>& all)
      : all_(all), kept_(all.size(), true), sum_(all.empty() ? 0 : all[0].share.size()) {
    // Kernels without a bound go at once, because nothing can be subtracted from infinity.
    for (size_t i = 0; i < all_.size(); ++i) {
      const auto& share = all_[i].share;
      kept_[i] = std::all_of(share.begin(), share.end(), [](double each) { return std::isfinite(each); });
      if (kept_[i]) add(i);
    }
  }

  std::vector<bool> make() {
    while (!fits()) give_up();
    std::vector<size_t> order(all_.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return all_[a].saved > all_[b].saved; });
    for (const size_t i : order) take_back(i);
    return kept_;
  }

 private:
  void add(size_t i) {
    for (size_t at = 0; at < sum_.size(); ++at) sum_[at] += all_[i].share[at];
  }

  // Summed anew, so that a rest is not what rounding left.
  void sum() {
    std::fill(sum_.begin(), sum_.end(), 0);
    for (size_t i = 0; i < all_.size(); ++i) {
      if (kept_[i]) add(i);
    }
  }

  bool fits() const {
    return std::all_of(sum_.begin(), sum_.end(), [](double each) { return each <= 1; });
  }

  void give_up() {
    size_t best = 0;
    double most = -1;
    for (size_t i = 0; i < all_.size(); ++i) {
      if (!kept_[i]) continue;
      double relief = 0;
      for (size_t at = 0; at < sum_.size(); ++at) {
        if (sum_[at] > 1) relief += all_[i].share[at] / sum_[at];
      }
      constexpr double kLeast = 1e-9;  // of what saves nothing, or as good as nothing
      const double score = relief / std::max(all_[i].saved, kLeast);
      if (score > most) most = score, best = i;
    }
    kept_[best] = false;
    sum();
  }

  void take_back(size_t i) {
    const auto& share = all_[i].share;
    if (kept_[i] || all_[i].saved <= 0) return;
    for (size_t at = 0; at < sum_.size(); ++at) {
      if (!(sum_[at] + share[at] <= 1)) return;
    }
    kept_[i] = true;
    sum();
  }

  const std::vector<Approximation>& all_;
  std::vector<bool> kept_;
  std::vector<double> sum_;
};

}  // namespace

std::vector<bool> keep_within_limit(const std::vector<Approximation>& approximations) {
  return Choice(approximations).make();
}

}  // namespace vernier
