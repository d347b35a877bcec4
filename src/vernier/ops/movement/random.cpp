// RandomNormal, RandomUniform (sizes by attribute), their -Like forms (sizes of the input), Bernoulli (the
// input holds probabilities) and Multinomial (the input holds logarithms of weights).The numbers are the
// same in every run.
#include "vernier/ops/support/random.h"

#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/content.h"

namespace vernier::ops {

namespace {

void infer_sized(InferContext& context) {
  const auto sizes = context.attribute<std::vector<int64_t>>("shape", {});
  for (const int64_t size : sizes) checked_size(size);
  context.set_output(0, element_type_attribute(context.node(), "dtype", ElementType::kFloat),
                     to_shape(sizes));
}

void infer_like(InferContext& context) {
  context.set_output(0, element_type_attribute(context.node(), "dtype", context.element(0)),
                     context.shape(0));
}

// Stores draw(index) for every element.
template <class Draw>
void store_drawn(ReferenceContext& context, Draw draw) {
  std::vector<double> values(static_cast<size_t>(context.allocate(0).size()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = draw(static_cast<int64_t>(i));
  context.store(0, values);
}

void normal(ReferenceContext& context) {
  RandomSource random(context.node());
  const double mean = context.attribute<float>("mean", 0), scale = context.attribute<float>("scale", 1);
  store_drawn(context, [&](int64_t) { return mean + scale * random.normal(); });
}

void uniform(ReferenceContext& context) {
  RandomSource random(context.node());
  const double low = context.attribute<float>("low", 0), high = context.attribute<float>("high", 1);
  store_drawn(context, [&](int64_t) { return low + (high - low) * random.uniform(); });
}

// The rarer outcome is at the upper end, as numpy has it.
double bernoulli_draw(double uniform, double probability) {
  if (probability <= 0.5) return uniform > 1 - probability ? 1 : 0;
  return uniform > probability ? 0 : 1;
}

void bernoulli(ReferenceContext& context) {
  RandomSource random(context.node());
  const auto probability = context.reals(0);
  store_drawn(context, [&](int64_t i) { return bernoulli_draw(random.uniform(), probability[i]); });
}

void infer_multinomial(InferContext& context) {
  const auto& input = context.shape(0);
  if (input && input->size() != 2)
    throw bad_input("Multinomial needs [batch, classes], not {}", shape_text(*input));
  const int64_t samples = context.attribute<int64_t>("sample_size", 1);
  context.set_output(0, element_type_attribute(context.node(), "dtype", ElementType::kInt32),
                     Shape{input ? (*input)[0] : context.fresh("batch"), checked_size(samples)});
}

// Running sums of exp(x - max x): the distribution function, not divided by its last value.
std::vector<double> cumulated_weights(const double* x, int64_t classes) {
  const double top = *std::max_element(x, x + classes);
  std::vector<double> sums(static_cast<size_t>(classes));
  double sum = 0;
  for (size_t i = 0; i < sums.size(); ++i) sums[i] = sum += std::exp(x[i] - top);
  return sums;
}

void multinomial(ReferenceContext& context) {
  const auto x = context.reals(0);
  const int64_t batch = context.dims(0)[0], classes = context.dims(0)[1],
                samples = context.allocate(0).dims()[1];
  if (classes == 0) throw bad_input("Multinomial has no classes to choose from");
  RandomSource random(context.node());
  std::vector<int64_t> picks(static_cast<size_t>(batch * samples));
  for (int64_t row = 0; row < batch; ++row) {
    const auto sums = cumulated_weights(x.data() + row * classes, classes);
    for (int64_t i = row * samples; i < (row + 1) * samples; ++i) {
      const auto found = std::upper_bound(sums.begin(), sums.end(), random.uniform() * sums.back());
      picks[static_cast<size_t>(i)] = std::min<int64_t>(found - sums.begin(), classes - 1);
    }
  }
  context.store_ints(0, {batch, samples}, picks);
}

}  // namespace

void register_random(OpRegistry& registry) {
  const auto add = [&](const char* name, int inputs, std::vector<AttributeSpec> attributes, TypesSince since,
                       auto infer, auto compute) {
    attributes.insert(attributes.end(), {{"dtype", "INT"}, {"seed", "FLOAT"}});
    registry.add({.op = name,
                  .operands = std::vector<Role>(static_cast<size_t>(inputs), Role::kData),
                  .attributes = std::move(attributes),
                  .traits = kNondeterministic,
                  .precision = PrecisionClass::kStatesType,
                  .since = since,
                  .infer = infer,
                  .reference = compute});
  };
  const AttributeSpec shape{"shape", "INTS"}, mean{"mean", "FLOAT"}, scale{"scale", "FLOAT"},
      low{"low", "FLOAT"}, high{"high", "FLOAT"};
  add("RandomNormal", 0, {mean, scale, shape}, {22, 1}, infer_sized, normal);
  add("RandomNormalLike", 1, {mean, scale}, {22, 1}, infer_like, normal);
  add("RandomUniform", 0, {low, high, shape}, {22, 1}, infer_sized, uniform);
  add("RandomUniformLike", 1, {low, high}, {22, 1}, infer_like, uniform);
  add("Bernoulli", 1, {}, {22, 15}, infer_like, bernoulli);
  add("Multinomial", 1, {{"sample_size", "INT"}}, kNoNarrowFloats, infer_multinomial, multinomial);
}

}  // namespace vernier::ops
