#include "vernier/compare/verdict.h"

namespace vernier {

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass: return "pass";
    case Verdict::kMistrusted: return "mistrusted";
    case Verdict::kNotCompared: return "not_compared";
    case Verdict::kFail: break;
  }
  return "fail";
}

}  // namespace vernier
