#include "vernier/backends/cpu/epilogue/integer_epilogue.h"

#include <cmath>

namespace vernier::cpu {

namespace {

using Kind = IntegerStep::Kind;
using StageKind = QuantizedStage::Kind;

constexpr size_t kBlock = 32;  // columns of which all can be read
constexpr double kMostSum = 0x1p31 - 1;
constexpr double kMostProduct = 255.0 * 128;  // of two int8 values, a zero point taken off the first

std::pair<double, double> range_of(ElementType type) {
  return type == ElementType::kInt8 ? std::pair(-128.0, 127.0) : std::pair(0.0, 255.0);
}

double scale_of(const QuantizedProduct& product, size_t column) {
  return product.a_affine.scale * product.b_scales[product.b_scales.size() == 1 ? 0 : column];
}

}  // namespace

// Puts the steps together. Numbers count in units; they change to those of what comes next where that costs
// nothing.
class IntegerChain {
 public:
  IntegerChain(const QuantizedProduct& product, const KernelRequest& request) : product_(product) {
    made_.stored_ = request.out().element;
    unit_ = unit_after(0);
  }

  IntegerEpilogue make(const IntegerSums& sums) {
    for (size_t column = 0; column < sums.weights.size(); ++column) begin(column, sums);
    for (size_t i = 0; i < product_.stages.size(); ++i) append(product_.stages[i], i);
    finish();
    const size_t whole = sums.weights.size() + kBlock;  // a group may begin anywhere
    made_.initial_.resize(whole);
    made_.scales_.resize(whole);
    made_.offsets_.resize(whole);
    return std::move(made_);
  }

 private:
  // Gives the unit of the integers which are made next, from a stage on.
  double unit_after(size_t stage) const {
    for (size_t i = stage; i < product_.stages.size(); ++i) {
      if (product_.stages[i].kind == StageKind::kRequantize) return product_.stages[i].affine.scale;
    }
    return product_.result ? product_.result->scale : 1;
  }

  // Start, scale and offset of a column.
  void begin(size_t column, const IntegerSums& sums) {
    const double unit = scale_of(product_, column);
    const double moved = -product_.a_affine.zero_point * static_cast<double>(sums.weights[column]);
    const double bias = product_.bias.empty() ? 0 : product_.bias[column] / unit;
    // A bias of whole units is meant to be one: its scale is a product that was rounded to FLOAT.
    const double whole = std::nearbyint(bias);
    const double room = kMostSum - kMostProduct * static_cast<double>(sums.depth);
    const bool is_whole = std::abs(bias - whole) <= 1e-6 * std::abs(whole) && std::abs(whole) <= room;
    // int32 wraps: what the zero point adds is taken off again.
    made_.initial_.push_back(static_cast<int32_t>(
        static_cast<uint32_t>(static_cast<int64_t>(moved) + static_cast<int64_t>(is_whole ? whole : 0))));
    made_.scales_.push_back(static_cast<float>(unit / unit_));
    made_.offsets_.push_back(static_cast<float>(is_whole ? 0 : bias * unit / unit_));
    most_ = std::max(most_, (kMostSum + std::abs(bias)) * unit / unit_);
  }

  IntegerStep& add(Kind kind, double alpha, double beta = 0) {
    made_.steps_.push_back({kind, static_cast<float>(alpha), static_cast<float>(beta)});
    return made_.steps_.back();
  }

  void append(const QuantizedStage& stage, size_t index) {
    switch (stage.kind) {
      case StageKind::kRelu:
        if (stage.alpha == 0)
          add(Kind::kClamp, 0, HUGE_VAL);
        else
          add(Kind::kLeaky, stage.alpha);
        most_ *= std::max(1.0, std::abs(static_cast<double>(stage.alpha)));
        return;
      case StageKind::kClip: add(Kind::kClamp, stage.alpha / unit_, stage.beta / unit_); return;
      case StageKind::kAddTensor: return add_tensor(stage, index);
      case StageKind::kAddVector: return add_vector(stage);
      case StageKind::kRequantize: return requantize(stage);
    }
  }

  void add_tensor(const QuantizedStage& stage, size_t index) {
    const auto& [scale, zero_point] = stage.affine;
    const double unit = unit_after(index);
    auto& step = add(Kind::kAddRows, unit_ / unit, -zero_point * scale / unit);
    step.gamma = static_cast<float>(scale / unit);
    step.operand = static_cast<int>(stage.operand);
    most_ = most_ * unit_ / unit + 383 * scale / unit;
    unit_ = unit;
  }

  void add_vector(const QuantizedStage& stage) {
    auto& step = add(Kind::kAddColumns, 0);
    double most = 0;
    for (const double value : stage.vector) {
      step.columns.push_back(static_cast<float>(value / unit_));
      most = std::max(most, std::abs(value / unit_));
    }
    most_ += most;
  }

  void in_units_of(double unit) {
    if (unit != unit_) add(Kind::kScale, unit_ / unit);
    most_ *= unit_ / unit;
    unit_ = unit;
  }

  void requantize(const QuantizedStage& stage) {
    in_units_of(stage.affine.scale);
    const auto [low, high] = range_of(stage.type);
    add(Kind::kRound, low - stage.affine.zero_point, high - stage.affine.zero_point);
    most_ = 383;
  }

  void finish() {
    in_units_of(unit_after(product_.stages.size()));
    if (!product_.result) return;
    const double zero_point = product_.result->zero_point;
    std::pair<double, double> range = range_of(made_.stored_);
    // Bounds of numbers are bounds of what they are rounded to.
    while (!made_.steps_.empty() && made_.steps_.back().kind == Kind::kClamp) {
      const auto bound = [&](float of) {
        return std::clamp(std::nearbyint(static_cast<double>(of)) + zero_point, range.first, range.second);
      };
      const double least = bound(made_.steps_.back().alpha), most = bound(made_.steps_.back().beta);
      range = {least, most};
      made_.steps_.pop_back();
    }
    constexpr double kConverts = 1 << 30;  // to int32, and the zero point can be added
    if (!(most_ < kConverts)) add(Kind::kClamp, -kConverts, kConverts);
    made_.zero_point_ = static_cast<int32_t>(zero_point);
    made_.low_ = static_cast<int32_t>(range.first);
    made_.high_ = static_cast<int32_t>(range.second);
  }

  const QuantizedProduct& product_;
  IntegerEpilogue made_;
  double unit_ = 1, most_ = 0;  // the largest number that can come
};

std::optional<IntegerEpilogue> IntegerEpilogue::of(const QuantizedProduct& product,
                                                   const KernelRequest& request, const IntegerSums& sums,
                                                   size_t columns_axis, std::string& reason) {
  const Operand& y = request.out();
  reason = "an operand of what follows does not lie row by row";
  auto epilogue = IntegerChain(product, request).make(sums);
  if (epilogue.steps_.size() > kMostSteps || !(is_8bit(y.element) || y.element == ElementType::kFloat))
    return std::nullopt;
  epilogue.columns_ = y.dims[columns_axis];
  for (IntegerStep& step : epilogue.steps_) {
    if (step.operand < 0) continue;
    const Operand& operand = request.in(static_cast<size_t>(step.operand));
    if (!is_8bit(operand.element) || operand.dims != y.dims || operand.layout != y.layout)
      return std::nullopt;
    step.element = operand.element;
  }
  return epilogue;
}

std::optional<PlainRequantization> IntegerEpilogue::as_plain() const {
  if (!steps_.empty() || !is_8bit(stored_)) return std::nullopt;
  return PlainRequantization{
      initial_.data(), scales_.data(), offsets_.data(), stored_, zero_point_, low_, high_};
}

bool IntegerEpilogue::reads(int input) const {
  return std::any_of(steps_.begin(), steps_.end(),
                     [&](const IntegerStep& step) { return step.operand == input; });
}

// A block is written when all that is added to it has been read.
int IntegerEpilogue::in_place() const {
  int input = -1;
  for (const IntegerStep& step : steps_) {
    if (step.operand >= 0 && is_8bit(stored_)) input = step.operand;
  }
  return input;
}

StepOperands IntegerEpilogue::operands_at(const KernelArguments& arguments, int64_t row,
                                          int64_t column) const {
  StepOperands operands{};
  for (size_t i = 0; i < steps_.size(); ++i) {
    const IntegerStep& step = steps_[i];
    if (step.operand >= 0)
      operands[i] = static_cast<const std::byte*>(arguments.inputs[step.operand]) + row * columns_ + column;
    else if (!step.columns.empty())
      operands[i] = step.columns.data() + column;
  }
  return operands;
}

IntegerRows IntegerEpilogue::rows_of(const KernelArguments& arguments, const Block& block) const {
  const int64_t offset = block.row * columns_ + block.column;
  auto* to =
      static_cast<std::byte*>(arguments.outputs[0]) + offset * static_cast<int64_t>(element_size(stored_));
  return {block.sums,
          block.stride,
          block.rows,
          block.columns,
          scales_.data() + block.column,
          offsets_.data() + block.column,
          to,
          stored_,
          columns_,
          zero_point_,
          low_,
          high_};
}

std::optional<Int8Epilogue> IntegerEpilogue::as_int8_epilogue(const KernelArguments& arguments,
                                                              const Block& block) const {
  return Int8Epilogue::of(steps_, operands_at(arguments, block.row, block.column), rows_of(arguments, block));
}

void IntegerEpilogue::finish(const KernelArguments& arguments, const Block& block) const {
  finish_integers(steps_, operands_at(arguments, block.row, block.column), rows_of(arguments, block));
}

}  // namespace vernier::cpu
