// Rows of int8 that are normalised, and quantized again, by one kernel.
#include <gmock/gmock.h>

#include "cpu/quantized_model.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Case {
  Dims dims;
  int64_t axis = -1;
  ElementType from = kU8, to = kU8;
  bool biased = true;
};

Value* vector(Maker& make, const Dims& dims) {
  std::vector<double> values;
  for (int64_t i = 0; i < element_count(dims); ++i)
    values.push_back(static_cast<double>(i * 37 % 29 - 11) / 8);
  return make.reals(dims, values);
}

Value* normalised(Maker& make, const Case& with, const char* op, int64_t version) {
  Value* x = make.dequantize(make.input(with.from, with.dims, 1), 0.03125, 100, with.from);
  const int64_t rank = static_cast<int64_t>(with.dims.size());
  const Dims row(with.dims.begin() + (with.axis < 0 ? with.axis + rank : with.axis), with.dims.end());
  std::vector<Value*> inputs{x, vector(make, row)};
  if (with.biased) inputs.push_back(vector(make, row));
  Value* y = make.node(op, inputs, {{"axis", Attribute(with.axis)}, {"epsilon", Attribute(1e-3F)}});
  y->producer()->version = version;
  return make.quantize(y, 1.0 / 37, 77, with.to);
}

TEST(QuantizedNormalization, RowsAxesAndTypes) {
  for (const ElementType from : {kU8, kS8}) {
    for (const ElementType to : {kU8, kS8}) {
      for (const Case& with : {Case{{40, 1}}, Case{{3, 63}}, Case{{128, 768}}, Case{{2, 5, 65}},
                               Case{{2, 5, 13}, 1}, Case{{7, 4096}}}) {
        for (const bool biased : {false, true}) {
          SCOPED_TRACE(dims_text(with.dims));
          Maker make;
          Value* y = normalised(make, {with.dims, with.axis, from, to, biased}, "LayerNormalization", 17);
          EXPECT_THAT(make.run(y, "qnorm"), ElementsAre("cpu:layer_norm:int8"));
        }
        Maker make;
        Value* y = normalised(make, {with.dims, with.axis, from, to, false}, "RMSNormalization", 23);
        EXPECT_THAT(make.run(y, "qnorm"), ElementsAre("cpu:rms_norm:int8"));
      }
    }
  }
}

TEST(QuantizedNormalization, WhatDoesNotFitIsItsParts) {
  Maker make;  // a row that fills a first cache
  EXPECT_THAT(make.run(normalised(make, {{2, 4100}}, "LayerNormalization", 17), "qnorm"), IsEmpty());
}

}  // namespace
}  // namespace vernier
