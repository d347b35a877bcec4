// Engines against the reference, output by output.
#pragma once

#include "passes/rewriting.h"
#include "vernier/compile/compiler.h"
#include "vernier/engine/session.h"

namespace vernier {

inline void expect_close(const Datum& expected, const Datum& actual) {
  ASSERT_EQ(expected.kind, actual.kind);
  if (!expected.is_tensor()) {
    ASSERT_EQ(expected.as_sequence().size(), actual.as_sequence().size());
    for (size_t i = 0; i < expected.as_sequence().size(); ++i)
      expect_close(expected.as_sequence()[i], actual.as_sequence()[i]);
    return;
  }
  ASSERT_EQ(expected.tensor.dims(), actual.tensor.dims());
  ASSERT_EQ(expected.tensor.type(), actual.tensor.type());
  const auto a = expected.tensor.to_doubles(), b = actual.tensor.to_doubles();
  for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-5 * (1 + std::abs(a[i]))) << i;
}

inline void expect_as_reference(const Model& model, Session& session, const NamedData& data) {
  const auto expected = run_reference(model, data).outputs;
  const auto actual = session.run(data);
  for (size_t i = 0; i < expected.size(); ++i)
    expect_close(expected[i], actual.at(model.graph->outputs[i]->name));
}

inline Tensor ramp(Dims dims) {
  std::vector<double> values(static_cast<size_t>(element_count(dims)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = 0.25 * static_cast<double>(i) - 1;
  return Tensor::from_doubles(ElementType::kFloat, std::move(dims), values);
}

}  // namespace vernier
