// Recurrent operators that take their input from the rows of a constant table.
#include "cpu/one_kernel.h"
#include "passes/rewriting.h"
#include "vernier/compile/compiler.h"
#include "vernier/engine/session.h"

namespace vernier::cpu {
namespace {

// So many words of 6 numbers each; `ids` are [4, 7], too few sequences for tiles. `gathered` is the Gather of
// them by the name %x, and what else lies before the operator.
struct Embedded {
  std::string op = "LSTM";
  std::string gathered = R"(%g: f32[*] = Gather(%table, %ids) version 13 @"g" from ["g"]
    %x: f32[*] = Transpose(%g) {perm = ints[1, 0, 2]} version 21 @"t" from ["t"])";
  std::string attributes = "hidden_size = 5";
  int64_t words = 7, directions = 1;
  std::string type = "i64";

  int64_t gates() const { return op == "LSTM" ? 4 : op == "GRU" ? 3 : 1; }

  // The weights become constants.
  Model model() const {
    const auto tensor = [](const Dims& dims) { return fmt::format("f32[{}]", fmt::join(dims, ", ")); };
    const Dims table{words, 6}, w{directions, gates() * 5, 6}, r{directions, gates() * 5, 5},
        b{directions, gates() * 10};
    Model model = parse_graph(fmt::format(
        R"(graph "g" (%ids: {}[4, 7], %table: {}, %w: {}, %r: {}, %b: {}) -> (%y, %h) {{
    {}
    %y: f32[*], %h: f32[*] = {}(%x, %w, %r, %b) {{{}}} version 14 @"l" from ["l"]
  }})",
        type, tensor(table), tensor(w), tensor(r), tensor(b), gathered, op, attributes));
    auto& inputs = model.graph->inputs;
    unsigned seed = 0;
    for (Value* input : inputs) {
      if (input->name != "ids")
        input->constant =
            random_tensor(ElementType::kFloat, *to_dims(*input->type.tensor.shape), ++seed, false);
    }
    inputs.resize(1);
    return model;
  }

  NamedData ids(int64_t first) const {
    std::vector<int64_t> values{first};
    for (int64_t i = 1; i < 28; ++i) values.push_back((i * 5 + i / 7) % (2 * words) - words);
    NamedData data;
    data["ids"] =
        Tensor::from_ints(type == "i64" ? ElementType::kInt64 : ElementType::kInt32, {4, 7}, values);
    return data;
  }

  void expect(const std::string& kernel) const {
    const Model given = model();
    const auto expected = run_reference(given, ids(0)).outputs;
    BuildOptions options;
    options.tune.approximate = false;  // else it depends on times which kernel it is
    Compiler compiler(given, options);
    compiler.prepare({given.graph->inputs[0]->type});
    const auto engine = compiler.engine();
    std::vector<std::string> kernels;
    for (const Step& step : engine->prepared()[0].plan->steps)
      kernels.push_back(step.kernel ? step.kernel->name : "");
    EXPECT_THAT(kernels, testing::Contains(kernel)) << gathered;
    Session session(engine);
    const auto actual = session.run(ids(0));
    for (size_t i = 0; i < 2; ++i) {
      const auto is = actual.at(given.graph->outputs[i]->name).tensor.to_doubles(),
                 wanted = expected[i].tensor.to_doubles();
      ASSERT_EQ(is.size(), wanted.size());
      for (size_t k = 0; k < is.size(); ++k)
        ASSERT_NEAR(is[k], wanted[k], 2e-5) << op << gathered << " at " << k;
    }
  }

  std::string grouped() const {
    Model given = model();
    rewrite(given, {read_embeddings()});
    return operators(*given.graph);
  }
};

constexpr const char* kAlone = R"(%x: f32[*] = Gather(%table, %ids) version 13 @"g" from ["g"])";

TEST(EmbeddedRecurrent, OperatorsOrdersAndDirections) {
  Embedded{}.expect("cpu:lstm:table");
  Embedded{.op = "GRU", .type = "i32"}.expect("cpu:gru:table");
  Embedded{.op = "RNN", .gathered = kAlone}.expect("cpu:rnn:table");
  Embedded{.gathered = kAlone, .attributes = "hidden_size = 5, layout = 1"}.expect("cpu:lstm:table");
  Embedded{.op = "GRU",
           .gathered = kAlone,
           .attributes = R"(hidden_size = 5, direction = "bidirectional")",
           .words = 4,
           .directions = 2}
      .expect("cpu:gru:table");
}

TEST(EmbeddedRecurrent, AWordThatIsNotInTheTableIsRefused) {
  const Embedded embedded;
  Session session(compile(embedded.model()));
  EXPECT_NO_THROW(session.run(embedded.ids(-7)));
  EXPECT_THROW(session.run(embedded.ids(7)), Error);
  EXPECT_THROW(session.run(embedded.ids(-8)), Error);
}

TEST(EmbeddedRecurrent, TablesThatWouldGrowAreLeftAsTheyAre) {
  EXPECT_EQ(Embedded{}.grouped(), "recurrent(Gather Transpose LSTM)");
  EXPECT_EQ((Embedded{.gathered = kAlone, .words = 8}.grouped()), "recurrent(Gather LSTM)");
  EXPECT_EQ((Embedded{.gathered = kAlone, .words = 9}.grouped()), "Gather LSTM");
  const std::string other = R"(%g: f32[*] = Gather(%table, %ids) version 13 @"g" from ["g"]
    %x: f32[*] = Transpose(%g) {perm = ints[0, 1, 2]} version 21 @"t" from ["t"])";
  EXPECT_EQ(Embedded{.gathered = other}.grouped(), "Gather Transpose LSTM");
}

}  // namespace
}  // namespace vernier::cpu
