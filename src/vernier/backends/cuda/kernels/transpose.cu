// Copies a box whose last two axes change places: the last of the source is the last but one of the target. Tiles go
// through shared memory, so that reads and writes are both of neighbours. T, RANK and IDX as in copy.cu.
extern "C" __global__ void run(const CopyParameters p) {
  constexpr int kTile = 32, kRows = 8;
  __shared__ T tile[kTile][kTile + 1];
  const IDX rows = (IDX)p.sizes[RANK - 2], columns = (IDX)p.sizes[RANK - 1];
  const IDX row_tiles = (rows + kTile - 1) / kTile, column_tiles = (columns + kTile - 1) / kTile;
  IDX rest = (IDX)blockIdx.x;
  const IDX column = rest % column_tiles * kTile;
  rest /= column_tiles;
  const IDX row = rest % row_tiles * kTile;
  rest /= row_tiles;
  i64 from = p.from_offset, to = p.to_offset;
#pragma unroll
  for (int axis = RANK - 3; axis >= 0; --axis) {
    const IDX size = (IDX)p.sizes[axis];
    const IDX at = axis == 0 ? rest : rest % size;
    rest /= size;
    from += at * p.from_steps[axis];
    to += at * p.to_steps[axis];
  }
  const int x = threadIdx.x % kTile, y = threadIdx.x / kTile;
  for (int i = y; i < kTile; i += kRows) {
    if (column + i < columns && row + x < rows)
      tile[i][x] = ((const T*)p.from)[from + (column + i) * p.from_steps[RANK - 1] + (row + x) * p.from_steps[RANK - 2]];
  }
  __syncthreads();
  for (int i = y; i < kTile; i += kRows) {
    if (row + i < rows && column + x < columns)
      ((T*)p.to)[to + (row + i) * p.to_steps[RANK - 2] + (column + x) * p.to_steps[RANK - 1]] = tile[x][i];
  }
}
