#!/usr/bin/env bash
# Makes build/tunefarm-agent-ARCH.tar.gz, which a board needs nothing beside: the agent, its worker, an install script, a
# systemd unit and a configuration to edit.
#   deploy/package_agent.sh aarch64|armv7
# Installs what it needs (deploy/install_packages.sh --boards) and builds with the preset of that name. Can be run again; the
# same sources give the same bytes. On the board: tar xf tunefarm-agent-ARCH.tar.gz && sudo tunefarm-agent-ARCH/install.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

arch=${1-}
case $arch in
  aarch64) triple=aarch64-linux-gnu ;;
  armv7) triple=arm-linux-gnueabihf ;;
  -h | --help) sed -n '2,6s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" && exit 0 ;;
  *) echo "usage: deploy/package_agent.sh aarch64|armv7" >&2 && exit 2 ;;
esac
limit_bytes=30000000
oldest_glibc=2.35  # that it is to run with: JetPack 6; Debian 12 has 2.36

deploy/install_packages.sh --boards "$arch" >&2
cmake --preset "$arch" >&2
cmake --build --preset "$arch" >&2

name=tunefarm-agent-$arch
folder=build/package/$name
rm -rf "$folder"
install -d "$folder"
for program in device_agent trial_worker gpu_worker; do
  "$triple-strip" -o "$folder/$program" "build/$arch/bin/$program"
done
install -m 755 deploy/boards/install.sh "$folder"
install -m 644 deploy/boards/device_agent.txtpb deploy/systemd/device_agent.service "$folder"
install -m 644 deploy/boards/README.package "$folder/README"
# Of what is linked in.
for library in libgrpc-dev libprotobuf-dev libabsl-dev libssl-dev libc-ares-dev libre2-dev zlib1g-dev libspdlog-dev libfmt-dev \
  libseccomp-dev; do
  printf '==== %s\n\n' "$library"
  cat "build/sysroot/$arch/usr/share/doc/$library/copyright"
done >"$folder/LICENSES"

needed_glibc=$("$triple-objdump" -T "$folder/device_agent" "$folder/trial_worker" "$folder/gpu_worker" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -n 1)
if [ "$(printf '%s\n' "${needed_glibc#GLIBC_}" $oldest_glibc | sort -V | tail -n 1)" != $oldest_glibc ]; then
  echo "package_agent.sh: the programs need $needed_glibc; boards may have $oldest_glibc" >&2
  exit 1
fi
size_bytes=$(cat "$folder"/* | wc -c)
if [ "$size_bytes" -gt $limit_bytes ]; then
  echo "package_agent.sh: $folder has $size_bytes bytes; a board's agent may have $limit_bytes" >&2
  exit 1
fi
written=$(git log -1 --format=%ct 2>/dev/null || echo 0)
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$written" -C build/package -c "$name" |
  gzip -9n >"build/$name.tar.gz"
echo "build/$name.tar.gz: $(stat -c %s "build/$name.tar.gz") bytes; unpacked $size_bytes"
