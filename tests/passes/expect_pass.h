// A test of a pass is two graphs as text: what it is given, and the whole of what it makes.
#pragma once

#include "passes/rewriting.h"
#include "vernier/ir/rewriter.h"

namespace vernier {

// The pass under test and what surrounds it. The text after the pass is that after `then`, too.
struct PassCase {
  Pass pass;
  std::vector<Pass> first = {}, then = {};
  NamedData data = {};  // for inputs whose values are not free, such as indices; others are drawn
};

inline std::string without_indentation(const std::string& text) {
  std::string result;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    line.erase(0, line.find_first_not_of(' '));
    if (!line.empty()) result += line + "\n";
  }
  return result;
}

// The text of a graph with types, attributes, names and provenance, one line a node. Constants that nobody
// reads are left out, because tests share lists of them; large ones are given by their hash.
inline std::string normal_form(const Graph& graph) {
  const auto shown = clone(graph);
  std::set<const Value*> unread;
  for (const auto& value : shown->values()) {
    const bool input =
        std::find(shown->inputs.begin(), shown->inputs.end(), value.get()) != shown->inputs.end();
    if (value->is_constant() && !input && !is_read(*shown, value.get())) unread.insert(value.get());
  }
  shown->remove_values(unread);
  return without_indentation(print(*shown, {.elide_constants_above = 8}));
}

inline Provenance provenance_of(const Graph& graph) {
  Provenance all;
  for_each_graph(graph, [&](const Graph& inner) {
    for (const auto& node : inner.nodes()) all.insert(node->provenance.begin(), node->provenance.end());
  });
  return all;
}

// Whatever a pass does: every node says which nodes of the model it computes, and something needs it.
inline void expect_sound(const Graph& before, const Graph& after) {
  const Provenance known = provenance_of(before);
  for_each_graph(after, [&](const Graph& inner) {
    for (const auto& node : inner.nodes()) {
      EXPECT_FALSE(node->provenance.empty()) << node->name << " comes from nowhere";
      for (const std::string& name : node->provenance)
        EXPECT_TRUE(known.contains(name))
            << node->name << " comes from '" << name << "', which was not there";
    }
  });
  const auto rest = clone(after);
  EXPECT_EQ(remove_dead_code().run(*rest), 0) << "dead nodes or outputs are left";
}

// Runs the passes of the case on a copy; gives how often the one under test fired.
inline int run_case(const PassCase& with, const Model& before, Model& prepared, Model& after) {
  prepared = clone(before);
  rewrite(prepared, with.first);
  after = clone(prepared);
  const int fired = rewrite(after, {with.pass})[with.pass.name];
  rewrite(after, with.then);
  return fired;
}

// The pass fires and makes exactly this graph, of which the reference makes the same: the same bits, if the
// pass is exact, and else what differs by no more than float32's rounding.
inline void expect_pass(const PassCase& with, const Model& before, const std::string& after_text,
                        int line = __builtin_LINE(), const char* file = __builtin_FILE()) {
  const testing::ScopedTrace trace(file, line, with.pass.name);
  Model prepared, after;
  EXPECT_GT(run_case(with, before, prepared, after), 0) << "the pass did not fire";
  EXPECT_EQ(without_indentation(after_text), normal_form(*after.graph));
  expect_sound(*prepared.graph, *after.graph);
  const double bound = with.pass.numerics == NumericalClass::kExact ? 0 : 1e-6;
  EXPECT_LE(distance(prepared, after, with.data), bound);
}

// The pass finds nothing to do, and leaves every line as it was.
inline void expect_unchanged(const PassCase& with, const Model& before, int line = __builtin_LINE(),
                             const char* file = __builtin_FILE()) {
  const testing::ScopedTrace trace(file, line, with.pass.name);
  Model prepared, after;
  EXPECT_EQ(run_case(with, before, prepared, after), 0) << "the pass fired";
  EXPECT_EQ(normal_form(*prepared.graph), normal_form(*after.graph));
}

inline void expect_pass(const PassCase& with, const std::string& before, const std::string& after_text,
                        int line = __builtin_LINE(), const char* file = __builtin_FILE()) {
  expect_pass(with, parse_graph(before), after_text, line, file);
}
inline void expect_unchanged(const PassCase& with, const std::string& before, int line = __builtin_LINE(),
                             const char* file = __builtin_FILE()) {
  expect_unchanged(with, parse_graph(before), line, file);
}

}  // namespace vernier
