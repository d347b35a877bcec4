// Models of which all is one step.
#pragma once

#include "passes/rewriting.h"
#include "vernier/compile/compiler.h"
#include "vernier/engine/session.h"

namespace vernier::cpu {

// The model, on random data, is one step by this kernel and gives what the reference does, to `tolerance` of
// each element (and of 1, for small ones).
inline void expect_one_step(const Model& model, const std::string& kernel, double tolerance) {
  const NamedData data = random_data(*model.graph, 4);
  Session session(compile(model));
  const auto plan = session.plan(data);
  ASSERT_EQ(plan->steps.size(), 1U);
  ASSERT_TRUE(plan->steps[0].kernel) << plan->steps[0].reason;
  EXPECT_EQ(plan->steps[0].kernel->name, kernel);
  const auto is = session.run(data).at("y").as_tensor().to_doubles(),
             wanted = run_reference(model, data).outputs[0].as_tensor().to_doubles();
  for (size_t i = 0; i < is.size(); ++i) EXPECT_NEAR(is[i], wanted[i], tolerance * (1 + std::abs(wanted[i])));
}

}  // namespace vernier::cpu
