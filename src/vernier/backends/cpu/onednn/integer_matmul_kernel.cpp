#include "vernier/backends/cpu/onednn/integer_matmul_kernel.h"

#include <numeric>

#include "vernier/backends/cpu/int8_gemm/integer_sums.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/quantized/dynamic_quantization.h"
#include "vernier/ops/group.h"
#include "vernier/ops/support/movement/strides.h"

namespace vernier::cpu {

namespace {

// Reads a MatMulInteger, a Cast to floats, a Mul with scales and an Add of a bias.
class GroupParser {
 public:
  explicit GroupParser(const KernelRequest& request) : body_(ops::body(request.node)) {}

  std::optional<IntegerProduct> parse() {
    const Value* chain = nullptr;
    for (const auto& node : body_.nodes()) {
      if (node->op == "MatMulInteger") {
        take_product(*node);
      } else if (chain == nullptr || !reads(*node, chain)) {
        scales_ = node.get();  // the product of both scales
        continue;
      } else if (node->op == "Mul") {
        take_scales(other(*node, chain));
      } else if (node->op == "Add") {
        product_.bias = place(other(*node, chain));
      }
      chain = node->output(0);
    }
    return product_.anchor != nullptr && product_.b_scale ? std::optional(product_) : std::nullopt;
  }

 private:
  static bool reads(const Node& node, const Value* value) {
    return std::find(node.inputs.begin(), node.inputs.end(), value) != node.inputs.end();
  }
  static const Value* other(const Node& node, const Value* chain) {
    return node.input(node.input(0) == chain ? 1 : 0);
  }

  std::optional<size_t> place(const Value* value) const {
    const auto found = std::find(body_.inputs.begin(), body_.inputs.end(), value);
    if (value == nullptr || found == body_.inputs.end()) return std::nullopt;
    return static_cast<size_t>(found - body_.inputs.begin());
  }

  void take_product(const Node& node) {
    product_.anchor = &node;
    product_.a = place(node.input(0)).value();
    product_.b = place(node.input(1)).value();
    product_.a_zero = place(node.input(2));
    product_.b_zero = place(node.input(3));
  }

  void take_scales(const Value* scales) {
    if (scales_ != nullptr && scales_->output(0) == scales) {
      product_.a_scale = place(scales_->input(0));
      product_.b_scale = place(scales_->input(1));
    } else {
      product_.b_scale = place(scales);
    }
  }

  const Graph& body_;
  IntegerProduct product_;
  const Node* scales_ = nullptr;
};

}  // namespace

std::optional<IntegerProduct> parse_integer_product(const KernelRequest& request, std::string& reason) {
  const auto given = [&](size_t input) { return request.has(input) ? std::optional(input) : std::nullopt; };
  IntegerProduct product{.anchor = &request.node, .a = 0, .b = 1};
  if (ops::is_group(request.node)) {
    auto parsed = GroupParser(request).parse();
    if (!parsed) reason = "a group that is no product of integers";
    return parsed;
  }
  if (request.node.op == "MatMulInteger") {
    product.a_zero = given(2);
    product.b_zero = given(3);
  } else if (request.node.op == "MatMulIntegerToFloat") {
    product.a_scale = 2;
    product.b_scale = 3;
    product.a_zero = given(4);
    product.b_zero = given(5);
    product.bias = given(6);
  } else {
    product.quantizes = true;
    product.b_scale = 2;
    product.b_zero = given(3);
    product.bias = given(4);
  }
  return product;
}

Matrices::Matrices(const Product& product)
    : rows(product.y[product.y.size() - 2]), columns(product.y.back()), depth(product.a.back()) {
  const auto batch = [](const Dims& dims) { return Dims(dims.begin(), dims.end() - 2); };
  const Dims all = batch(product.y);
  const auto a_strides = ops::broadcast_strides(batch(product.a), all),
             b_strides = ops::broadcast_strides(batch(product.b), all);
  ops::for_each_index(all, [&](const Dims& index) {
    a.push_back(std::inner_product(index.begin(), index.end(), a_strides.begin(), int64_t{0}));
    b.push_back(std::inner_product(index.begin(), index.end(), b_strides.begin(), int64_t{0}));
  });
}

int32_t Zeros::at(const void* const* inputs, int64_t index) const {
  if (!input) return shift;
  const void* values = inputs[*input];
  const int64_t i = index % count;
  return shift + (type == ElementType::kInt8 ? int32_t{static_cast<const int8_t*>(values)[i]}
                                             : int32_t{static_cast<const uint8_t*>(values)[i]});
}

namespace {

class IntegerMatMul : public Kernel {
 public:
  IntegerMatMul(std::unique_ptr<Kernel> sums, IntegerMatMulPlan plan)
      : sums_(std::move(sums)), plan_(std::move(plan)) {
    name = sums_->name;
    contract = sums_->contract;
    if (plan_.floats)
      contract = {ElementType::kFloat, ElementType::kInt32, ElementType::kFloat,
                  NumericsContract::Order::kBlocked};
    scratch_bytes = sums_->scratch_bytes;
    const auto place = [&](bool wanted, int64_t bytes) {
      const size_t at = (scratch_bytes + 63) / 64 * 64;
      if (wanted) scratch_bytes = at + static_cast<size_t>(bytes);
      return at;
    };
    const int64_t columns = plan_.matrices.columns,
                  b_matrices = plan_.b_size / (plan_.matrices.depth * columns);
    a_at_ = place(plan_.product.quantizes, plan_.a_size);
    b_at_ = place(plan_.shifts_b, plan_.b_size);
    zeros_at_ = place(!plan_.known_b_zeros, columns * 4);
    columns_at_ = place(!plan_.known_column_sums, b_matrices * columns * 4);
    scales_at_ = place(plan_.floats, columns * 4);
  }

  bool reads(size_t input) const override { return input != plan_.product.b || !plan_.packs_b; }

  void run(const KernelArguments& arguments) const override {
    Run run{arguments, arguments.inputs[plan_.product.a],
            plan_.packs_b ? nullptr : arguments.inputs[plan_.product.b]};
    if (plan_.product.quantizes) quantize(run);
    if (plan_.shifts_b) shift(run);
    const void* operands[] = {run.a, run.b};
    sums_->run({operands, arguments.outputs, arguments.scratch});
    find_sums(run);
    constexpr int64_t kGrain = 1 << 14;
    const int64_t rows = static_cast<int64_t>(plan_.matrices.a.size()) * plan_.matrices.rows;
    parallel(rows, std::max<int64_t>(1, kGrain / plan_.matrices.columns), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) finish_row(run, row);
    });
  }

 private:
  // Each run has one.
  struct Run {
    const KernelArguments& given;
    const void *a, *b;
    std::optional<Affine> quantized = {};
    const int32_t *b_zeros = nullptr, *column_sums = nullptr;
    const float *scales = nullptr, *bias = nullptr;

    template <class T>
    T* scratch(size_t at) const {
      return reinterpret_cast<T*>(given.scratch + at);
    }
  };

  void quantize(Run& run) const {
    const auto* x = static_cast<const float*>(run.a);
    auto* codes = run.scratch<uint8_t>(a_at_);
    run.quantized = dynamic_affine(x, plan_.a_size);
    quantize_int8(x, plan_.a_size, *run.quantized, codes);
    run.a = codes;
  }

  void shift(Run& run) const {
    const auto* from = static_cast<const uint8_t*>(run.b);
    auto* to = run.scratch<uint8_t>(b_at_);
    for (int64_t i = 0; i < plan_.b_size; ++i) to[i] = from[i] ^ 0x80U;
    run.b = to;
  }

  void find_sums(Run& run) const {
    const int64_t columns = plan_.matrices.columns, depth = plan_.matrices.depth;
    if (!plan_.known_b_zeros) {
      auto* zeros = run.scratch<int32_t>(zeros_at_);
      for (int64_t i = 0; i < columns; ++i) zeros[i] = plan_.b_zeros.at(run.given.inputs, i);
      run.b_zeros = zeros;
    } else if (!plan_.known_b_zeros->empty()) {
      run.b_zeros = plan_.known_b_zeros->data();
    }
    if (!plan_.known_column_sums) {
      auto* sums = run.scratch<int32_t>(columns_at_);
      const auto* b = static_cast<const uint8_t*>(run.b);
      for (int64_t at = 0; at < plan_.b_size / (depth * columns); ++at)
        sum_int8_rows(b + at * depth * columns, depth, columns, columns, true, sums + at * columns);
      run.column_sums = sums;
    } else if (!plan_.known_column_sums->empty()) {
      run.column_sums = plan_.known_column_sums->data();
    }
    if (!plan_.floats) return;
    const IntegerProduct& product = plan_.product;
    auto* scales = run.scratch<float>(scales_at_);
    const auto* b_scales = static_cast<const float*>(run.given.inputs[*product.b_scale]);
    const float a_scale = run.quantized     ? static_cast<float>(run.quantized->scale)
                          : product.a_scale ? *static_cast<const float*>(run.given.inputs[*product.a_scale])
                                            : 1.0F;
    for (int64_t i = 0; i < columns; ++i) scales[i] = a_scale * b_scales[plan_.b_scales == 1 ? 0 : i];
    run.scales = scales;
    if (product.bias) run.bias = static_cast<const float*>(run.given.inputs[*product.bias]);
  }

  void finish_row(const Run& run, int64_t row) const {
    const Matrices& m = plan_.matrices;
    const auto matrix = static_cast<size_t>(row / m.rows);
    const int64_t a_row = m.a[matrix] * m.rows + row % m.rows;
    auto* sums = static_cast<int32_t*>(run.given.outputs[0]) + row * m.columns;
    SumRow terms{sums, m.columns};
    terms.a_zero = run.quantized ? static_cast<int32_t>(run.quantized->zero_point)
                                 : plan_.a_zeros.at(run.given.inputs, a_row);
    if (run.column_sums != nullptr) terms.column_sums = run.column_sums + m.b[matrix] * m.columns;
    if (run.b_zeros != nullptr) {
      const auto* a = static_cast<const uint8_t*>(run.a) + a_row * m.depth;
      terms.row_sum = sum_bytes(a, m.depth, plan_.a_signed) - static_cast<int32_t>(m.depth) * terms.a_zero;
      terms.b_zeros = run.b_zeros;
    }
    if (plan_.floats)
      scale_sums(terms, run.scales, run.bias, reinterpret_cast<float*>(sums));
    else
      correct_sums(terms, sums);
  }

  std::unique_ptr<Kernel> sums_;
  IntegerMatMulPlan plan_;
  size_t a_at_ = 0, b_at_ = 0, zeros_at_ = 0, columns_at_ = 0, scales_at_ = 0;
};

}  // namespace

std::unique_ptr<Kernel> make_integer_matmul(std::unique_ptr<Kernel> sums, IntegerMatMulPlan plan) {
  return std::make_unique<IntegerMatMul>(std::move(sums), std::move(plan));
}

}  // namespace vernier::cpu
