#!/usr/bin/env bash
# Times clbench's whole networks beside other CPU runtimes, in turn, several rounds, and prints a Markdown table of ratios
# (ours / theirs: below 1 we are faster) with a line about machine, date and memory bandwidth. A runtime that the given
# Python does not have is left out, saying so.
#
# usage: tools/compare_peers.sh [--python FILE] [--models LIST] [--batches LIST] [--threads LIST] [--rounds N]
#                               [--clbench FILE] [--device "OPTIONS"]
#   --python   an interpreter with any of onnxruntime openvino ncnn torch (and torch torchvision onnx pnnx to export)
#   --device   clbench's device options for our side (default: --cpu)
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
python=python3 models=vgg16,densenet121,resnet50,mobilenet_v2 batches=1 threads=$(nproc) rounds=3
clbench=$here/build/tools/clbench device=--cpu
while [ $# -gt 0 ]; do
  case $1 in
    --python) python=$2 ;; --models) models=$2 ;; --batches) batches=$2 ;; --threads) threads=$2 ;; --rounds) rounds=$2 ;;
    --clbench) clbench=$2 ;; --device) device=$2 ;;
    *) sed -n '2,10p' "$0" >&2; exit 2 ;;
  esac
  shift 2
done
# OPENBLAS_CORETYPE, where set for old builds, halves OpenBLAS's speed; both variables only make sense together.
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
folder=$here/build/peers
mkdir -p "$folder"
peers=
for runtime in onnxruntime openvino ncnn torch; do
  if "$python" -c "import $runtime, numpy" 2>/dev/null; then peers="$peers $runtime"; else echo "left out: $python has no $runtime" >&2; fi
done
lines=$folder/lines.jsonl
: > "$lines"
for model in ${models//,/ }; do for batch in ${batches//,/ }; do for n in ${threads//,/ }; do
  for round in $(seq "$rounds"); do
    # shellcheck disable=SC2086
    "$clbench" $device --suite infer --model "$model" --batch "$batch" --threads "$n" --format json > "$folder/ours.json" || true
    "$python" - "$folder/ours.json" "$model" "$batch" "$n" >> "$lines" <<'PY'
import json, sys
data = json.load(open(sys.argv[1]))
for row in data["results"]:
    if row["suite"] == "infer":
        ok = row["status"] == "ok"
        print(json.dumps({"runtime": "pct " + row["backend"] + ("" if ok else " (" + row["status"] + ")"), "version": data["version"],
                          "model": sys.argv[2], "batch": int(sys.argv[3]), "threads": int(sys.argv[4]),
                          "ms": row["wall_ms"]["median"] if ok else None, "peak_memory_bytes": row["peak_memory_bytes"]}))
PY
    for runtime in $peers; do
      "$python" "$here/tools/peers/peer.py" "$runtime" "$model" --batch "$batch" --threads "$n" --models "$folder" >> "$lines" ||
        echo "$runtime failed on $model" >&2
    done
    [ -t 2 ] && printf '\r%s batch %s threads %s: round %s of %s   ' "$model" "$batch" "$n" "$round" "$rounds" >&2
  done
done; done; done
[ -t 2 ] && echo >&2
"$python" - "$lines" <<'PY'
import datetime, json, platform, statistics, sys, time
import numpy as np
rows = [json.loads(line) for line in open(sys.argv[1])]
cpu = next((l.split(":")[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), platform.processor())
block = np.ones(1 << 26, np.float32)
best = 0
for _ in range(5):
    start = time.perf_counter(); block.sum(); best = max(best, block.nbytes / (time.perf_counter() - start) / 1e9)
print(f"{cpu}, {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}, one thread reads {best:.1f} GB/s. Medians in ms; "
      "ratio = ours / the best other runtime of the same round, median over rounds (lowest to highest).\n")
names = list(dict.fromkeys(r["runtime"] for r in rows))
ours = [n for n in names if n.startswith("pct")]
others = [n for n in names if n not in ours]
cases = list(dict.fromkeys((r["model"], r["batch"], r["threads"]) for r in rows))
print("| network | batch | threads | " + " | ".join(names) + " | " + " | ".join("ratio of " + o for o in ours) + " | peak MB: ours / fastest |")
print("|" + " --- |" * (4 + len(names) + len(ours)))
for case in cases:
    of = {n: [r for r in rows if r["runtime"] == n and (r["model"], r["batch"], r["threads"]) == case and r["ms"]] for n in names}
    cells = [f"{statistics.median(r['ms'] for r in of[n]):.2f}" if of[n] else "-" for n in names]
    for o in ours:
        ratios = [of[o][i]["ms"] / min(of[p][i]["ms"] for p in others if i < len(of[p])) for i in range(len(of[o]))
                  if any(i < len(of[p]) for p in others)]
        cells.append(f"**{statistics.median(ratios):.2f}** ({min(ratios):.2f}-{max(ratios):.2f})" if ratios else "-")
    fastest = min((p for p in others if of[p]), key=lambda p: statistics.median(r["ms"] for r in of[p]), default=None)
    memory = [f"{of[n][0]['peak_memory_bytes'] / 1e6:.0f}" if n and of[n] and of[n][0]["peak_memory_bytes"] else "-" for n in (ours[0] if ours else None, fastest)]
    print("| " + " | ".join(map(str, case)) + " | " + " | ".join(cells) + " | " + " / ".join(memory) + " |")
PY
