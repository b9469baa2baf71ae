#!/usr/bin/env bash
# From a fresh Debian 12 to everything that lwcc is built and tested with.
#
#   tools/setup.sh [--no-cuda] [--no-oracle]
#
# Debian packages come through apt (as root, or with sudo); what Debian does not
# have comes from PyPI, pinned, into $LWCC_DEPS (default ~/.local/share/lwcc):
#   onednn/          oneDNN 3.2, the kernels of the CPU target
#   cuda/            nvcc 13.0, cuDNN, cuBLAS, NCCL; a toolkit that is already
#                    there (13.0 or newer, with cuDNN) is linked to instead
#   oracle/          a Python environment with PyTorch and ONNX Runtime (tests);
#                    with it comes Debian's chromium, which tests look at pages with
# Every part carries a stamp of its versions, so running this again takes a
# second. Needs no GPU and no driver.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
deps=${LWCC_DEPS:-$HOME/.local/share/lwcc}
want_cuda=1 want_oracle=1
for argument in "$@"; do
  case $argument in
    --no-cuda) want_cuda=0 ;;
    --no-oracle) want_oracle=0 ;;
    -h | --help) sed -n '2,/^set /{/^set /!s/^# \{0,1\}//p}' "$0"; exit 0 ;;
    *) echo "setup.sh: unknown option $argument (see --help)" >&2; exit 2 ;;
  esac
done

fail() { printf 'setup.sh: %s\n' "$@" >&2; exit 1; }

# --- a table of what was fetched, printed at the end --------------------------

received() { awk -F'[: ]+' '/:/ && $2 != "lo" { sum += $3 } END { printf "%.0f", sum }' /proc/net/dev; }
summary=()
started=$SECONDS
begin() { part_start=$SECONDS part_bytes=$(received); echo "setup.sh: $1"; }
finish() { # NAME: one line of the table
  local mb=$((($(received) - part_bytes) / 1000000))
  summary+=("$(printf '  %-16s %6d MB %6d s' "$1" "$mb" $((SECONDS - part_start)))")
}

# --- Debian packages ----------------------------------------------------------

packages=(g++ cmake ninja-build ccache make git clang-22 clang-format-22 clang-tidy-22
  libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools
  libonnx-dev libprotobuf-dev protobuf-compiler libfmt-dev libmimalloc-dev nlohmann-json3-dev libgtest-dev libgmock-dev
  zlib1g-dev libucx-dev libjpeg62-turbo-dev libpng-dev libwebp-dev xz-utils python3 python3-venv python3-jsonschema
  pylint)

((want_oracle)) && packages+=(chromium) # tests look at pages with it

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null || true)
  [[ $status == "install ok installed" ]] || missing+=("$package")
done
if ((${#missing[@]})); then
  command -v apt-get >/dev/null ||
    fail "needs Debian 12 (apt-get is not there); missing packages: ${missing[*]}"
  sudo=()
  if [[ $(id -u) != 0 ]]; then
    command -v sudo >/dev/null ||
      fail "run it as root, or install sudo; missing packages: ${missing[*]}"
    sudo=(sudo)
  fi
  begin "installing Debian packages: ${missing[*]}"
  apt_get=("${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q)
  "${apt_get[@]}" update
  unknown=()
  for package in "${missing[@]}"; do
    apt-cache show "$package" >/dev/null 2>&1 || unknown+=("$package")
  done
  if ((${#unknown[@]})); then
    case " ${unknown[*]}" in
      *-22*) fail "not in the enabled Debian suites: ${unknown[*]}" \
        "LLVM and MLIR 22 are in Debian 12's security suite, which is not enabled here. Enable it with" \
        "  echo 'deb http://deb.debian.org/debian-security bookworm-security main' > /etc/apt/sources.list.d/security.list" \
        "and run this script again." ;;
      *) fail "not in the enabled Debian suites (Debian 12 is needed): ${unknown[*]}" ;;
    esac
  fi
  "${apt_get[@]}" install -y --no-install-recommends "${missing[@]}"
  finish "Debian packages"
fi

# --- from PyPI ----------------------------------------------------------------

mkdir -p "$deps"
work=$(mktemp -d "$deps/.setup.XXXXXX")
trap 'rm -rf "$work"' EXIT

stamped() { [[ -f $deps/$1/.stamp && $(<"$deps/$1/.stamp") == "$2" ]]; } # PART VERSIONS
fetch() { # FOLDER REQUIREMENT...: unpacks wheels, without what they depend on
  local prefix=$work/prefix
  [[ -x $work/venv/bin/python ]] || python3 -m venv "$work/venv"
  rm -rf "$prefix"
  "$work/venv/bin/python" -m pip install -q --no-cache-dir --no-deps --no-compile \
    --disable-pip-version-check --prefix "$prefix" "${@:2}"
  # Python packages lie in lib/python3.x/site-packages, a wheel's own bin,
  # include and lib folders beside it: both go to FOLDER.
  mkdir "$1"
  cp -al "$prefix"/lib/python3.*/site-packages/. "$1/"
  rm -rf "$prefix"/lib/python3.*
  cp -al "$prefix/." "$1/"
}
install_part() { # NAME FOLDER VERSIONS: puts a finished folder in its place
  echo "$3" >"$2/.stamp"
  rm -rf "${deps:?}/$1"
  mv "$2" "$deps/$1"
}

onednn=(onednn-cpu-gomp==2023.2.0 onednn-devel-cpu-gomp==2023.2.0)
if ! stamped onednn "${onednn[*]}"; then
  begin "oneDNN: ${onednn[*]}"
  fetch "$work/onednn" "${onednn[@]}"
  install_part onednn "$work/onednn" "${onednn[*]}"
  finish oneDNN
fi

# A toolkit of the machine: the root of the first nvcc >= 13.0 that has cuDNN.
find_toolkit() {
  local nvcc root version
  for nvcc in "$(command -v nvcc || true)" /usr/local/cuda/bin/nvcc; do
    [[ -x $nvcc ]] || continue
    root=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
    [[ $root != "$(readlink -f "$deps")/cuda" ]] || continue # made by this script
    version=$("$nvcc" --version | sed -n 's/.*release \([0-9]*\)\..*/\1/p')
    if ((${version:-0} < 13)); then
      echo "setup.sh: $nvcc is older than CUDA 13.0: not used" >&2
    elif [[ ! -f $root/include/cudnn.h ]]; then
      echo "setup.sh: $root has no cuDNN (include/cudnn.h): not used" >&2
    else
      echo "$root"
      return
    fi
  done
}

cuda=(nvidia-cuda-nvcc==13.0.88 nvidia-nvvm==13.0.88 nvidia-cuda-crt==13.0.88
  nvidia-cuda-runtime==13.0.96 nvidia-cuda-cccl==13.0.85 nvidia-nvtx==13.0.85
  nvidia-cuda-nvrtc==13.0.88 nvidia-cublas==13.1.0.3 nvidia-cudnn-cu13==9.19.0.56
  nvidia-nccl-cu13==2.28.9)

# Makes one toolkit prefix of the wheels: they unpack to nvidia/cu13 (a toolkit
# root but for its links) and nvidia/{cudnn,nccl}, which are merged into it.
make_toolkit() { # SITE PREFIX
  local library part
  mv "$1/nvidia/cu13" "$2"
  for part in cudnn nccl; do cp -al "$1/nvidia/$part/." "$2/"; done
  mkdir "$2/dist-info"
  mv "$1"/*.dist-info "$2/dist-info/"
  for library in "$2"/lib/lib*.so.[0-9]*; do
    library=$(basename "$library")
    ln -sfn "$library" "$2/lib/${library%%.so.*}.so"
  done
  # Without lib64 nvcc does not find its own libraries, without targets/ CMake
  # takes the folder for no toolkit.
  ln -sfn lib "$2/lib64"
  mkdir -p "$2/targets/x86_64-linux"
  ln -sfn ../../lib "$2/targets/x86_64-linux/lib"
  ln -sfn ../../include "$2/targets/x86_64-linux/include"
}

if ((want_cuda)); then
  toolkit=$(find_toolkit)
  if [[ -n $toolkit ]]; then
    if [[ $(readlink "$deps/cuda" || true) != "$toolkit" ]]; then
      echo "setup.sh: using the CUDA toolkit in $toolkit"
      rm -rf "$deps/cuda"
      ln -s "$toolkit" "$deps/cuda"
    fi
  elif ! stamped cuda "${cuda[*]}"; then
    begin "CUDA toolkit: ${cuda[*]}"
    fetch "$work/cuda-site" "${cuda[@]}"
    make_toolkit "$work/cuda-site" "$work/cuda"
    install_part cuda "$work/cuda" "${cuda[*]}"
    finish "CUDA toolkit"
  fi
fi

if ((want_oracle)); then
  requirements=$root/tools/oracle-requirements.txt
  versions=$(grep -v '^#' "$requirements")
  if ! stamped oracle "$versions"; then
    begin "test oracle: PyTorch, ONNX Runtime and what they need"
    # In place: an environment does not survive being moved.
    rm -rf "$deps/oracle"
    python3 -m venv "$deps/oracle"
    "$deps/oracle/bin/python" -m pip install -q --no-cache-dir --no-deps \
      --no-compile --disable-pip-version-check -r "$requirements"
    echo "$versions" >"$deps/oracle/.stamp"
    finish "test oracle"
  fi
fi

if ((${#summary[@]})); then
  echo "setup.sh: done; downloaded (as the network interfaces count) and took:"
  printf '%s\n' "${summary[@]}"
  printf '  %-16s %9s %6d s\n' together "" $((SECONDS - started))
else
  echo "setup.sh: everything is there ($deps)"
fi
