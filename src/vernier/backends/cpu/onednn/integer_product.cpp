#include "vernier/backends/cpu/onednn/integer_product.h"

#include "vernier/ops/group.h"

namespace vernier::cpu {

namespace {

// What MatMulInteger, a Cast to floats, a Mul with scales and an Add of a bias say.
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
    product.quantises = true;
    product.b_scale = 2;
    product.b_zero = given(3);
    product.bias = given(4);
  }
  return product;
}

}  // namespace vernier::cpu
