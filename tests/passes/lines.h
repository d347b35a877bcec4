// Models as lists of lines, for tests of passes that recognise patterns.
#pragma once

#include "passes/rewriting.h"

namespace vernier {

inline constexpr const char* kScalars = R"(
  const %one = f32[] hex"0000803f"
  const %two = f32[] hex"00000040"
  const %three = f32[] hex"00004040"
  const %six = f32[] hex"0000c040"
  const %zero = f32[] hex"00000000"
  const %half = f32[] hex"0000003f"
  const %minus_half = f32[] hex"000000bf"
  const %sixth = f32[] hex"abaa2a3e"
  const %root_two = f32[] hex"f304b53f"
  const %cubic = f32[] hex"1327373d"
  const %slope = f32[] hex"2a424c3f"
  const %epsilon = f32[] hex"acc52737"
  const %last = i64[1] hex"ffffffffffffffff"
)";

struct Line {
  std::string output, op, inputs, attributes = "";
  int version = 18;
};

inline Model model_of(const std::string& inputs, const std::vector<Line>& lines,
                      const std::string& output = "%y") {
  std::string text = fmt::format("graph \"g\" ({}) -> ({}) {{{}", inputs, output, kScalars);
  for (const Line& line : lines) {
    text += fmt::format("  %{}: f32[*] = {}({}) {} version {} @\"{}\" from [\"{}\"]\n", line.output, line.op,
                        line.inputs, line.attributes.empty() ? "" : "{" + line.attributes + "}", line.version,
                        line.output, line.output);
  }
  return parse_graph(text + "}");
}

}  // namespace vernier
