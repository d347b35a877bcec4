// Reports what `bench` measured, as text and as JSON.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace vernier {

// Holds the part of a run that reference semantics take, because there is no kernel: see fallback_time.
struct FallbackShare {
  size_t steps = 0;
  double share = 0;  // of the time of all steps, 0 to 1; of no use if there are no steps
};

// From this share on reports warn.
inline constexpr double kMostFallback = 0.05;

// One line, or two with the warning, each after `indent` spaces.
std::string fallback_text(const FallbackShare& fallback, size_t indent);

struct BenchReport {
  struct Latency {
    double p50 = 0, p90 = 0, p95 = 0, p99 = 0, mean = 0, min = 0, max = 0;  // milliseconds
    size_t runs = 0;
  };
  struct Versus {
    std::string runner;
    Latency latency;
    double ratio = 0, low = 0, high = 0;  // how many times as long it takes; the interval holds 95 %
    std::string failure = {};             // why it was not timed
  };
  struct Step {
    std::string kernel;
    std::vector<std::string> nodes;
    double milliseconds = 0;
    double fallback_ms = 0;  // of it, by the reference
    struct Roofline {
      double flops = 0, bytes = 0;
      double floor_ms = 0;  // at the machine's peak
      std::string limit;    // "compute" or "memory"
    };
    std::optional<Roofline> roofline = {};  // nothing where sizes are known only when it runs
    std::vector<Step> inside = {};          // steps in the regions of control flow, all trips together
  };
  // Holds what the machine was measured to do at best.
  struct Peak {
    std::map<std::string, double> flops_per_s;           // by type
    std::vector<std::pair<double, double>> bytes_per_s;  // by the bytes that are moved
  };
  // Reports a decoder with caches: a prompt, and tokens behind it.
  struct DecodingPass {
    double prompt_ms = 0, tokens_per_s = 0;
    Latency token;
  };
  struct Decoding {
    int64_t prompt = 0, tokens = 0;
    size_t caches = 0, appended = 0;  // those of them in which new rows are written in place
    DecodingPass first, again;        // with sizes that the engine has not seen, and once more
  };
  struct Memory {
    size_t weights = 0, arena = 0, peak_rss = 0;  // bytes
  };

  std::string model;
  std::map<std::string, std::string> options, environment;
  std::string sample;
  std::string device = "cpu";  // that the engine prefers
  Latency latency;
  double throughput_per_s = 0;
  size_t sessions = 1;
  double build_s = 0;             // with the plan; 0 for an engine file
  std::optional<double> load_ms;  // of an engine file
  double first_run_ms = 0;        // with the plan, where there is none yet
  Memory memory;
  std::vector<Versus> versus;
  std::vector<Step> steps;  // with --profile
  size_t profile_runs = 0;  // that the times of the steps are medians of
  double watched_ms = 0, unwatched_ms = 0;
  FallbackShare fallback;
  Peak peak;
  std::optional<Decoding> decoding;  // with --decode
};

std::string bench_text(const BenchReport& report, size_t max_steps);
// Schema "vernier-bench", version 1.
std::string bench_json(const BenchReport& report);

}  // namespace vernier
