// A cause is proposed where attributes and operands make it possible, and nowhere else: each is simulated.
#include <algorithm>

#include "diagnose/planted_fault.h"

namespace vernier {
namespace {

struct Possibility {
  const char* words;  // of the cause
  std::string possible, impossible;
  NamedData data = {}, other = {};  // of each model
};

NamedData image_of(int64_t rows, int64_t columns) {
  return {{"s", integers({2}, {rows, columns})}};
}

std::string equation(const char* dims) {
  return of_floats(fmt::format("%x: f32[3, {}], %w: f32[{}, 4]", dims, dims),
                   "Einsum(%x, %w) {equation = \"ij,jk->ik\"} version 12");
}

std::string pool(const char* dims) {
  return of_floats(fmt::format("%x: f32[1, 2, {}]", dims), "GlobalAveragePool(%x) version 1");
}

std::string tuples(const char* dims, const char* attributes = "") {
  return of_floats(fmt::format("%x: f32[3, 3, 2], %i: i64[{}]", dims),
                   fmt::format("GatherND(%x, %i) {}version 13", attributes));
}

std::string attention(const char* attributes) {
  return of_floats("%q: f32[1, 2, 4, 3], %k: f32[1, 2, 4, 3], %v: f32[1, 2, 4, 3]",
                   fmt::format("Attention(%q, %k, %v) {}version 23", attributes));
}

std::string resize() {
  return of_floats("%x: f32[1, 1, 4, 6], %s: f32[4]", "Resize(%x, _, %s) {mode = \"linear\"} version 19");
}

// Images from 2 x 2 windows of so many places.
std::string columns(int places) {
  return of_floats(fmt::format("%x: f32[1, {}, 4], %s: i64[2], %k: i64[2]", places),
                   "Col2Im(%x, %s, %k) version 18");
}

NamedData columns_of(int64_t image, int64_t block) {
  return {{"s", integers({2}, {image, image})}, {"k", integers({2}, {block, block})}};
}

std::string lstm(const char* bias) {
  return of_floats("%x: f32[2, 1, 3], %w: f32[1, 16, 3], %r: f32[1, 16, 4], %b: f32[1, 32]",
                   fmt::format("LSTM(%x, %w, %r{}) {{hidden_size = 4}} version 14", bias));
}

const std::string kClip = of_floats("%x: f32[4], %l: f32[], %h: f32[]", "Clip(%x, %l, %h) version 13");
const std::string kHalfClip = of_floats("%x: f32[4], %l: f32[]", "Clip(%x, %l) version 13");
const std::string kCentre = of_floats("%x: f32[5, 5], %s: i64[2]", "CenterCropPad(%x, %s) version 18");
const NamedData kZeroToOne{{"l", floats({}, {0})}, {"h", floats({}, {1})}};

const std::vector<Possibility> kPossibilities = {
    {"every matrix of factor", of_floats("%x: f32[2, 3, 3], %w: f32[2, 3, 3]", "MatMul(%x, %w) version 13"),
     of_floats("%x: f32[2, 3, 3], %w: f32[3, 3]", "MatMul(%x, %w) version 13")},
    {"windows that overlap", columns(4), columns(1), columns_of(3, 2), columns_of(2, 1)},
    {"larger part of an odd difference", kCentre, kCentre, image_of(2, 5), image_of(3, 7)},
    {"at the begin alone", kCentre, kCentre, image_of(3, 5), image_of(5, 5)},
    {"indices of each tuple",
     tuples("2, 2"),
     tuples("2, 1"),
     {{"i", integers({2, 2}, {0, 1, 2, 0})}},
     {{"i", integers({2, 1}, {0, 2})}}},
    {"all batches read",
     tuples("3, 1", "{batch_dims = 1} "),
     tuples("3, 1"),
     {{"i", integers({3, 1}, {0, 1, 2})}},
     {{"i", integers({3, 1}, {0, 1, 2})}}},
    {"is mirrored at it", kClip, kHalfClip, kZeroToOne, {{"l", floats({}, {0})}}},
    {"saturates smoothly", kClip, kClip, kZeroToOne, {{"l", floats({}, {1})}, {"h", floats({}, {1})}}},
    {"scores are normalised over", attention(""), attention("{is_causal = 1} ")},
    {"are exchanged in what it reads",
     resize(),
     resize(),
     {{"s", floats({4}, {1, 1, 2, 2})}},
     {{"s", floats({4}, {1, 1, 1, 2})}}},
    {"one element shorter in the scales",
     resize(),
     resize(),
     {{"s", floats({4}, {1, 1, 2, 2})}},
     {{"s", floats({4}, {1, 1, 1, 1})}}},
    {"the bias of gate", lstm(", %b"), lstm("")},
    {"first place alone along axis 3", pool("3, 2"), pool("3, 1")},
    {"it meets one of 2", equation("8"), equation("2")},
    {"is less by it", of_floats("%x: f32[4]", "ThresholdedRelu(%x) {alpha = float 0.5} version 10"),
     of_floats("%x: f32[4]", "ThresholdedRelu(%x) {alpha = float 0} version 10")},
    {"true where it should be false",
     "graph \"g\" (%x: f32[4]) -> (%y) {\n %y: bool[*] = IsNaN(%x) version 13 @\"n\" from [\"n\"]\n}",
     of_floats("%x: f32[4]", "Abs(%x) version 13")},
    {"channels before and", of_floats("%x: f32[1, 4, 2, 2]", "LRN(%x) {size = 3} version 13"),
     of_floats("%x: f32[1, 4, 2, 2]", "LRN(%x) {size = 1} version 13")},
    {"lie column by column",
     columns(4),
     of_floats("%x: f32[1, 2, 4], %s: i64[1], %k: i64[1]", "Col2Im(%x, %s, %k) version 18"),
     columns_of(3, 2),
     {{"s", integers({1}, {5})}, {"k", integers({1}, {2})}}},
};

bool is_proposed(const Possibility& possibility, const std::string& graph, const NamedData& data) {
  const Model model = parse_planted(graph, 23);
  const FaultyEngine sound = [](const Model& run, const NamedData& given) { return outputs_of(run, given); };
  const auto proposed = Planted(model, sound, data).proposed();
  return std::any_of(proposed.begin(), proposed.end(), [&](const std::string& what) {
    return what.find(possibility.words) != std::string::npos;
  });
}

TEST(Proposals, AreMadeWhereTheyArePossible) {
  for (const Possibility& possibility : kPossibilities) {
    SCOPED_TRACE(possibility.words);
    EXPECT_TRUE(is_proposed(possibility, possibility.possible, possibility.data));
    EXPECT_FALSE(is_proposed(possibility, possibility.impossible, possibility.other));
  }
}

}  // namespace
}  // namespace vernier
