#!/usr/bin/env bash
# Tries the Debian package where nothing else of lwcc is.
#
#   tools/package-test.sh [--system=FOLDER] [PACKAGE.deb]
#
# Makes the package by the preset `package` if none is named, and a minimal Debian 12 in
# FOLDER (default build/package-system) by debootstrap, which is used again if it
# is there. Then:
#   - installs the package there by apt, with what it depends on and nothing more
#   - compiles LeNet-5 for the CPU and trains it on digits, to 97 % at least
#   - makes a bundle, removes the package and all it needed, and trains again
#   - installs it once more, for man pages, completions and find_package
# Needs root, debootstrap and a network; takes some minutes, so that tools/test.sh
# does not run it. Mounts are in a namespace of its own and end with it.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${LWCC_BUILD:-$root/build}
system=$build/package-system package=
for argument in "$@"; do
  case $argument in
    --system=?*) system=${argument#*=} ;;
    -h | --help) sed -n '2,/^set /{/^set /!s/^# \{0,1\}//p}' "$0"; exit 0 ;;
    *.deb) package=$argument ;;
    *) echo "package-test.sh: unknown argument $argument (see --help)" >&2; exit 2 ;;
  esac
done
[[ $(id -u) == 0 ]] || { echo "package-test.sh: run it as root" >&2; exit 2; }
if [[ -z ${LWCC_PACKAGE_TEST:-} ]]; then # once more, with mounts of our own
  exec env LWCC_PACKAGE_TEST=1 unshare --mount --propagation=private "$0" "$@"
fi

[[ -d $build/digits/val ]] ||
  { echo "package-test.sh: no digits in $build; run tools/quickstart.sh" >&2; exit 2; }
if [[ -z $package ]]; then
  (cd "$root" && cmake --preset package && cmake --build --preset package &&
    cd build-package && cpack -G DEB)
  package=$(ls -t "$root"/build-package/lwcc_*.deb | head -1)
fi
if [[ ! -x $system/usr/bin/apt-get ]]; then
  debootstrap --variant=minbase bookworm "$system" http://deb.debian.org/debian
fi
# The network as it is here: names, and how apt reaches it.
cp /etc/resolv.conf "$system/etc/resolv.conf"
apt-config dump | grep '^Acquire::\(http\|https\|Check\)' >"$system/etc/apt/apt.conf.d/99here" || true
for suite in "deb.debian.org/debian bookworm" "deb.debian.org/debian bookworm-updates" \
  "deb.debian.org/debian-security bookworm-security"; do
  echo "deb http://$suite main"
done >"$system/etc/apt/sources.list"
mount -t proc proc "$system/proc"
mount -t tmpfs tmpfs "$system/tmp"
cp "$package" "$system/tmp/lwcc.deb"
cp -r "$build/digits" "$root/examples/lenet5.onnx" "$system/tmp/"
cp -r "$root/test/e2e/Inputs/find-package" "$root/test/e2e/Inputs/check_pages.py" "$system/tmp/"

within() { # COMMAND...
  chroot "$system" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
    DEBIAN_FRONTEND=noninteractive sh -ec "cd /tmp; $*"
}
step() { echo "== $*"; }

step "installing $(basename "$package")"
within 'apt-get -q update && apt-get -q install -y --no-install-recommends ./lwcc.deb' >"$system/tmp/log" 2>&1 ||
  { tail -20 "$system/tmp/log"; exit 1; }
within 'lwcc --version'
step "LeNet-5"
train='--data=digits/train --val-data=digits/val --epochs=10 --lr=0.01 --momentum=0.9'
reaches() { grep -Eq '^validation: .*top-1 (9[7-9]|100)' "$1"; }
within "lwcc lenet5.onnx --target=cpu --batch=32 -o trainer && ./trainer $train" | tee "$system/tmp/first" | tail -4
reaches "$system/tmp/first"
within "lwcc lenet5.onnx --target=cpu --batch=32 --emit=bundle -o bundle"
step "a project with find_package, manual pages, completions"
within 'apt-get -q install -y --no-install-recommends cmake make python3' >"$system/tmp/log" 2>&1
within 'cp lenet5.onnx find-package; cmake -B made -S find-package; cmake --build made; cd made; ctest' >"$system/tmp/log"
within 'python3 check_pages.py /usr lenet5.onnx'
step "a bundle where neither lwcc nor a compiler is"
within 'apt-get -q purge -y lwcc cmake make python3 && apt-get -q autoremove --purge -y' >"$system/tmp/log" 2>&1
within '! command -v lwcc && ! command -v g++ && ! ls /usr/lib/lwcc /usr/share/lwcc 2>/dev/null'
within "mv bundle elsewhere && elsewhere/trainer $train" | tee "$system/tmp/second" | tail -4
reaches "$system/tmp/second"
echo "package-test.sh: good"
