// Which rewrites suit which class, the cheapest to run first.
#include <fmt/ranges.h>

#include "vernier/diagnose/repairs/candidate.h"
#include "vernier/diagnose/rewrites/rewrites.h"

namespace vernier {

namespace {

using Names = std::vector<std::string>;

// A rewrite of the root causes' nodes, or of a model in which these are.
struct Row {
  std::set<std::string> classes;
  const char *name, *sentence;  // what becomes of "'clip', 'clip_1'"
  std::function<bool(Model& model, const Names& nodes, const NamedData& inputs)> apply;
};

// Rewrites one node after the other.
auto each(bool (*rewrite)(Replacement& node)) {
  return [rewrite](Model& model, const Names& nodes, const NamedData&) {
    return rewrite_each(model, nodes_of(model, nodes), rewrite);
  };
}

auto in_parts(bool (*rewrite)(Replacement& node, int64_t terms), int64_t terms) {
  return [=](Model& model, const Names& nodes, const NamedData&) {
    return rewrite_each(model, nodes_of(model, nodes),
                        [=](Replacement& node) { return rewrite(node, terms); });
  };
}

auto of_bits(int bits) {
  return [=](Model& model, const Names& nodes, const NamedData&) {
    return rewrite_each(model, nodes_of(model, nodes),
                        [=](Replacement& node) { return split_operands(node, bits); });
  };
}

// Rewrites all products of the model: what cuts operands does so everywhere.
auto of_bits_everywhere(int bits) {
  return [=](Model& model, const Names&, const NamedData&) {
    std::vector<Node*> products;
    for_each_graph(*model.graph, [&](Graph& graph) {
      for (const auto& node : graph.nodes()) products.push_back(node.get());
    });
    return rewrite_each(model, products, [=](Replacement& node) { return split_operands(node, bits); });
  };
}

auto of_model(bool (*rewrite)(Model& model, const Names& nodes)) {
  return [=](Model& model, const Names& nodes, const NamedData&) { return rewrite(model, nodes); };
}

// Operators that an engine computes wrongly, or fuses wrongly, are written by others.
std::vector<Row> operator_rows() {
  return {
      {{"B31", "B14", "B35", "B38", "B42"},
       "with-barriers",
       "make what {} read and make outputs of the model, which ends a fusion there",
       of_model(add_barriers)},
      {{"B32", "B31", "B37"}, "clip-as-max-and-min", "write {} as Max and Min", each(write_clip)},
      {{"B36", "B7", "B31"},
       "softmax-by-exponentials",
       "write {} by maximum, exponentials and their sum",
       each(write_softmax)},
      {{"B33"}, "padding-as-pad", "pad before {} by a Pad of its own", each(write_pads)},
      {{"B34"},
       "resampling-by-indices",
       "write {} with explicit indices, or as products with matrices",
       each(write_resampling)},
      {{"B34"}, "sampling-by-indices", "write {} with explicit indices and weights", each(write_sampling)},
      {{"B35", "B31", "B5", "B12"},
       "normalisation-by-parts",
       "write {} by means, differences and factors",
       each(write_normalisation)},
      {{"B35"},
       "transposed-as-conv",
       "write {} as a Conv over the image with zeros in between",
       each(write_transposed_convolution)},
      {{"B35", "B42"}, "group-by-group", "write {} as one Conv for each group", each(write_groups)},
      {{"B10"}, "integers-in-parts", "take the integers of {} in two parts", each(split_integers)},
      {{"B39", "B10"}, "indices-otherwise", "write {} by GatherND or Gather", each(write_indices)},
      {{"B28", "B29"},
       "integer-product-in-floats",
       "add the products of {} in floats",
       each(write_integer_product)},
      {{"B39"}, "scatter-by-choice", "choose the last update for each row at {}", each(write_scatter)},
      {{"B40"}, "first-extremum", "take the first extremum at {}", each(write_extremum)},
      {{"B40"}, "places-sorted", "sort at {} by places of which no two are equal", each(write_best)},
      {{"B40"}, "selection-sorted", "sort what {} selects by class and score", each(write_selection)},
      {{"B38"}, "sizes-counted", "count the elements in place of {}", each(write_shape)},
      {{"B38", "B31"}, "choice-by-gather", "choose at {} by GatherElements", each(write_where)},
  };
}

std::vector<Row> choice_rows() {
  return {
      {{"B37"}, "rounding-written-out", "round at {} by Floor", each(write_rounding)},
      {{"B37", "B32"}, "nan-kept", "give NaN on around {} by Where", each(keep_nan)},
      {{"B41"}, "choice-by-where", "compute both branches of {}, of which Where chooses", each(write_choice)},
      {{"B41"},
       "trips-guarded",
       "give {} a trip more than needed, in which nothing changes",
       of_model(guard_trips)},
      {{"B14"}, "casts-as-arithmetic", "round at {} by arithmetic in place of Casts", each(write_cast_pair)},
      {{"B31", "B42", "B38"}, "bias-as-add", "add what {} adds by an Add of its own", each(write_bias)},
      {{"B31", "B38", "B5"},
       "arithmetic-otherwise",
       "write {} by the inverse operation",
       each(write_arithmetic)},
      {{"B31", "B37", "B42"},
       "function-written-out",
       "write {} by comparisons and exponentials",
       each(write_activation)},
      {{"B32", "B33", "B34", "B36", "B37", "B39"},
       "with-barriers",
       "make what {} read and make outputs of the model, which ends a fusion there",
       of_model(add_barriers)},
  };
}

// Numbers that an engine's types do not hold are kept out of them.
std::vector<Row> number_rows() {
  return {
      {{"B7"}, "maximum-subtracted", "subtract the maximum before {}", each(subtract_maximum)},
      {{"B1", "B2", "B3", "B6", "B7", "B11"},
       "scaled-down",
       "compute {} smaller by a power of two",
       [](Model& model, const Names& nodes, const NamedData& inputs) {
         return scale_down(model, nodes, inputs);
       }},
      {{"B4"},
       "weights-scaled-up",
       "make the small weights of {} larger, and what follows smaller, by powers of two",
       of_model(scale_up_weights)},
      {{"B5"}, "epsilon-raised", "raise the epsilon of {} to one that fp16 holds", of_model(raise_epsilons)},
      {{"B6"},
       "mask-in-range",
       "mask at {} with a number that fp16 holds",
       [](Model& model, const Names& nodes, const NamedData&) {
         return tame_sentinels(model, nodes, false);
       }},
      {{"B6"},
       "mask-by-where",
       "mask behind {} by Where",
       [](Model& model, const Names& nodes, const NamedData&) { return tame_sentinels(model, nodes, true); }},
      {{"B12", "B1"}, "two-passes", "compute the variance at {} in two passes", of_model(two_passes)},
      {{"B12", "B1"}, "mean-as-sum", "write {} as a sum of parts that are divided before", each(write_mean)},
      {{"B8", "B3"}, "sums-in-parts", "add at {} in parts of 64 terms", in_parts(split_sum, 64)},
      {{"B8", "B3"}, "sums-in-small-parts", "add at {} in parts of 16 terms", in_parts(split_sum, 16)},
      {{"B9", "B13"},
       "operands-in-two-parts",
       "write {} as three products of operands of 11 bits",
       of_bits(11)},
      {{"B9", "B13"},
       "all-operands-in-two-parts",
       "write all products, as {}, as three of operands of 11 bits",
       of_bits_everywhere(11)},
      {{"B15", "B16"},
       "operands-in-two-parts",
       "write {} as three products of operands of 8 bits",
       of_bits(8)},
      {{"B1", "B2", "B3", "B4", "B5", "B7", "B8", "B11", "B12", "B15", "B17", "B18"},
       "in-float",
       "compute {} in float, between Casts",
       of_model(widen_types)},
      {{"B1", "B2", "B3", "B5", "B7", "B8", "B9", "B10", "B11", "B12", "B13", "B15", "B17", "B18"},
       "in-double",
       "compute {} in double, between Casts",
       of_model(widen_to_double)},
      {{"B17", "B18"},
       "path-in-double",
       "compute all that {} follow from in double, between Casts",
       of_model(widen_path_to_double)},
      {{"B3", "B8", "B9", "B13", "B15", "B42"},
       "product-by-terms",
       "write {} as products of single terms and their sum",
       each(write_product)},
  };
}

std::vector<Row> quantization_rows() {
  const auto site = [](Model& model, const Names& nodes, const NamedData& inputs) {
    return rescale(model, nodes, inputs, false);
  };
  const auto all = [](Model& model, const Names& nodes, const NamedData& inputs) {
    return rescale(model, nodes, inputs, true);
  };
  const auto out = [](bool neighbours) {
    return [=](Model& model, const Names& nodes, const NamedData&) {
      return unquantize(model, nodes, neighbours);
    };
  };
  const auto none = [](Model& model, const Names&, const NamedData&) {
    return unquantize(model, quantizers_of(model), false);
  };
  return {
      {{"B19", "B20", "B21", "B22", "B23", "B24", "B25", "B27"},
       "scale-of-range",
       "give {} the scales of their ranges",
       site},
      {{"B19", "B20", "B21", "B22", "B23", "B24", "B25"},
       "all-scales-of-ranges",
       "give all values the scales of their ranges, beginning with {}",
       all},
      {{"B19", "B20", "B21", "B22", "B23", "B24", "B25", "B26", "B27", "B30"},
       "not-quantized",
       "leave {} in float",
       out(false)},
      {{"B23", "B24", "B26", "B27", "B28", "B29", "B30"},
       "not-quantized-around",
       "leave {} and what it reads and makes in float",
       out(true)},
      {{"B19", "B20", "B21", "B22", "B23", "B24", "B25", "B26", "B27", "B30"},
       "nothing-quantized",
       "leave the whole model in float, as {} alone do not make the error",
       none},
  };
}

void add(const RepairContext& context, const std::vector<Row>& rows,
         std::vector<RepairCandidate>& candidates) {
  constexpr size_t kNamed = 3;
  const Names named(context.nodes.begin(),
                    context.nodes.begin() + static_cast<ptrdiff_t>(std::min(kNamed, context.nodes.size())));
  std::string what = fmt::format("'{}'", fmt::join(named, "', '"));
  if (context.nodes.size() > kNamed) what += fmt::format(" and {} more", context.nodes.size() - kNamed);
  for (const Row& row : rows) {
    if (!row.classes.contains(context.failure.code())) continue;
    RepairCandidate candidate{Repair::Kind::kRewrite, row.name,
                              fmt::format(fmt::runtime(row.sentence), what)};
    candidate.rewrite = [apply = row.apply, nodes = context.nodes, inputs = context.inputs](Model& model) {
      return apply(model, nodes, inputs);
    };
    // An epsilon that is raised is another one: of what it is added to, it stays a small part.
    constexpr double kOfEpsilon = 1e-3;
    if (candidate.name == "epsilon-raised") candidate.preserves_within = kOfEpsilon;
    // A difference that cancels is not known exactly even in double.
    constexpr double kOfCancellation = 1e-4;
    if (context.failure.code() == "B12") candidate.preserves_within = kOfCancellation;
    candidates.push_back(std::move(candidate));
  }
}

}  // namespace

void rewrite_model(const RepairContext& context, std::vector<RepairCandidate>& candidates) {
  if (context.failure.code() == "B45") {
    RepairCandidate candidate{Repair::Kind::kRewrite, "functions-inlined",
                              "replace the operator by the body of its function"};
    candidate.rewrite = [](Model&) { return true; };  // import has done it
    candidates.push_back(std::move(candidate));
  }
  if (context.nodes.empty()) return;
  add(context, operator_rows(), candidates);
  add(context, choice_rows(), candidates);
  add(context, number_rows(), candidates);
  add(context, quantization_rows(), candidates);
}

}  // namespace vernier
