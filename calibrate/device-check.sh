#!/usr/bin/env bash
# device-check.sh: what a machine with a GPU says: kernels checked, profiles made, the same run on real
# kernels in simulated and in real time. Needs the portable build and nothing else.
set -uo pipefail

usage() {
	cat <<'TEXT'
usage: device-check.sh [options] BUILD [OUT]

BUILD holds omnibus and omnibus-cuda.so (cmake -DOMNIBUS_PORTABLE=ON); results go to the folder OUT
(default: $OUT, else device-check). Five parts, each with its own limit of time, 271 s in all; what a part
has found is written and printed when it ends, or is ended, and is in OUT/device-check.tgz from then on. Exit
code: 0 if all parts did, 1 if one did not, 2 if there is nothing to run them on. cuBLASLt is looked for where
packages put it, if the loader does not find it.

  --backend NAME   cuda, or cpu as a stand-in [cuda]
  --model NAME     for all parts, in place of llama-3-8b and llama-3-70b
  --limit N        requests of a run [300]
  --scale X        every limit of time and budget times X, a whole number [1]
TEXT
}

backend=cuda
model=llama-3-8b
large=llama-3-70b
large_tp=4
limit=300
scale=1
while [[ ${1:-} == --* ]]; do
	case $1 in
	--backend) backend=$2 ;;
	--model) model=$2 large=$2 large_tp=1 ;;
	--limit) limit=$2 ;;
	--scale) scale=$2 ;;
	--help) usage && exit 0 ;;
	*) usage >&2 && exit 2 ;;
	esac
	shift 2
done
[[ $# -ge 1 && $# -le 2 ]] || { usage >&2 && exit 2; }

program=$1/omnibus
out=${2:-${OUT:-device-check}}
trace=$(dirname "${BASH_SOURCE[0]}")/../traces/sample-chat.csv
[[ -x $program ]] || { echo "device-check: there is no program $program" >&2 && exit 2; }
[[ -r $trace ]] || { echo "device-check: there is no trace $trace" >&2 && exit 2; }
mkdir -p "$out" || exit 2
: >"$out/parts.txt"

# Folders where the toolkit, the packages of Debian and those of Python have libraries of CUDA.
library_folders() {
	local python
	printf '%s\n' /usr/local/cuda*/lib64 /usr/local/cuda*/targets/*/lib /usr/lib/x86_64-linux-gnu /opt/*/lib
	for python in {/usr,/usr/local,/opt/*,"${HOME:-}/.local",${VIRTUAL_ENV:-}}/lib/python3*/{site,dist}-packages; do
		printf '%s\n' "$python"/nvidia/*/lib
	done
}

# The library that the module needs, if the loader does not know where it is.
find_library() {
	local name folder
	name=$(ldd "$1" 2>/dev/null | sed -n 's/^[[:space:]]*\(libcublasLt[^ ]*\) => not found.*/\1/p')
	[[ $name ]] || return 0
	while read -r folder; do
		[[ -e $folder/$name ]] || continue
		export LD_LIBRARY_PATH=$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
		echo "device-check: $name is in $folder"
		return 0
	done < <(library_folders)
	echo "device-check: there is no $name, which $1 needs" >&2
}

# All results so far in one file, which is whole at any time.
pack() {
	tar -C "$out" -czf "$out/.device-check.tgz" -T <(cd "$out" && find . -type f ! -name '*.tgz')
	# 1: a file grew meanwhile
	(($? <= 1)) && mv "$out/.device-check.tgz" "$out/device-check.tgz"
}

# part NAME SECONDS COMMAND...: standard output and error go to OUT/NAME.txt, and its last lines are printed.
part() {
	local name=$1 seconds=$(($2 * scale)) began=$SECONDS result
	shift 2
	printf '\n== %s, at most %s s\n' "$name" "$seconds"
	# what is interrupted closes its files; what does not end then is ended
	timeout -s INT -k 5 "$seconds" "$@" >"$out/$name.txt" 2>&1
	result=$?
	tail -n 30 "$out/$name.txt"
	case $result in
	0) result="done" ;;
	124 | 137) result="cut off" ;;
	*) result="failed ($result)" ;;
	esac
	printf '%-16s %-12s %4s s\n' "$name" "$result" $((SECONDS - began)) >>"$out/parts.txt"
	pack
	[[ $result == "done" ]]
}

calibrate() {
	local name=$1 budget=$(($2 * scale))
	shift 2
	part "$name" $((budget * 13 / scale / 10 + 25)) "$program" calibrate --backend "$backend" "$@" \
		--budget "$budget" -o "$out/$name.json" --db "$out/points.db"
}

# Requests come at 16 a second, so that 300 of them take 19 s where the device keeps up, and the last answers 2 s
# more on an H200, by forecast. A run that is cut off records nothing.
run() {
	local name=$1 clock=$2
	part "$name" 45 "$program" run "$trace" --limit "$limit" --rate 16 -p vllm-v1 -m "$model" \
		-x "$backend" --clock "$clock" --record "$out/$name.replay" --db "$out/runs.db"
}

[[ $backend != cuda ]] || find_library "$1/omnibus-cuda.so"

# A sentence and nothing else where there is no device: the kernels' check opens it.
part check 40 "$program" calibrate --backend "$backend" --check
checked=$?
if grep -qE 'there is no GPU|no backend' "$out/check.txt"; then
	echo "device-check: nothing can be measured here" >&2
	exit 2
fi
failures=$((checked != 0))
calibrate profile 40 -m "$model" || failures=$((failures + 1))
calibrate profile-large 30 -m "$large" --tp "$large_tp" || failures=$((failures + 1))
run simulated sim || failures=$((failures + 1))
run wall wall || failures=$((failures + 1))

printf '\n== all parts\n'
cat "$out/parts.txt"
exit $((failures > 0))
