#include "vernier/backends/cpu/recurrent/recurrent_run.h"

#include <cstring>

#include "vernier/backends/cpu/gemm/tile_block.h"
#include "vernier/backends/cpu/gemm/tile_contraction.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/recurrent/recurrent_weights.h"

namespace vernier::cpu {

namespace {

constexpr double kThreadWork = kSerialWork / 2;

int64_t grain(double work) {
  return static_cast<int64_t>(kThreadWork / std::max(1.0, work)) + 1;
}

class RecurrentKernel : public Kernel {
 public:
  RecurrentKernel(RecurrentPlan plan, const RecurrentConstants& constants, RecurrentTiles tiles)
      : plan_(std::move(plan)),
        weights_(plan_),
        tiles_(std::move(tiles)),
        sequences_((plan_.batch + plan_.chunks - 1) / plan_.chunks) {
    constexpr const char* kNames[] = {"cpu:rnn", "cpu:gru", "cpu:lstm"};
    name = std::string(kNames[static_cast<size_t>(plan_.kind)]) + (plan_.ids >= 0 ? ":table" : "");
    if (!tiles_.tactic.empty()) name += ":" + tiles_.tactic;
    contract = float_contract(plan_.element);
    contract.approximate = true;
    if (tiles_.tactic == kTwoTerms) split_operands(kTwoTermTiles, contract);
    if (tiles_.tactic == kThreeTerms) split_operands(kThreeTermTiles, contract);
    if (constants.input_weights != nullptr && constants.recurrent_weights != nullptr &&
        (constants.bias != nullptr || plan_.bias < 0)) {
      packed_.resize(static_cast<size_t>(plan_.directions() * weights_.size()));
      std::vector<float> wide(static_cast<size_t>(wide_weights(plan_)));
      const void* bias = constants.bias == nullptr ? nullptr : constants.bias->raw();
      pack_recurrent(plan_, constants.input_weights->raw(), constants.recurrent_weights->raw(), bias,
                     wide.data(), packed_.data());
    }
    if (plan_.ids >= 0)
      table_ = project_table(plan_, static_cast<const float*>(constants.table->raw()), packed_.data());
    scratch_bytes = sizeof(float) * static_cast<size_t>(areas(nullptr).size);
  }

  void run(const KernelArguments& arguments) const override {
    const auto* lengths = lengths_of(plan_, arguments);
    const Areas area = areas(reinterpret_cast<float*>(arguments.scratch));
    const float* weights = packed_.data();
    if (packed_.empty()) {
      const void* bias = plan_.bias < 0 ? nullptr : arguments.inputs[plan_.bias];
      pack_recurrent(plan_, arguments.inputs[1], arguments.inputs[2], bias, area.wide, area.weights);
      weights = area.weights;
    }
    project(arguments, weights, area);
    if (plan_.outputs[0] >= 0 && lengths != nullptr)
      std::memset(
          arguments.outputs[plan_.outputs[0]], 0,
          static_cast<size_t>(rows() * plan_.directions() * plan_.hidden) * element_size(plan_.element));
    const double work =
        2.0 * static_cast<double>(plan_.steps * sequences_) * static_cast<double>(weights_.recurrent.size());
    parallel(plan_.directions() * plan_.chunks, grain(work), [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task) {
        Walk walk{*this, arguments, lengths, area, weights, task / plan_.chunks, task % plan_.chunks};
        walk.run(task);
      }
    });
  }

  void prepare() const override { tiles_.prepare(); }
  bool is_prepared() const override { return tiles_.are_prepared(); }

 private:
  int64_t rows() const { return plan_.steps * plan_.batch; }
  int64_t first_of(int64_t chunk) const { return plan_.batch * chunk / plan_.chunks; }
  struct Areas {
    float *weights, *wide, *x, *projected, *peepholes, *product, *linear, *hidden, *cell, *terms,
        *state_terms;
    int32_t* words;
    int64_t size;  // of all together
  };
  Areas areas(float* scratch) const {
    const int64_t d = plan_.directions(), h = plan_.hidden, tasks = d * plan_.chunks,
                  states = tasks * sequences_;
    const bool narrow = is_narrow(plan_.element);
    Areas result{};
    const auto take = [&](auto*& area, int64_t count) {
      constexpr int64_t kLine = 16;  // floats of a cache line
      area = scratch == nullptr ? nullptr : reinterpret_cast<decltype(+area)>(scratch + result.size);
      result.size += (count + kLine - 1) / kLine * kLine;
    };
    take(result.weights, packed_.empty() ? d * weights_.size() : 0);
    take(result.wide, packed_.empty() ? wide_weights(plan_) : 0);
    take(result.words, table_.empty() ? 0 : rows());
    take(result.x, narrow ? rows() * plan_.inputs : 0);
    take(result.projected, table_.empty() ? d * rows() * weights_.input.row_size() : 0);
    take(result.peepholes, narrow ? d * 3 * h : 0);
    take(result.product, states * weights_.recurrent.row_size());
    take(result.linear, states * weights_.candidate.row_size());
    take(result.hidden, states * h);
    take(result.cell, states * h);  // of a GRU: the state that is reset
    take(result.terms, tiles_.input.empty() ? 0 : partitions() * tiles_.area(tiles_.input));
    take(result.state_terms, tasks * tiles_.area(tiles_.recurrent));
    return result;
  }

  int64_t blocks() const {
    const int64_t block = tiles_.input[0].capacity();
    return plan_.directions() * ((rows() + block - 1) / block);
  }
  int64_t partitions() const { return std::min(blocks(), threads_); }

  // Computes what the inputs contribute to all steps of all sequences.
  void project(const KernelArguments& arguments, const float* weights, const Areas& area) const {
    if (plan_.ids >= 0) return find_words(plan_, arguments.inputs[plan_.ids], area.words);
    const float* x = load_floats(plan_.element, arguments.inputs[0], 0, rows() * plan_.inputs, area.x);
    const PackedShape& shape = weights_.input;
    if (!tiles_.input.empty()) return project_on_tiles(x, weights, area);
    const double work = 2.0 * static_cast<double>(rows() * plan_.inputs * panel_columns());
    parallel(plan_.directions() * shape.panels(), grain(work), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t d = i / shape.panels(), panel = i % shape.panels();
        const float* own = weights + d * weights_.size();
        multiply_panels({x, plan_.inputs, rows(), own, own + weights_.bias_at(),
                         area.projected + d * rows() * shape.row_size(), shape.row_size()},
                        shape, panel, panel + 1);
      }
    });
  }

  const float* projected(const Areas& area, int64_t direction, int64_t row) const {
    const int64_t size = weights_.input.row_size();
    return plan_.ids < 0 ? area.projected + (direction * rows() + row) * size
                         : table_.data() + (direction * plan_.words + area.words[row]) * size;
  }

  // Rows in blocks, which are dealt out.
  void project_on_tiles(const float* x, const float* weights, const Areas& area) const {
    const int64_t of_direction = blocks() / plan_.directions(), width = weights_.input.row_size();
    parallel(partitions(), 1, [&](int64_t begin, int64_t end) {
      const TileScope scope;
      auto* terms = reinterpret_cast<uint16_t*>(area.terms + begin * tiles_.area(tiles_.input));
      for (int64_t i = blocks() * begin / partitions(); i < blocks() * end / partitions(); ++i) {
        const int64_t d = i / of_direction;
        const TileRows& product = tiles_.input[static_cast<size_t>(d)];
        const int64_t row = i % of_direction * product.capacity();
        product.multiply(x + row * plan_.inputs, std::min(product.capacity(), rows() - row),
                         weights + d * weights_.size() + weights_.bias_at(),
                         area.projected + (d * rows() + row) * width, width, terms);
      }
    });
  }

  // A few sequences through time, in one direction.
  struct Walk {
    const RecurrentKernel& kernel;
    const KernelArguments& arguments;
    const int32_t* lengths;
    const Areas& area;
    const float* weights;
    int64_t direction, chunk;
    int64_t first = kernel.first_of(chunk);  // sequence
    float *product = nullptr, *linear = nullptr, *hidden = nullptr, *cell = nullptr;
    const float* peepholes = nullptr;
    uint16_t* terms = nullptr;

    const RecurrentPlan& plan() const { return kernel.plan_; }
    const DirectionWeights& packed() const { return kernel.weights_; }
    int64_t count() const { return kernel.first_of(chunk + 1) - first; }
    int64_t length(int64_t s) const { return lengths == nullptr ? plan().steps : lengths[first + s]; }

    void run(int64_t task) {
      const int64_t h = plan().hidden, state = task * kernel.sequences_;
      product = area.product + state * packed().recurrent.row_size();
      linear = area.linear + state * packed().candidate.row_size();
      hidden = area.hidden + state * h;
      cell = area.cell + state * h;
      terms =
          reinterpret_cast<uint16_t*>(area.state_terms + task * kernel.tiles_.area(kernel.tiles_.recurrent));
      if (plan().peepholes >= 0) {
        float* wide = area.peepholes + (is_narrow(plan().element) ? direction * 3 * h : 0);
        peepholes =
            load_floats(plan().element, arguments.inputs[plan().peepholes], direction * 3 * h, 3 * h, wide);
      }
      load_state(plan().initial_hidden, hidden);
      if (plan().kind == CellKind::kLstm) load_state(plan().initial_cell, cell);
      int64_t steps = 0;
      for (int64_t s = 0; s < count(); ++s) steps = std::max(steps, length(s));
      for (int64_t done = 0; done < steps; ++done) advance(done);
      for (int64_t s = 0; s < count(); ++s) {
        store(plan().outputs[1], state_at(s), hidden + s * h);
        store(plan().outputs[2], state_at(s), cell + s * h);
      }
    }

    int64_t state_at(int64_t s) const {
      const int64_t d = plan().directions(), sequence = first + s;
      return plan().hidden *
             (plan().batch_first ? sequence * d + direction : direction * plan().batch + sequence);
    }

    void load_state(int input, float* state) const {
      const int64_t h = plan().hidden;
      if (input < 0) return static_cast<void>(std::fill_n(state, count() * h, 0.0F));
      for (int64_t s = 0; s < count(); ++s) {
        const float* from =
            load_floats(plan().element, arguments.inputs[input], state_at(s), h, state + s * h);
        if (from != state + s * h) std::copy_n(from, h, state + s * h);
      }
    }

    void store(int output, int64_t at, const float* state) const {
      if (output < 0) return;
      void* to = arguments.outputs[output];
      if (plan().element == ElementType::kFloat)
        std::copy_n(state, plan().hidden, static_cast<float*>(to) + at);
      else
        store_floats(plan().element, state, plan().hidden, to, at);
    }

    void multiply(const float* x, int64_t at, const PackedShape& shape, const std::vector<TileRows>& tiles,
                  float* y) const {
      if (!tiles.empty()) {
        const TileScope scope;
        return tiles[static_cast<size_t>(direction)].multiply(x, count(), nullptr, y, shape.row_size(),
                                                              terms);
      }
      const PanelProduct given{
          x, plan().hidden,   count(), weights + direction * packed().size() + at, nullptr,
          y, shape.row_size()};
      const double work = 2.0 * static_cast<double>(count() * shape.depth * panel_columns());
      parallel(shape.panels(), grain(work),
               [&](int64_t begin, int64_t end) { multiply_panels(given, shape, begin, end); });
    }

    void advance(int64_t done) {
      const RecurrentPlan& p = plan();
      const int64_t h = p.hidden;
      const bool backward = p.backward[static_cast<size_t>(direction)];
      std::array<CellRow, kTileSequences> rows;
      std::array<int64_t, kTileSequences> times{};
      multiply(hidden, packed().recurrent_at(), packed().recurrent, kernel.tiles_.recurrent, product);
      for (int64_t s = 0; s < count(); ++s) {
        const int64_t time = backward ? length(s) - 1 - done : done, sequence = first + s;
        const int64_t row = p.batch_first ? sequence * p.steps + time : time * p.batch + sequence;
        times[static_cast<size_t>(s)] = done < length(s) ? time : -1;
        rows[static_cast<size_t>(s)] = {h, kernel.projected(area, direction, row),
                                        product + s * packed().recurrent.row_size(), hidden + s * h,
                                        p.cell_activations[static_cast<size_t>(direction)].data()};
      }
      // Sequences that have ended keep their state.
      const auto each = [&](const auto& body) {
        for (int64_t s = 0; s < count(); ++s) {
          if (times[static_cast<size_t>(s)] >= 0) body(rows[static_cast<size_t>(s)], s);
        }
      };
      if (p.kind == CellKind::kRnn) each([&](const CellRow& row, int64_t) { rnn_cell(row); });
      if (p.kind == CellKind::kLstm)
        each([&](const CellRow& row, int64_t s) { lstm_cell(row, peepholes, p.input_forget, cell + s * h); });
      if (p.kind == CellKind::kGru) advance_gru(each);
      each([&](const CellRow& row, int64_t s) {
        const int64_t t = times[static_cast<size_t>(s)], d = p.directions(), sequence = first + s;
        store(p.outputs[0],
              h * (p.batch_first ? (sequence * p.steps + t) * d + direction
                                 : (t * d + direction) * p.batch + sequence),
              row.hidden);
      });
    }

    template <class Each>
    void advance_gru(const Each& each) const {
      const int64_t h = plan().hidden, stride = packed().candidate.row_size();
      if (plan().linear_before_reset) {
        const float* late = weights + direction * packed().size() + packed().late_bias_at();
        return each([&](const CellRow& row, int64_t) {
          gru_gates(row, late, nullptr);
          gru_cell(row, row.product + 2 * h);
        });
      }
      each([&](const CellRow& row, int64_t s) { gru_gates(row, nullptr, cell + s * h); });
      multiply(cell, packed().candidate_at(), packed().candidate, kernel.tiles_.candidate, linear);
      each([&](const CellRow& row, int64_t s) { gru_cell(row, linear + s * stride); });
    }
  };

  RecurrentPlan plan_;
  DirectionWeights weights_;
  RecurrentTiles tiles_;
  int64_t threads_ = thread_count();
  int64_t sequences_;  // of a chunk, at most
  std::vector<float> packed_, table_;
};

}  // namespace

std::unique_ptr<Kernel> make_recurrent(RecurrentPlan plan, const RecurrentConstants& constants,
                                       RecurrentTiles tiles) {
  return std::make_unique<RecurrentKernel>(std::move(plan), constants, std::move(tiles));
}

}  // namespace vernier::cpu
