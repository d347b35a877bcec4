// The instructions on the processor's tiles (AMX), by the names of <immintrin.h>. With
// VERNIER_EMULATED_INSTRUCTIONS they are software, as those of vector_instructions.h.
//
// The numbers of tiles are part of the instructions, so they are literals wherever these are used.
#pragma once

#include "vernier/backends/cpu/vector_instructions.h"

#ifndef VERNIER_EMULATED_INSTRUCTIONS

#define VERNIER_TILES VERNIER_TARGET("amx-tile,amx-bf16,amx-int8")

#else

#include <cstdint>

#define VERNIER_TILES

namespace vernier::cpu {

// Emulates tiles of 64 bytes in each of 16 rows, whatever a configuration says. Each thread has its own;
// using them outside of a configuration ends the process, as it does on processors.
void emulated_tile_configure(bool configured);
void emulated_tile_zero(int tile);
void emulated_tile_load(int tile, const void* from, int64_t stride);
void emulated_tile_store(int tile, void* to, int64_t stride);
void emulated_tile_bf16(int sums, int rows, int weights);
void emulated_tile_unsigned(int sums, int rows, int weights);
void emulated_tile_signed(int sums, int rows, int weights);

}  // namespace vernier::cpu

#undef _tile_loadconfig
#undef _tile_release
#undef _tile_zero
#undef _tile_loadd
#undef _tile_stored
#undef _tile_dpbf16ps
#undef _tile_dpbusd
#undef _tile_dpbssd
#define _tile_loadconfig(configuration) (static_cast<void>(configuration), emulated_tile_configure(true))
#define _tile_release() emulated_tile_configure(false)
#define _tile_zero emulated_tile_zero
#define _tile_loadd emulated_tile_load
#define _tile_stored emulated_tile_store
#define _tile_dpbf16ps emulated_tile_bf16
#define _tile_dpbusd emulated_tile_unsigned
#define _tile_dpbssd emulated_tile_signed

#endif
