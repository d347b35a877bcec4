// Files of ranges: Vernier's own, and the caches of TensorRT and ONNX Runtime.
#pragma once

#include <filesystem>

#include "vernier/precision/calibration.h"

namespace vernier {

// Reads, whichever the file is:
//  - scales.json (parse_ranges);
//  - a calibration cache of TensorRT: a line TRT-8601-EntropyCalibration2 or the like, then lines NAME: HEX,
//    where HEX are the bits of the scale as a float of 32 bits, the most significant first;
//  - calibration.cache of ONNX Runtime: lines NAME NUMBER, where NUMBER is the largest magnitude.
// In caches a scale of 0 stands for no range. What they name becomes i8 around zero. Throws bad_input that
// names file, line or tensor, and what to do.
Ranges read_ranges(const std::filesystem::path& path);
// The same for what a file holds.
Ranges parse_ranges_file(std::string_view content);

// TensorRT takes a cache for its own if the header names its version, 8601 for 8.6.1 or 101401 for 10.14.1,
// and the algorithm of the calibrator: "EntropyCalibration2", "MinMaxCalibration", …
struct CacheHeader {
  int version = 8601;
  std::string algorithm = "EntropyCalibration2";
};
// A cache for TensorRT, whose scales are symmetric: a tensor that is u8 here gets the scale of its largest
// magnitude. Throws unsupported for names that the format cannot hold and for types that are no integers.
std::string tensorrt_cache(const Scales& scales, const CacheHeader& header = {});

}  // namespace vernier
