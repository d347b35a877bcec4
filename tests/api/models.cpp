#include "api/models.h"

#include <algorithm>

#include "vernier/backends/cpu/parallel.h"
#include "vernier/base/file.h"
#include "vernier/compile/compiler.h"
#include "vernier/engine/file/engine_io.h"
#include "vernier/ir/text.h"
#include "vernier/onnx/export.h"
#include "vernier/onnx/import.h"
#include "vernier/ops/infer_graph.h"

namespace vernier::test {

ModelFile::ModelFile(const std::string& graph) {
  const auto folder = std::make_shared<TemporaryFolder>();
  Model model = parse_model("model ir=10 opset \"\" 24 {\n" + graph + "\n}");
  ops::infer_types(*model.graph);
  path_ = folder->path() / "model.onnx";
  export_model(model, path_);
  folder_ = folder;
}

ModelFile dense_model() {
  return ModelFile(R"(graph "g" (%x: f32[N, 3]) -> (%y) {
    const %w = f32[3, 2] hex"0000803f000000400000404000008040000000bf0000003f"
    %p: f32[*] = MatMul(%x, %w) version 24 @"p" from ["p"]
    %y: f32[*] = Relu(%p) version 24 @"r" from ["r"]
  })");
}

ModelFile depthwise_model() {
  std::string ones;
  for (int i = 0; i < 16 * 9; ++i) ones += "0000803f";
  return ModelFile(R"(graph "g" (%x: f32[1, 16, 8, 8]) -> (%y) {
    const %w = f32[16, 1, 3, 3] hex")" +
                   ones + R"("
    %y: f32[*] = Conv(%x, %w) {group = 16} version 24 @"c" from ["c"]
  })");
}

ModelFile dense_engine() {
  const auto folder = std::make_shared<TemporaryFolder>();
  const auto path = folder->path() / "dense.engine";
  BuildOptions options;
  options.tune.level = 0;
  const ThreadLimit scope(1);
  const auto engine = compile(import_model(dense_model().path()).model, options,
                              {{ValueType::of(ElementType::kFloat, to_shape(Dims{2, 3}))}});
  save_engine(*engine, path, {});
  return {folder, path};
}

std::vector<float> dense_result(const std::vector<float>& x) {
  std::vector<float> y;
  for (size_t i = 0; i < x.size(); i += 3) {
    y.push_back(std::max(0.F, 1 * x[i] + 3 * x[i + 1] - 0.5F * x[i + 2]));
    y.push_back(std::max(0.F, 2 * x[i] + 4 * x[i + 1] + 0.5F * x[i + 2]));
  }
  return y;
}

ModelFile loop_model() {
  return ModelFile(R"(graph "g" (%s: f32[4, 4], %trips: i64[]) -> (%y) {
    const %yes = bool[] hex"01"
    %y: f32[*] = Loop(%trips, %yes, %s) version 24 @"loop" from ["loop"] regions {
      body =
      graph "body" (%i: i64[], %c: bool[], %state: f32[*]) -> (%c2, %next) {
        %c2: bool[*] = Identity(%c) version 24 @"c" from ["c"]
        %p: f32[*] = MatMul(%state, %state) version 24 @"p" from ["p"]
        %next: f32[*] = Tanh(%p) version 24 @"t" from ["t"]
      }
    }
  })");
}

ModelFile reading_model() {
  return ModelFile(R"(graph "g" (%x: f32[1, 4], %trips: i64[], %keys: f32[N, 4]) -> (%y, %grown, %where) {
    const %yes = bool[] hex"01"
    const %zero = f32[] hex"00000000"
    const %w = f32[4, 4] hex"0000003f000080be0000803f0000003e000080bf0000003f0000003e0000803e0000803e0000803f000000bf000080be0000003e000000bf0000803e0000803f"
    %y: f32[*], %grown: f32[*] = Loop(%trips, %yes, %x, %keys) version 24 @"loop" from ["loop"] regions {
      body = graph "body" (%i: i64[], %t: bool[], %v: f32[1, 4], %k: f32[m, 4]) -> (%t, %next, %more) {
        %p: f32[*] = MatMul(%v, %w) version 24 @"p" from ["p"]
        %key: f32[*] = Tanh(%p) version 24 @"key" from ["key"]
        %more: f32[*] = Concat(%k, %key) {axis = 0} version 24 @"more" from ["more"]
        %turned: f32[*] = Transpose(%more) {perm = ints[1, 0]} version 24 @"turned" from ["turned"]
        %scores: f32[*] = MatMul(%v, %turned) version 24 @"scores" from ["scores"]
        %shares: f32[*] = Softmax(%scores) {axis = 1} version 24 @"shares" from ["shares"]
        %read: f32[*] = MatMul(%shares, %more) version 24 @"read" from ["read"]
        %sum: f32[*] = ReduceSum(%read) {keepdims = 0} version 24 @"sum" from ["sum"]
        %above: bool[*] = Greater(%sum, %zero) version 24 @"above" from ["above"]
        %next: f32[*] = If(%above) version 24 @"if" from ["if"] regions {
          then_branch = graph "then" () -> (%less) {
            %less: f32[*] = Sub(%read, %key) version 24 @"less" from ["less"]
          }
          else_branch = graph "else" () -> (%turn) {
            %turn: f32[*] = Neg(%read) version 24 @"turn" from ["turn"]
          }
        }
      }
    }
    %high: f32[*] = Relu(%grown) version 24 @"high" from ["high"]
    %where: i64[*] = NonZero(%high) version 24 @"where" from ["where"]
  })");
}

ModelFile long_model(int steps) {
  std::string graph = "graph \"g\" (%x: f32[64, 64]) -> (%y) {\n";
  std::string last = "x";
  for (int i = 0; i < steps; ++i) {
    const std::string name = i + 1 == steps ? "y" : "p" + std::to_string(i);
    graph += "  %" + name + ": f32[*] = MatMul(%" + last + ", %x) version 24 @\"m" + std::to_string(i) +
             "\" from [\"m\"]\n";
    last = name;
  }
  return ModelFile(graph + "}");
}

ModelFile where_model() {
  return ModelFile(R"(graph "g" (%x: f32[N]) -> (%where) {
    %where: i64[*] = NonZero(%x) version 24 @"n" from ["n"]
  })");
}

ModelFile sequence_model() {
  return ModelFile(R"(graph "g" (%x: f32[2]) -> (%s, %y) {
    %y: f32[*] = Exp(%x) version 24 @"e" from ["e"]
    %s: seq(f32[*]) = SequenceConstruct(%x, %y) version 24 @"s" from ["s"]
  })");
}

ModelFile strings_model() {
  return ModelFile(R"(graph "g" (%x: string[N]) -> (%y) {
    %y: string[*] = StringConcat(%x, %x) version 24 @"c" from ["c"]
  })");
}

ModelFile views_model() {
  return ModelFile(R"(graph "g" (%x: f32[2, 3]) -> (%x, %v, %y, %z) {
    const %to = i64[1] hex"ffffffffffffffff"
    %y: f32[*] = Exp(%x) version 24 @"e" from ["e"]
    %v: f32[*] = Reshape(%y, %to) version 24 @"v" from ["v"]
    %z: f32[*] = Neg(%y) version 24 @"n" from ["n"]
  })");
}

ModelFile default_model() {
  return ModelFile(R"(graph "g" (%x: f32[2], %b: f32[2]) -> (%y) {
    const %b = f32[2] hex"0000803f00000040"
    %y: f32[*] = Add(%x, %b) version 24 @"a" from ["a"]
  })");
}

}  // namespace vernier::test
