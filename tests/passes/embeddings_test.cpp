// read-embeddings: recurrent operators with the rows of a constant table.
#include "passes/expect_pass.h"

namespace vernier {
namespace {

std::string ones(int64_t count) {
  std::string hex;
  for (int64_t i = 0; i < count; ++i) hex += "0000803f";
  return "hex\"" + hex + "\"";
}

// %x, the input of the operator, is made by the node; the table has so many rows of six numbers.
Model model_of(const std::string& node, int64_t rows = 7) {
  return parse_graph("graph \"g\" (%ids: i64[4, 7]) -> (%h) {\n" +
                     fmt::format("const %table = f32[{}, 6] {}\n", rows, ones(rows * 6)) +
                     "const %w = f32[1, 20, 6] " + ones(120) + "\nconst %r = f32[1, 20, 5] " + ones(100) +
                     "\n" + node + R"(
    _, %h: f32[*] = LSTM(%x, %w, %r) {hidden_size = 5} version 14 @"l" from ["l"]
  })");
}

const std::string kGather = R"(%x: f32[*] = Gather(%table, %ids) version 13 @"g" from ["g"])";
const std::string kTransposed = R"(%g: f32[*] = Gather(%table, %ids) version 13 @"g" from ["g"]
    %x: f32[*] = Transpose(%g) {perm = ints[PERM]} version 21 @"t" from ["t"])";

std::string transposed(const std::string& order) {
  std::string text = kTransposed;
  return text.replace(text.find("PERM"), 4, order);
}

PassCase with_ids() {
  std::vector<int64_t> ids(28);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int64_t>(i % 7);
  return {read_embeddings(), {}, {}, {{"ids", Tensor::from_ints(ElementType::kInt64, {4, 7}, ids)}}};
}

TEST(ReadEmbeddings, GatherAndTransposeGoWithTheOperator) {
  expect_pass(with_ids(), model_of(kGather), R"(graph "g" (%ids: i64[4, 7]) -> (%h) {
      const %table = f32[7, 6] hash c379ca954c31070c
      const %w = f32[1, 20, 6] hash 6ca05e6b96c85db4
      const %r = f32[1, 20, 5] hash 2b19d8ca029bfbd9
      %h: f32[1, 7, 5] = vernier::Group(%table, %ids, %w, %r) {kind = "recurrent"} version 1 @"l" from ["g", "l"] regions {
        body =
        graph "recurrent" (%table: f32[7, 6], %ids: i64[4, 7], %w: f32[1, 20, 6], %r: f32[1, 20, 5]) -> (%h) {
          %x: f32[4, 7, 6] = Gather(%table, %ids) version 13 @"g" from ["g"]
          _, %h: f32[1, 7, 5] = LSTM(%x, %w, %r) {hidden_size = 5} version 14 @"l" from ["l"]
        }
      }
  })");
  expect_pass(with_ids(), model_of(transposed("1, 0, 2")), R"(graph "g" (%ids: i64[4, 7]) -> (%h) {
      const %table = f32[7, 6] hash c379ca954c31070c
      const %w = f32[1, 20, 6] hash 6ca05e6b96c85db4
      const %r = f32[1, 20, 5] hash 2b19d8ca029bfbd9
      %h: f32[1, 4, 5] = vernier::Group(%table, %ids, %w, %r) {kind = "recurrent"} version 1 @"l" from ["g", "l", "t"] regions {
        body =
        graph "recurrent" (%table: f32[7, 6], %ids: i64[4, 7], %w: f32[1, 20, 6], %r: f32[1, 20, 5]) -> (%h) {
          %g: f32[4, 7, 6] = Gather(%table, %ids) version 13 @"g" from ["g"]
          %x: f32[7, 4, 6] = Transpose(%g) {perm = ints[1, 0, 2]} version 21 @"t" from ["t"]
          _, %h: f32[1, 4, 5] = LSTM(%x, %w, %r) {hidden_size = 5} version 14 @"l" from ["l"]
        }
      }
  })");
}

TEST(ReadEmbeddings, ATableThatWouldGrowOrAnotherOrderStays) {
  expect_unchanged(with_ids(), model_of(kGather, 9));
  expect_unchanged(with_ids(), model_of(transposed("0, 1, 2")));
}

}  // namespace
}  // namespace vernier
