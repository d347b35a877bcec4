#!/usr/bin/env bash
# Runs suites of the CUDA backend on a machine with a GPU, from what scripts/gpu packed: bash run OUT [SUITE...]
#   conformance  ONNX's backend tests
#   models       each skeleton against the reference, and its times, in the precisions of PRECISIONS (default: fp32 fp16)
#   real         the real models of real.tar.xz, on their data, in the precisions of PRECISIONS
#   files        engine files of the skeletons in fp16: how long building, loading and the first run take
#   sessions     16 threads with a session each, 10 000 runs
#   two          two GPUs: the same bits, and how much both yield
#   torch        sessions on tensors of torch, by the Python package: torch_memory.py
#   faults       what goes wrong on purpose is found at its node
#   stories      what people reported ends with the sentence that they needed
#   sanitizers   the backend tests under compute-sanitizer, one test in SAMPLE (default: 5)
# Without names: conformance models. OUT/report.txt has the rows, OUT/full.log what was printed.
set -uo pipefail
out=$(realpath -m "${1:?a folder}")
shift
[ $# -gt 0 ] || set -- conformance models
cd "$(dirname "$0")"
work=${WORK:-/tmp/vernier_gpu}
mkdir -p "$work/cases" "$out"
tar -xJf programs.tar.xz -C "$work" &
[ -d "$work/cases/node" ] || tar -xJf cases.tar.xz -C "$work/cases" --no-same-owner &
models=()
for recipe in skeletons/*/weights.json; do
  name=$(basename "$(dirname "$recipe")")
  [ -f "$work/$name/weights.bin" ] || python3 skeletons/fill_weights.py "$name" --to "$work" > /dev/null &
  models+=("$work/$name")
done
mkdir -p "$work/real"
[ ! -f real.tar.xz ] || tar -xJf real.tar.xz -C "$work/real" --no-same-owner &
wait
exec python3 suite.py --programs "$work" --cases "$work/cases" --expected expected_failures.tsv --commit "$(cat commit)" --models "${models[@]}" \
  --precisions ${PRECISIONS:-fp32 fp16} --sample "${SAMPLE:-5}" --faults faults --stories stories --real $(find "$work/real" -mindepth 1 -maxdepth 1 -type d) --out "$out" --suites "$@"
