#include "vernier/tune/trial.h"

#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>

#include "vernier/base/threads.h"
#include "vernier/compare/distance.h"
#include "vernier/exec/laid_out.h"
#include "vernier/ops/group.h"
#include "vernier/ops/op_def.h"
#include "vernier/tune/repeated_entries.h"

namespace vernier {

namespace {

// Weights that are not in the caches any more when their node runs again.
constexpr size_t kLargeConstants = 64 * 1024;
// Above this size it is worth the time to find out how far away they are then.
constexpr size_t kVeryLargeConstants = 1024 * 1024;

std::string describe_number(double number) {
  return std::isnan(number) ? "NaN" : fmt::format("{:.6g}", number);
}

// Attention may skip what is masked, or multiply it by zero, which NaN and infinities tell apart.
bool may_skip_operands(const Node& node) {
  if (ops::is_group(node)) {
    const auto& members = ops::body(node).nodes();
    return std::any_of(members.begin(), members.end(),
                       [](const auto& each) { return may_skip_operands(*each); });
  }
  constexpr uint32_t kAttends = ops::kContraction | ops::kNormalisation;
  const auto* def = ops::OpRegistry::instance().find(node);
  return def != nullptr && (def->traits & kAttends) == kAttends;
}

// Says what is wrong with an element that NaN or Inf may have reached; "" for nothing. Where the kernel mixes
// them with others on the way to this element, it cannot keep an infinity: differences of infinities are NaN,
// also where a clamp would have made a number of it. But what is no finite number must not become one.
std::string special_fault(double expected, double actual, bool mixed) {
  if (std::isfinite(expected) && (std::isfinite(actual) || mixed)) return "";
  const bool same = std::isnan(expected) ? std::isnan(actual) : expected == actual;
  if (same || (mixed && !std::isfinite(expected) && !std::isfinite(actual))) return "";
  return fmt::format("is {}, expected {}", describe_number(actual), describe_number(expected));
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

Trial::Trial(const KernelRequest& request, const Backend& kernels)
    : request_(request),
      entries_(drawn_entries(request)),
      drawn_(entries_ ? with_entries(request, *entries_) : request),
      kernels_(kernels),
      operands_(whole(drawn_operands(drawn_, kernels))) {
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    if (request.has(i) && request.in(i).constant != nullptr)
      constant_bytes_ += operands_.plain[i].byte_size();
  }
  for (size_t i = 0; i < request.outputs.size(); ++i) {
    outputs_.emplace_back();
    if (request.wants(i)) outputs_.back() = Tensor(request.out(i).element, request.out(i).memory_dims());
  }
  for (Tensor& output : outputs_) to_.push_back(output.is_defined() ? output.mutable_raw() : nullptr);
}

Trial::~Trial() = default;

TrialOperands Trial::whole(TrialOperands drawn) const {
  for (size_t i = 0; entries_ && i < drawn.laid_out.size(); ++i) {
    if (request_.has(i) && request_.in(i).constant == nullptr)
      drawn.laid_out[i] = repeated(drawn.laid_out[i], request_.in(i).dims[0]);
  }
  return drawn;
}

void Trial::run(const Kernel& kernel, const TrialOperands& operands) {
  std::vector<const void*> from;
  for (const Tensor& input : operands.laid_out) from.push_back(input.is_defined() ? input.raw() : nullptr);
  kernel.run({from.data(), to_.data(), scratch_.at_least(kernel.scratch_bytes)});
}

// Fills results and working memory first, so that nothing an earlier kernel left stands in for what this one
// does not write. All ones are NaN.
void Trial::run_afresh(const Kernel& kernel, const TrialOperands& operands) {
  if (!kernels_.device().host_visible()) return lone(operands).run(kernel, outputs_);
  if (kernel.scratch_bytes > 0)
    std::memset(scratch_.at_least(kernel.scratch_bytes), 0xFF, kernel.scratch_bytes);
  for (Tensor& output : outputs_) {
    if (output.is_defined()) std::memset(output.mutable_raw(), 0xFF, output.byte_size());
  }
  run(kernel, operands);
}

LoneRun& Trial::lone(const TrialOperands& operands) {
  auto& lone = &operands == &operands_ ? lone_ : special_lone_;
  if (!lone) lone.emplace(kernels_.device(), operands.laid_out, outputs_);
  return *lone;
}

// Gives the chunks that have to be compared with the reference: all else has the same bits as the first.
std::vector<int64_t> Trial::chunks() const {
  return entries_ ? different_chunks(outputs_, *entries_) : std::vector<int64_t>{0};
}

Tensor Trial::plain_output(size_t output, int64_t chunk) const {
  const Tensor made = entries_ ? chunk_of(outputs_[output], *entries_, chunk) : outputs_[output];
  return laid_out(kernels_, made, drawn_.out(output), Layout::kPlain).reshaped(drawn_.out(output).dims);
}

const ErrorModel& Trial::model() {
  if (!model_) model_ = std::make_unique<ErrorModel>(request_.node, operands_.plain);
  return *model_;
}

const ErrorModel& Trial::special_model() {
  if (!special_operands_) special_operands_ = whole(with_special_values(operands_, drawn_, kernels_));
  if (!special_model_) special_model_ = std::make_unique<ErrorModel>(request_.node, special_operands_->plain);
  return *special_model_;
}

void Trial::prepare_reference(bool special_values) {
  model();
  if (special_values && !may_skip_operands(request_.node)) special_model();
}

TacticVerdict Trial::judge(const Kernel& kernel) {
  const auto& expected = model().outputs(kernel.contract);
  run_afresh(kernel, operands_);
  TacticVerdict verdict;
  for (const int64_t chunk : chunks()) {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (!request_.wants(i) || outputs_[i].size() == 0) continue;
      const Tensor actual = plain_output(i, chunk);
      const Deviation found = deviation(expected[i], actual);
      verdict.error = std::max(verdict.error, relative_l2_of(expected[i].value, actual));
      verdict.deviation = std::max(verdict.deviation, found.worst);
      if (verdict.fault.empty() && !found.is_rounding())
        verdict.fault =
            fmt::format("{} is no rounding: {}{}{}", kernel.name,
                        outputs_.size() > 1 ? fmt::format("output {}, ", i) : "",
                        chunk > 0 ? fmt::format("from entry {} on, ", chunk * *entries_) : "", found.text());
    }
  }
  return verdict;
}

std::string Trial::judge_special_values(const Kernel& kernel) {
  if (may_skip_operands(request_.node)) return "";
  special_model();
  std::vector<Tensor> mixed;
  if (mixes_special_values(kernel.contract))
    mixed = ErrorModel::mixed_values(request_.node, special_operands_->plain, kernel.contract);
  run_afresh(kernel, *special_operands_);
  for (const int64_t chunk : chunks()) {
    if (const std::string fault = special_faults(kernel, mixed, chunk); !fault.empty()) return fault;
  }
  return "";
}

std::string Trial::special_faults(const Kernel& kernel, const std::vector<Tensor>& mixed, int64_t chunk) {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (!request_.wants(i) || !is_float(request_.out(i).element)) continue;
    const Tensor as_declared = Tensor::from_doubles(drawn_.out(i).element, drawn_.out(i).dims,
                                                    special_model().value(i).to_doubles());
    const auto expected = as_declared.to_doubles(), actual = plain_output(i, chunk).to_doubles(),
               marks = mixed.empty() ? std::vector<double>() : mixed[i].to_doubles();
    for (size_t k = 0; k < expected.size(); ++k) {
      if (std::isfinite(expected[k]) && std::isfinite(actual[k])) continue;
      const std::string fault = special_fault(expected[k], actual[k], !marks.empty() && std::isnan(marks[k]));
      if (!fault.empty())
        return fmt::format("{} among NaN and Inf: element {} of output {} {}", kernel.name, k, i, fault);
    }
  }
  return "";
}

std::vector<Tensor> Trial::outputs(const Kernel& kernel) {
  run_afresh(kernel, operands_);
  std::vector<Tensor> copies;
  for (const Tensor& output : outputs_) {
    copies.push_back(output);
    if (output.is_defined()) copies.back().mutable_raw();  // a copy of its own
  }
  return copies;
}

double Trial::time(const Kernel& kernel, std::span<const std::byte> others) {
  if (!kernels_.device().host_visible()) {
    std::vector<bool> is_constant;
    for (size_t i = 0; i < request_.inputs.size(); ++i)
      is_constant.push_back(request_.has(i) && request_.in(i).constant != nullptr);
    return lone(operands_).time(kernel, constant_bytes_ >= kLargeConstants, is_constant);
  }
  if (constant_bytes_ >= kLargeConstants) {
    const bool far = constant_bytes_ >= kVeryLargeConstants;
    kernels_.read(far ? others : others.first(std::min(others.size(), second_caches())));
    for (size_t i = 0; i < operands_.laid_out.size(); ++i) {
      const Tensor& operand = operands_.laid_out[i];
      if (request_.has(i) && request_.in(i).constant == nullptr)
        kernels_.read({static_cast<const std::byte*>(operand.raw()), operand.byte_size()});
    }
  }
  const auto start = std::chrono::steady_clock::now();
  run(kernel, operands_);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace vernier
