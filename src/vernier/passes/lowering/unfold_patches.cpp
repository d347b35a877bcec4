// A Conv whose windows lie side by side, as the first of a vision transformer, whose pixels are read as rows
// -> the patches as rows of a matrix, and one product. Libraries of GPUs have no fast way for so few
// channels.
#include "vernier/ir/rewriter.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/nn/convolution.h"
#include "vernier/ops/tf32.h"
#include "vernier/passes/build.h"
#include "vernier/passes/passes.h"
#include "vernier/passes/uses.h"

namespace vernier {

namespace {

constexpr int64_t kGemmOpset = 13;
constexpr int64_t kMostChannels = 4;  // of what convolutions are slow for

struct Patches {
  Node* conv;
  int64_t batch, channels, filters;
  ops::WindowAxes axes;  // two
  bool as_image;         // whether the reader takes pixels by row and column, or all in one row

  int64_t pixels() const { return axes[0].output * axes[1].output; }
  int64_t elements() const { return channels * axes[0].kernel * axes[1].kernel; }
};

// Whether the axis is all windows, without a gap.
bool is_tiled(const ops::WindowAxis& axis) {
  return axis.stride == axis.kernel && axis.dilation == 1 && axis.pad_begin == 0 && axis.pad_end == 0 &&
         axis.output * axis.kernel == axis.input && axis.kernel > 1;
}

// How the only reader takes the pixels, if as rows: by a Transpose to channels last, or by a Reshape to one
// row of pixels and a Transpose of that.
std::optional<bool> takes_rows_of(const Uses& uses, const Node& conv) {
  const Node* reader = uses.only_reader(conv.output(0));
  const std::vector<size_t> image{0, 2, 3, 1}, row{0, 2, 1};
  if (transposition(reader) == image) return true;
  if (reader == nullptr || (reader->op != "Reshape" && reader->op != "Flatten") || !reader->domain.empty())
    return std::nullopt;
  const auto from = known_dims(*conv.output(0)), to = known_dims(*reader->output(0));
  if (!from || !to || *to != Dims{(*from)[0], (*from)[1], (*from)[2] * (*from)[3]}) return std::nullopt;
  return transposition(uses.only_reader(reader->output(0))) == row ? std::optional(false) : std::nullopt;
}

std::optional<Patches> match(const Uses& uses, Node* node) {
  if (node->op != "Conv" || !node->domain.empty() || ops::integer_attribute(*node, "group") != 1)
    return std::nullopt;
  const auto x = known_dims(*node->input(0)), w = known_dims(*node->input(1));
  if (!x || !w || x->size() != 4 || element_count(*x) == 0 || (*x)[1] > kMostChannels ||
      !node->input(1)->is_constant())
    return std::nullopt;
  const auto as_image = takes_rows_of(uses, *node);
  const ops::WindowAxes axes = ops::Convolution::of(*node, *x, *w).axes;
  if (!as_image || !is_tiled(axes[0]) || !is_tiled(axes[1])) return std::nullopt;
  return Patches{node, (*x)[0], (*x)[1], (*w)[0], axes, *as_image};
}

void unfold(Graph& graph, const Patches& p) {
  std::vector<std::unique_ptr<Node>> made;
  Value* result = p.conv->output(0);
  const auto temporary = [&](const std::string& what) {
    return graph.add_value(free_name(graph, result->name + "/" + what));
  };
  const auto reshaped = [&](Value* from, const Dims& dims, Value* to) {
    made.push_back(make_reshape(graph, from, dims, to));
    return to;
  };
  const auto transposed = [&](Value* from, const std::vector<size_t>& perm, Value* to) {
    made.push_back(make_transpose(from, perm, to));
    return to;
  };
  const ops::WindowAxis &rows = p.axes[0], &columns = p.axes[1];
  const Dims tiles{p.batch, p.channels, rows.output, rows.kernel, columns.output, columns.kernel};
  Value* patches = transposed(reshaped(p.conv->input(0), tiles, temporary("tiles")), {0, 2, 4, 1, 3, 5},
                              temporary("patches"));
  Value* a = reshaped(patches, {p.batch * p.pixels(), p.elements()}, temporary("rows"));
  Value* b = reshaped(p.conv->input(1), {p.filters, p.elements()}, temporary("filters"));
  std::vector<Value*> operands{a, b};
  if (p.conv->input(2) != nullptr) operands.push_back(p.conv->input(2));
  made.push_back(make_node("Gemm", kGemmOpset, operands, temporary("product")));
  made.back()->attributes.insert_or_assign("transB", int64_t{1});
  if (ops::may_round_to_tf32(*p.conv)) ops::let_round_to_tf32(*made.back());
  Value* product = made.back()->output(0);
  if (p.as_image) {
    transposed(reshaped(product, {p.batch, rows.output, columns.output, p.filters}, temporary("pixels")),
               {0, 3, 1, 2}, result);
  } else {
    Value* pixels = reshaped(product, {p.batch, p.pixels(), p.filters}, temporary("pixels"));
    reshaped(transposed(pixels, {0, 2, 1}, temporary("channels")),
             {p.batch, p.filters, rows.output, columns.output}, result);
  }
  Rewriter(graph).replace({p.conv}, std::move(made));
}

int unfold_in(Graph& graph) {
  const Uses uses(graph);
  std::vector<Patches> found;
  for (const auto& node : graph.nodes()) {
    if (auto patches = match(uses, node.get())) found.push_back(std::move(*patches));
  }
  for (const Patches& patches : found) unfold(graph, patches);
  return static_cast<int>(found.size());
}

}  // namespace

Pass unfold_patches() {
  return {"unfold-patches", NumericalClass::kReassociating, [](Graph& graph) {
            int unfolded = 0;
            for_each_graph(graph, [&](Graph& inner) { unfolded += unfold_in(inner); });
            return unfolded;
          }};
}

}  // namespace vernier
