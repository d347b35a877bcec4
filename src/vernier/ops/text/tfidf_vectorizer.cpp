// TfIdfVectorizer: counts the n-grams of a pool in each row of words (strings or integers). An n-gram may
// leave out up to max_skip_count words between two of its own, the same number everywhere. Mode TF gives the
// counts, IDF the weight of each n-gram that occurs, TFIDF count times weight.
#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"

namespace vernier::ops {

namespace {

int64_t output_size(const Node& node) {
  const auto indexes = node.attribute<std::vector<int64_t>>("ngram_indexes", {});
  if (indexes.empty()) throw bad_input("ngram_indexes is empty");
  const auto [low, high] = std::minmax_element(indexes.begin(), indexes.end());
  if (*low < 0 || *high == std::numeric_limits<int64_t>::max())
    throw bad_input("ngram_indexes reach from {} to {}", *low, *high);
  return *high + 1;
}

void infer_tfidf_vectorizer(InferContext& context) {
  context.element(0);
  const auto& input = context.shape(0);
  if (!input) return context.set_output(0, ElementType::kFloat, std::nullopt);
  if (input->size() > 2) throw bad_input("TfIdfVectorizer takes [C] or [N, C], not {}", shape_text(*input));
  Shape shape(input->begin(), input->size() == 2 ? input->begin() + 1 : input->begin());
  shape.emplace_back(output_size(context.node()));
  context.set_output(0, ElementType::kFloat, std::move(shape));
}

// The n-grams of the pool as a tree of words: a state is what was read so far, the root is 0.
template <class Word>
class NgramTree {
 public:
  NgramTree(const Node& node, const std::vector<Word>& pool);
  static constexpr int64_t kNone = -1;
  // The state after `word`, or kNone if no n-gram goes on so.
  int64_t next(int64_t state, const Word& word) const {
    const auto& follow = follow_[static_cast<size_t>(state)];
    const auto found = follow.find(word);
    return found == follow.end() ? kNone : found->second;
  }
  // The n-gram that ends in this state, or kNone.
  int64_t ngram(int64_t state) const { return ngram_[static_cast<size_t>(state)]; }

 private:
  void add(std::span<const Word> words, int64_t ngram);
  std::vector<std::unordered_map<Word, int64_t>> follow_ = {{}};
  std::vector<int64_t> ngram_ = {kNone};
};

template <class Word>
NgramTree<Word>::NgramTree(const Node& node, const std::vector<Word>& pool) {
  const auto starts = node.attribute<std::vector<int64_t>>("ngram_counts", {});
  const auto shortest = node.attribute<int64_t>("min_gram_length", 1),
             longest = node.attribute<int64_t>("max_gram_length", 1);
  const auto size = static_cast<int64_t>(pool.size());
  int64_t ngram = 0;
  for (size_t i = 0; i < starts.size(); ++i) {
    const int64_t begin = starts[i], end = i + 1 < starts.size() ? starts[i + 1] : size;
    const auto length = static_cast<int64_t>(i) + 1;
    if (begin < 0 || begin > end || end > size || (end - begin) % length != 0) {
      throw bad_input("the {}-grams [{}, {}) do not fit a pool of {} words", length, begin, end, size);
    }
    for (int64_t at = begin; at < end; at += length, ++ngram) {
      if (length < shortest || length > longest) continue;
      add(std::span(pool).subspan(static_cast<size_t>(at), static_cast<size_t>(length)), ngram);
    }
  }
}

template <class Word>
void NgramTree<Word>::add(std::span<const Word> words, int64_t ngram) {
  int64_t state = 0;
  for (const Word& word : words) {
    const auto [entry, fresh] =
        follow_[static_cast<size_t>(state)].try_emplace(word, static_cast<int64_t>(follow_.size()));
    state = entry->second;
    if (!fresh) continue;
    follow_.emplace_back();
    ngram_.push_back(kNone);
  }
  ngram_[static_cast<size_t>(state)] = ngram;
}

struct Counter {
  int64_t shortest, longest, skips;

  // Calls found(ngram) for each n-gram in the row.
  template <class Word, class Found>
  void count(const NgramTree<Word>& tree, std::span<const Word> row, Found found) const {
    const auto size = static_cast<int64_t>(row.size());
    for (int64_t step = 1; step <= std::min(skips, size) + 1; ++step) {
      for (int64_t start = 0; start < size; ++start) {
        int64_t state = 0, length = 0;
        for (int64_t at = start; at < size && length < longest; at += step) {
          state = tree.next(state, row[static_cast<size_t>(at)]);
          if (state == tree.kNone) break;
          ++length;
          // A single word skips nothing, so it is counted with the first step only.
          if (length >= shortest && (length > 1 || step == 1) && tree.ngram(state) != tree.kNone)
            found(tree.ngram(state));
        }
      }
    }
  }
};

double weigh(const std::string& mode, double count, double weight) {
  if (mode == "TF") return count;
  if (mode == "IDF") return count > 0 ? weight : 0;
  if (mode == "TFIDF") return count * weight;
  throw bad_input("mode must be TF, IDF or TFIDF, not '{}'", mode);
}

template <class Word>
void vectorize(ReferenceContext& context, const std::vector<Word>& pool, std::span<const Word> words) {
  const Node& node = context.node();
  const NgramTree<Word> tree(node, pool);
  const Counter counter{node.attribute<int64_t>("min_gram_length", 1),
                        node.attribute<int64_t>("max_gram_length", 1),
                        std::max<int64_t>(0, node.attribute<int64_t>("max_skip_count", 0))};
  const auto indexes = node.attribute<std::vector<int64_t>>("ngram_indexes", {});
  const auto weights = node.attribute<std::vector<float>>("weights", {});
  const auto mode = node.attribute<std::string>("mode", "TF");
  if (!weights.empty() && weights.size() != indexes.size())
    throw bad_input("{} weights for {} n-grams", weights.size(), indexes.size());

  const Dims& dims = context.dims(0);
  const auto width = dims.empty() ? size_t{1} : static_cast<size_t>(dims.back());
  const Dims out = context.out_dims(0);
  const auto outputs = static_cast<size_t>(out.back());
  std::vector<double> counts(static_cast<size_t>(element_count(out)));
  for (size_t row = 0; row * outputs < counts.size(); ++row) {
    counter.count(tree, words.subspan(row * width, width), [&](int64_t ngram) {
      if (ngram >= static_cast<int64_t>(indexes.size()))
        throw bad_input("n-gram {} has no entry in ngram_indexes", ngram);
      counts[row * outputs + static_cast<size_t>(indexes[static_cast<size_t>(ngram)])] += 1;
    });
  }
  std::vector<double> weight_at(outputs, 1);
  for (size_t i = 0; i < weights.size(); ++i) weight_at[static_cast<size_t>(indexes[i])] = weights[i];
  for (size_t i = 0; i < counts.size(); ++i) counts[i] = weigh(mode, counts[i], weight_at[i % outputs]);
  context.store(0, out, counts);
}

void reference_tfidf_vectorizer(ReferenceContext& context) {
  const auto strings = context.attribute<std::vector<std::string>>("pool_strings", {});
  if (context.in(0).type() == ElementType::kString)
    return vectorize<std::string>(context, strings, context.in(0).values<std::string>());
  const auto words = context.ints(0);
  vectorize<int64_t>(context, context.attribute<std::vector<int64_t>>("pool_int64s", {}), words.span());
}

}  // namespace

void register_tfidf_vectorizer(OpRegistry& registry) {
  registry.add({.op = "TfIdfVectorizer",
                .operands = {Role::kData},
                .attributes = {{"max_gram_length", "INT"},
                               {"max_skip_count", "INT"},
                               {"min_gram_length", "INT"},
                               {"mode", "STRING"},
                               {"ngram_counts", "INTS"},
                               {"ngram_indexes", "INTS"},
                               {"pool_int64s", "INTS"},
                               {"pool_strings", "STRINGS"},
                               {"weights", "FLOATS"}},
                .precision = PrecisionClass::kUntried,
                .since = kNoNarrowFloats,
                .infer = infer_tfidf_vectorizer,
                .reference = reference_tfidf_vectorizer});
}

}  // namespace vernier::ops
