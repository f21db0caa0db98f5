#!/usr/bin/env bash
# Makes build/sysroot/ARCH: Debian 12's libraries for a board's processor, which the presets aarch64 and armv7 link with.
#   deploy/boards/sysroot.sh aarch64|armv7
# apt resolves, fetches and verifies the packages for that architecture alone, with lists of its own; they are unpacked,
# not installed. So root is not needed and this system stays as it is: packages of a foreign architecture would have
# to be of the very versions of its own. Can be run again: what is there is kept.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

case "${1-}" in
  aarch64) debian=arm64 ;;
  armv7) debian=armhf ;;
  -h | --help) sed -n '2,6s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" && exit 0 ;;
  *) echo "usage: deploy/boards/sysroot.sh aarch64|armv7" >&2 && exit 2 ;;
esac
packages=(libgrpc++-dev libprotobuf-dev libabsl-dev libssl-dev libseccomp-dev libspdlog-dev nlohmann-json3-dev libcli11-dev)
root=$PWD/build/sysroot/$1
wanted="$debian ${packages[*]}"
if [ "$(cat "$root/packages" 2>/dev/null)" = "$wanted" ]; then
  echo "sysroot: build/sysroot/$1 is there"
  exit 0
fi

apt=$(mktemp -d)
trap 'rm -rf "$apt"' EXIT
mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
: >"$apt/status"
cat >"$apt/apt.conf" <<END
APT::Architecture "$debian";
APT::Architectures { "$debian"; };
APT::Install-Recommends "false";
APT::Sandbox::User "";
Acquire::Languages "none";
Acquire::Retries "3";
Dir::State "$apt";
Dir::State::Lists "$apt/lists";
Dir::State::status "$apt/status";
Dir::Cache "$apt/cache";
END
export APT_CONFIG=$apt/apt.conf
echo "sysroot: fetching ${packages[*]} for $debian"
# A mirror in the middle of an update lacks a list now and then; the others may do.
apt-get update -qq || echo "sysroot: continuing with the package lists that were fetched" >&2
apt-get install -qq -y --download-only "${packages[@]}" >/dev/null

rm -rf "$root"
mkdir -p "$root"
for package in "$apt"/cache/archives/*.deb; do dpkg-deb --extract "$package" "$root"; done
find "$root/usr/share/doc" -type f ! -name copyright -delete
# Links to /lib/… mean the board's, not this machine's.
find "$root" -type l -lname '/*' -print0 | while IFS= read -r -d '' link; do
  ln -sfnr "$root$(readlink "$link")" "$link"
done
# This machine's own: headers that are the same for every processor, and what the build runs.
ln -sfn /usr/include/boost "$root/usr/include/boost"
mkdir -p "$root/usr/bin"
ln -sf /usr/bin/grpc_*_plugin "$root/usr/bin"
echo "$wanted" >"$root/packages"
