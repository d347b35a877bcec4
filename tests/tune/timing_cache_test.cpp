#include "vernier/tune/timing_cache.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <thread>
#include <vector>

#include "vernier/base/error.h"
#include "vernier/base/file.h"

namespace vernier {
namespace {

TEST(TimingCache, KeepsWhatOtherDevicesTook) {
  TemporaryFolder folder;
  const auto path = folder.path() / "times.json";
  TimingCache a("a");
  a.load(path);  // nothing there yet
  a.put("conv", TimingCache::Times{{"", 0.5}});
  a.put("conv", 7,
        TimingCache::Verdicts{{"", {.error = 1e-7}}, {"winograd", {HUGE_VAL, HUGE_VAL, "far off"}}});
  a.put("conv", 8, TimingCache::Verdicts{{"winograd", {.fault = "no kernel", .refused = true}}});
  a.save(path);
  TimingCache b("b");
  b.load(path);
  EXPECT_TRUE(b.times("conv").empty());
  EXPECT_TRUE(b.verdicts("conv", 7).empty());
  b.put("conv", TimingCache::Times{{"", 2}});
  b.save(path);
  TimingCache again("a");
  again.load(path);
  EXPECT_EQ(again.times("conv").at(""), 0.5);
  EXPECT_EQ(again.size(), 1U);
  EXPECT_EQ(again.verdicts("conv", 7).at("").error, 1e-7);
  EXPECT_TRUE(again.verdicts("conv", 7).at("").may_be_used());
  EXPECT_EQ(again.verdicts("conv", 7).at("winograd").fault, "far off");
  EXPECT_EQ(again.verdicts("conv", 7).at("winograd").deviation, HUGE_VAL);
  EXPECT_FALSE(again.verdicts("conv", 7).at("winograd").may_be_used());
  EXPECT_FALSE(again.verdicts("conv", 7).at("winograd").refused);
  EXPECT_TRUE(again.verdicts("conv", 8).at("winograd").refused);
  EXPECT_TRUE(again.verdicts("conv", 9).empty());  // of other weights nothing is known
}

// A kernel that other bounds called wrong may be right by these, and the reverse.
TEST(TimingCache, VerdictsByOtherBoundsAreForgotten) {
  TemporaryFolder folder;
  const auto path = folder.path() / "times.json";
  TimingCache written("a");
  written.put("conv", TimingCache::Times{{"", 0.5}});
  written.put("conv", 7, TimingCache::Verdicts{{"", {.fault = "far off"}}});
  written.save(path);
  std::string text = read_file(path);
  for (const char* bounds : {"", "\"bounds\": 1,"}) {
    const size_t begin = text.find("\"bounds\""), end = text.find(',', begin) + 1;
    std::string older = text;
    older.replace(begin, end - begin, bounds);
    std::ofstream(path) << older;
    TimingCache read("a");
    read.load(path);
    EXPECT_EQ(read.times("conv").at(""), 0.5);
    EXPECT_TRUE(read.verdicts("conv", 7).empty()) << older;
  }
}

// Builds at the same time share one.
TEST(TimingCache, WhatWasFoundStaysWhateverIsPut) {
  const auto cache = shared_timing_cache("a");
  cache->put("conv", TimingCache::Times{{"", 1}});
  const auto found = shared_timing_cache("a")->times("conv");
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        cache->put("conv", TimingCache::Times{{"", 2}});
        cache->put("conv", 1, TimingCache::Verdicts{{"", {.error = 1}}});
        cache->times("conv");
        cache->verdicts("conv", 1);
      }
    });
  }
  threads.clear();
  EXPECT_EQ(found.at(""), 1);
  EXPECT_EQ(cache->times("conv").at(""), 2);
  EXPECT_EQ(cache->verdicts("conv", 1).at("").error, 1);
  EXPECT_TRUE(shared_timing_cache("b")->times("conv").empty());
}

TEST(TimingCache, AnotherFileIsRefusedByName) {
  TemporaryFolder folder;
  const auto path = folder.path() / "times.json";
  for (const char* content : {"", "{", "[]", "{}", R"({"schema": "other", "devices": {}})",
                              R"({"schema": "vernier-timing/1", "devices": {}})",
                              R"({"schema": "vernier-timing/3", "devices": {"a": {"b": {"c": 1}}}})"}) {
    std::ofstream(path) << content;
    try {
      TimingCache("a").load(path);
      ADD_FAILURE() << content;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      EXPECT_EQ(error.file(), path);
    }
  }
}

}  // namespace
}  // namespace vernier
