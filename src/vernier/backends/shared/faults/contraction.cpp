#include <cmath>
#include <cstring>

#include "vernier/backends/shared/faults/fault_kernels.h"
#include "vernier/base/threads.h"
#include "vernier/numeric/minifloat.h"
#include "vernier/ops/support/math/product_terms.h"

namespace vernier {

namespace {

// The sum of two floats in f32, cut off: at most an ulp too small, and never too large.
double truncated(double sum) {
  const auto rounded = static_cast<float>(sum);
  return std::abs(static_cast<double>(rounded)) > std::abs(sum) ? std::nextafter(rounded, 0.0F) : rounded;
}

// Adds product after product, and loses something each time.
class FaultySum {
 public:
  explicit FaultySum(Fault fault) : fault_(fault) {}
  void add(double a, double b) {
    constexpr OperandFormat tf32 = OperandFormat::tf32();
    switch (fault_) {
      case Fault::kFp16Accumulator: value_ = static_cast<double>(Float16(value_ + a * b)); break;
      case Fault::kTf32: value_ = static_cast<float>(value_ + tf32.round(a) * tf32.round(b)); break;
      default: value_ = truncated(value_ + a * b);
    }
  }
  double value() const { return value_; }

 private:
  Fault fault_;
  double value_ = 0;
};

using Reals = std::vector<double>;

Reals faulty_sums(Fault fault, const KernelRequest& request, const std::vector<Reals>& in) {
  std::vector<Dims> sizes;
  for (size_t i = 0; i < in.size(); ++i) sizes.push_back(request.has(i) ? request.in(i).dims : Dims{});
  const auto terms = ops::ProductTerms::of(request.node, sizes, request.out().dims);
  if (!terms) throw internal_error("{} sums no products", request.node.op);
  const double* third = request.has(2) ? in[2].data() : nullptr;
  Reals results(static_cast<size_t>(terms->sums()));
  parallel_for(terms->sums(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      FaultySum sum(fault);
      terms->visit(i, [&](int64_t a, int64_t b) {
        sum.add(in[0][static_cast<size_t>(a)], in[1][static_cast<size_t>(b)]);
      });
      results[static_cast<size_t>(i)] = terms->finished(i, sum.value(), third);
    }
  });
  return results;
}

class FaultySums : public Kernel {
 public:
  FaultySums(Fault fault, const KernelRequest& request) : fault_(fault), request_(request) {
    name = fmt::format("sums (fault: {})", fault_name(fault));
    contract = {ElementType::kFloat, ElementType::kFloat, request.out().element,
                NumericsContract::Order::kSequential};
  }

  void run(const KernelArguments& arguments) const override {
    std::vector<Reals> in(request_.inputs.size());
    for (size_t i = 0; i < in.size(); ++i) {
      if (!request_.has(i)) continue;
      in[i] = Tensor::borrow(request_.in(i).element, request_.in(i).dims, arguments.inputs[i], nullptr)
                  .to_doubles();
    }
    const Reals sums = faulty_sums(fault_, request_, in);
    const auto output = Tensor::from_doubles(request_.out().element, request_.out().dims, sums);
    if (output.size() > 0) std::memcpy(arguments.outputs[0], output.raw(), output.byte_size());
  }

 private:
  Fault fault_;
  KernelRequest request_;  // the node belongs to the plan, and so does this
};

}  // namespace

bool spoils_sums(Fault fault) {
  return fault == Fault::kAccumulation || fault == Fault::kFp16Accumulator || fault == Fault::kTf32;
}

bool sums_products(const Node& node, const Operand& first) {
  if (!node.domain.empty() || !is_float(first.element) || first.element == ElementType::kDouble) return false;
  return node.op == "MatMul" || node.op == "Gemm" || (node.op == "Conv" && first.rank() >= 3);
}

std::unique_ptr<Kernel> make_faulty_host_sums(Fault fault, const KernelRequest& request,
                                              std::string& reason) {
  const auto is_image = [](const std::optional<Operand>& operand) {
    return operand && operand->layout != Layout::kPlain;
  };
  if (std::any_of(request.inputs.begin(), request.inputs.end(), is_image) || is_image(request.outputs[0])) {
    reason = "faulty sums are over plain tensors";
    return nullptr;
  }
  return std::make_unique<FaultySums>(fault, request);
}

}  // namespace vernier
