// com.microsoft HyperConnectionPreMix: C streams [..., C, H], or [..., C * H] with num_branches, become one
// by gates: y[h] = reduction_scale * sum over c of x[c, h] * gate[c, h]. HyperConnectionPostMix: streams are
// mixed with each other and with one result: y[k, h] = sum over c of mix[c, k] * x[c, h] + gate[k, h] *
// result[h]. Gates are of each element or of each stream.
#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"

namespace vernier::ops {

namespace {

enum PreInput : size_t { kStreams, kPreGates };
enum PostInput : size_t { kResult = 1, kPostGates, kMix };

int64_t given_branches(const Node& node) {
  const auto branches = node.attribute<int64_t>("num_branches", 0);
  if (branches < 0) throw bad_input("num_branches is {}", branches);
  return branches;
}

struct Streams {
  int64_t rows = 0, count, size;

  explicit Streams(const ReferenceContext& context) {
    const Dims& dims = context.dims(kStreams);
    const int64_t given = given_branches(context.node());
    if (dims.size() < (given > 0 ? 1U : 2U)) throw bad_input("{} has no streams", dims_text(dims));
    count = given > 0 ? given : dims[dims.size() - 2];
    size = given > 0 ? dims.back() / given : dims.back();
    if (given > 0 && size * given != dims.back())
      throw bad_input("{} elements in {} streams", dims.back(), given);
    if (count * size > 0) rows = context.in(kStreams).size() / (count * size);
  }
};

// Gates of each element, [rows, count, size].
std::vector<double> gates_of(const ReferenceContext& context, size_t input, const Streams& streams) {
  const auto given = context.reals(input);
  const int64_t each = streams.rows * streams.count, all = each * streams.size;
  if (given.size() != all && given.size() != each)
    throw bad_input("gates {} for streams {}", dims_text(context.dims(input)),
                    dims_text(context.dims(kStreams)));
  std::vector<double> gates;
  for (int64_t i = 0; i < all; ++i) gates.push_back(given[given.size() == all ? i : i / streams.size]);
  return gates;
}

void infer_pre(InferContext& context) {
  auto shape = context.shape(kStreams);
  if (shape) {
    const int64_t given = given_branches(context.node());
    if (shape->size() < (given > 0 ? 1U : 2U)) throw bad_input("{} has no streams", shape_text(*shape));
    if (given > 0)
      shape->back() = floordiv(shape->back(), given);
    else
      shape->erase(shape->end() - 2);
  }
  context.set_output(0, context.element(kStreams), std::move(shape));
}

void pre_reference(ReferenceContext& context) {
  const Streams streams(context);
  const auto x = context.reals(kStreams);
  const auto gates = gates_of(context, kPreGates, streams);
  const double scale = context.attribute<float>("reduction_scale", 1);
  std::vector<double> y(static_cast<size_t>(streams.rows * streams.size));
  for (int64_t i = 0; i < streams.rows * streams.count * streams.size; ++i) {
    const int64_t row = i / (streams.count * streams.size);
    y[static_cast<size_t>(row * streams.size + i % streams.size)] +=
        scale * x[i] * gates[static_cast<size_t>(i)];
  }
  context.store(0, y);
}

void post_reference(ReferenceContext& context) {
  const Streams streams(context);
  const int64_t count = streams.count, size = streams.size;
  const auto x = context.reals(kStreams), result = context.reals(kResult);
  if (result.size() != streams.rows * size)
    throw bad_input("a result {} for streams {}", dims_text(context.dims(kResult)),
                    dims_text(context.dims(kStreams)));
  const auto gates = gates_of(context, kPostGates, streams);
  const auto mix = context.has(kMix) ? context.reals(kMix) : Elements<double>();
  if (context.has(kMix) && mix.size() != streams.rows * count * count)
    throw bad_input("a mix {} of {} streams", dims_text(context.dims(kMix)), count);
  std::vector<double> y(gates.size());
  for (int64_t i = 0; i < static_cast<int64_t>(y.size()); ++i) {
    const int64_t row = i / (count * size), stream = i / size % count, at = i % size;
    double sum = gates[static_cast<size_t>(i)] * result[row * size + at];
    for (int64_t c = 0; c < count; ++c) {
      const double share = context.has(kMix) ? mix[(row * count + c) * count + stream] : c == stream ? 1 : 0;
      sum += share * x[(row * count + c) * size + at];
    }
    y[static_cast<size_t>(i)] = sum;
  }
  context.store(0, context.dims(kStreams), y);
}

}  // namespace

void register_hyper_connection(OpRegistry& registry) {
  OpDef def{.domain = "com.microsoft",
            .op = "HyperConnectionPreMix",
            .operands = {Role::kData, Role::kData},
            .attributes = {{"num_branches", "INT"}, {"reduction_scale", "FLOAT"}},
            .traits = kReduction,
            .infer = infer_pre,
            .reference = pre_reference};
  registry.add(def);
  def.op = "HyperConnectionPostMix";
  def.optional_inputs = 1;
  def.operands = {Role::kData, Role::kData, Role::kData, Role::kData};
  def.attributes = {{"num_branches", "INT"}};
  def.infer = infer_same_as_input;
  def.reference = post_reference;
  registry.add(std::move(def));
}

}  // namespace vernier::ops
