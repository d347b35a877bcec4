// Puts what is inside of a node beside it. Nobody can be asked for a value inside of an If, but an engine may
// run the branch that is taken as nodes of the model.
#pragma once

#include <optional>

#include "vernier/diagnose/under_test/engine_under_test.h"

namespace vernier {

// The model with the nodes of the branches that it takes on these inputs in place of its Ifs, those inside of
// them, too. Nothing where it has no If outside of loops. Throws what the reference throws.
std::optional<Model> with_open_branches(const Model& model, const NamedData& inputs);

// A copy in which the nodes of each group stand in its place.
std::unique_ptr<Graph> without_groups(const Graph& graph);

struct OpenedModel {
  Model model;
  std::unique_ptr<EngineUnderTest> tested;  // ends before the model
};

// The engine on that model. Nothing where it runs no other, or makes something else of it than of its own:
// then what is wrong is not found there.
std::unique_ptr<OpenedModel> opened(EngineUnderTest& tested, const Model& model, const NamedData& inputs,
                                    const NamedData& plain, const NamedData& right);

}  // namespace vernier
