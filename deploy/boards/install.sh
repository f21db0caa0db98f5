#!/usr/bin/env bash
# Installs the device agent on this board, as a service of systemd. It stands in the agent's package beside what it installs.
#   sudo ./install.sh [--root DIR]              installs, or replaces an earlier version; the configuration stays as it is,
#                                               but for folders that earlier versions had elsewhere: they are moved
#   sudo ./install.sh --uninstall [--root DIR]  stops and removes it; configuration and state stay
#   sudo ./install.sh --purge [--root DIR]      removes them and the user too: the agent's own, no other daemon's
# --root DIR puts everything below DIR and touches neither users nor services: for images, and for trying it.
set -euo pipefail

usage() { sed -n '2,7s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }
fail() { echo "install.sh: $*" >&2; exit 1; }

action=install
root=
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --uninstall) action=uninstall; shift ;;
    --purge) action=purge; shift ;;
    --root) root=${2:?--root wants a folder}; shift 2 ;;
    *) usage >&2; exit 2 ;;
  esac
done
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
lib=$root/usr/local/lib/tunefarm
etc=$root/etc/tunefarm
unit=$root/etc/systemd/system/device_agent.service
command=$root/usr/local/bin/device_agent
own=/var/lib/tunefarm-agent
state=$root$own
user=tunefarm-agent

# On this very system, and not into a folder.
live() { [ -z "$root" ]; }
if live && [ "$(id -u)" -ne 0 ]; then fail "run it as root, as in: sudo $0"; fi
service() { if live && [ -d /run/systemd/system ]; then systemctl "$@"; fi; }

remove() {
  service disable --now device_agent.service 2>/dev/null || true
  rm -f "$unit" "$command" "$lib/device_agent" "$lib/trial_worker" "$lib/gpu_worker" "$lib/README" "$lib/LICENSES"
  rmdir --ignore-fail-on-non-empty "$lib" 2>/dev/null || true
  service daemon-reload
  [ "$action" = purge ] || return 0
  rm -rf "$etc/device_agent.txtpb" "$state"
  rmdir --ignore-fail-on-non-empty "$etc" 2>/dev/null || true
  if live && id "$user" >/dev/null 2>&1; then userdel "$user"; fi
}

# move_in FIELD NAME: the folder that FIELD of the configuration names becomes the agent's own, if it is one of
# /var/lib/tunefarm, which earlier versions shared with the other daemons and which the unit's user may not enter.
move_in() {
  local configuration=$etc/device_agent.txtpb line old new=$own/$2
  line="^[[:space:]]*$1:[[:space:]]*\"\(/var/lib/tunefarm/[^\"]*\)\""
  old=$(sed -n "s|$line.*|\1|p" "$configuration" | tail -n 1)
  [ -n "$old" ] || return 0
  if [ -e "$root$old" ]; then
    if [ -e "$root$new" ]; then fail "$configuration names $old, but there is $new too: remove the one that does not belong to this board"; fi
    if service is-active --quiet device_agent.service; then was_active=yes; fi
    service stop device_agent.service
    install -d -m 700 "$state"
    mv "$root$old" "$root$new"
    if live; then chown -R "$user:$user" "$state"; fi
  fi
  sed -i "s|$line|$1: \"$new\"|" "$configuration"
  moved=yes
  echo "$old is now $new"
}

if [ "$action" != install ]; then
  remove
  echo "device_agent is removed$([ "$action" = purge ] || echo "; $etc/device_agent.txtpb and $state are kept (--purge removes them)")"
  exit 0
fi

if live; then
  "$here/device_agent" --help >/dev/null ||
    fail "this package does not run on this board ($(uname -m), $(ldd --version | head -n 1)): use the package for the other architecture"
  id "$user" >/dev/null 2>&1 ||
    useradd --system --user-group --home-dir "$state" --no-create-home --shell /usr/sbin/nologin "$user"
fi
install -d -m 755 "$lib" "$etc" "$(dirname "$unit")" "$(dirname "$command")"
# A running agent keeps the file that it was started from: install writes a new one.
install -m 755 "$here/device_agent" "$here/trial_worker" "$here/gpu_worker" "$lib"
install -m 644 "$here/README" "$here/LICENSES" "$lib"
install -m 644 "$here/device_agent.service" "$unit"
ln -sfn ../lib/tunefarm/device_agent "$command"
if [ ! -e "$etc/device_agent.txtpb" ]; then
  install -m 640 "$here/device_agent.txtpb" "$etc"
  new_configuration=yes
fi
was_active=
moved=
move_in state_dir state
move_in tls tls
if live; then chgrp "$user" "$etc/device_agent.txtpb"; fi
service daemon-reload
service enable device_agent.service
if [ -n "${new_configuration-}" ]; then
  echo "installed; edit $etc/device_agent.txtpb, then: systemctl start device_agent"
else
  if [ -n "$was_active" ]; then service start device_agent.service; else service try-restart device_agent.service; fi
  echo "installed; $etc/device_agent.txtpb is unchanged${moved:+ except for that}"
fi
if live; then echo "to check this board: sudo -u $user device_agent doctor --config $etc/device_agent.txtpb"; fi
