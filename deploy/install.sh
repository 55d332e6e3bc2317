#!/bin/sh
# Installs, upgrades and removes Millwright from its unpacked archive. It needs no network and no compiler.
#
# Folders below the prefix, which is empty by default:
#   /opt/millwright/<version>     programs; "current" and "previous" are links to versions
#   /var/lib/millwright           data of the platform and the gateway, and backups
#   /etc/millwright               settings, which are never overwritten
#
# An upgrade has these steps. The file upgrade.state records the last step that was started, so that an interrupted upgrade can
# be repeated or undone:
#   copied     the new version is in its folder; the services stop, and a backup is written
#   switched   "current" is the new version, and the services start
#   restoring  the upgrade has failed: "current" is the old version, and the backup is restored
set -eu
umask 022

usage() {
  cat <<'TEXT'
Usage: install.sh [command] [options]

Commands:
  install     install the platform and start it (default)
  upgrade     upgrade the installed version to the version of this archive; undone automatically if it fails
  rollback    return to the version before the last upgrade
  uninstall   remove programs and services; data and settings remain
  start, stop, status
  admin ...   run a command of the command line as the user and with the settings of the platform

Options:
  --platform          install the platform (default)
  --gateway           install the gateway; with --platform also the platform
  --config FILE       gateway-config.json of the gateway
  --restore           rollback: restore the backup from before the upgrade; later changes are lost
  --user NAME         user of the services (default: millwright)
  --prefix DIR        install below this folder, for tests
  --no-systemd        do not use systemd; start and stop the processes with this script
  --no-start          do not start the services
  --timeout SECONDS   time until the services must be ready (default: 600)
TEXT
}

say() { printf '%s\n' "$*"; }
fail() {
  printf 'install.sh: %s\n' "$*" >&2
  exit 1
}

# --- Arguments ---

script=$0
if [ -L "$script" ]; then script=$(readlink -f -- "$script"); fi
case $script in */*) archive=${script%/*} ;; *) archive=. ;; esac
archive=$(cd -- "$archive" && pwd -P)

action=install
case ${0##*/} in
millwright-admin) action='admin' ;;
*)
  case ${1-} in
  install | upgrade | rollback | uninstall | start | stop | status | admin)
    action=$1
    shift
    ;;
  esac
  ;;
esac

# Without --prefix, an installed script belongs to the installation that contains it.
prefix=
case $archive in */opt/millwright/*) prefix=${archive%/opt/millwright/*} ;; esac
user=millwright
if [ "$(id -u)" -ne 0 ]; then user=$(id -un); fi
created_user=no
services=
systemd=yes
start=yes
restore=no
config=
timeout=600
if [ "$action" != admin ]; then
  while [ $# -gt 0 ]; do
    case $1 in
    --platform) services="$services platform" ;;
    --gateway) services="$services gateway" ;;
    --restore) restore=yes ;;
    --no-systemd) systemd=no ;;
    --no-start) start=no ;;
    --config | --user | --prefix | --timeout)
      [ $# -ge 2 ] || fail "$1 needs a value. See: install.sh --help"
      case $1 in
      --config) config=$2 ;;
      --user) user=$2 ;;
      --prefix) mkdir -p -- "$2" && prefix=$(cd -- "$2" && pwd -P) ;;
      --timeout) timeout=$2 ;;
      esac
      shift
      ;;
    -h | --help)
      usage
      exit 0
      ;;
    *) fail "Unknown argument \"$1\". See: install.sh --help" ;;
    esac
    shift
  done
fi
case $timeout in '' | *[!0-9]*) fail "--timeout must be a number of seconds, but is \"$timeout\"." ;; esac

opt=$prefix/opt/millwright
state=$prefix/var/lib/millwright
settings=$prefix/etc/millwright
cache=$prefix/var/cache/millwright
units=$prefix/etc/systemd/system
programs=$prefix/usr/local/bin
run=$prefix/run/millwright
logs=$prefix/var/log/millwright
own=$opt/current/install.sh
installation=$opt/installation
journal=$opt/upgrade.state
last_upgrade=$opt/last-upgrade

# --- Installation record and versions ---

# Prints the value of a name in a file with lines of the form name=value.
value_in() { [ -f "$1" ] && sed -n "s/^$2=//p" "$1" | tail -n 1; }

write_file() {
  cat >"$1.new"
  mv -f -- "$1.new" "$1"
}

product_of() { sed -n 's/^ *"product": *"\([^"]*\)".*/\1/p' "$1/app/release.json" 2>/dev/null | head -n 1; }
version_of() { sed -n 's/^ *"version": *"\([^"]*\)".*/\1/p' "$1/app/release.json" | head -n 1; }
linked_version() { if [ -L "$opt/$1" ]; then basename -- "$(readlink -- "$opt/$1")"; fi; }

link_version() { # link_version NAME VERSION: replaces the link in one step
  ln -sfn -- "$2" "$opt/.$1.new"
  mv -fT -- "$opt/.$1.new" "$opt/$1"
}

load_installation() {
  [ -f "$installation" ] || fail "Millwright is not installed in $opt. Run: install.sh"
  user=$(value_in "$installation" user)
  created_user=$(value_in "$installation" created_user)
  services=$(value_in "$installation" services)
  # A machine that has lost systemd, such as a container, can manage its installation with --no-systemd.
  if [ "$systemd" = yes ] || [ -d /run/systemd/system ]; then systemd=$(value_in "$installation" systemd); fi
  group=$(id -gn -- "$user") || fail "The user $user does not exist. Create it, and run the command again."
}

has_service() { case " $services " in *" $1 "*) return 0 ;; *) return 1 ;; esac }

require_rights() {
  if [ "$(id -u)" -ne 0 ] && [ -z "$prefix" ]; then fail 'Root rights are required. Run the command with sudo.'; fi
}

# Fails before the first change if systemd is to be used but does not run.
require_systemd() {
  if [ "$systemd" = yes ] && [ ! -d /run/systemd/system ]; then
    fail 'systemd does not run on this machine. Repeat the command with --no-systemd. Then install.sh starts and stops the processes.'
  fi
}

# Prints the state and the start time of a process. The start time distinguishes it from a later process with the same id.
process_state() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d ' ' -f 1,20; }

# Only one command changes an installation at a time. The lock of a process that has ended is removed.
lock() {
  mkdir -p -- "$opt" || fail "$opt cannot be created. Check the rights and the free disk space."
  if ! (echo $$ >"$opt/.lock.$$") 2>/dev/null; then
    rm -f -- "$opt/.lock.$$"
    fail "$opt cannot be written. Check the rights and the free disk space."
  fi
  until ln -- "$opt/.lock.$$" "$opt/.lock" 2>/dev/null; do
    holder=$(cat -- "$opt/.lock" 2>/dev/null || true)
    if [ -n "$holder" ] && kill -0 "$holder" 2>/dev/null; then
      rm -f -- "$opt/.lock.$$"
      fail "Another installation is running (process $holder). Wait until it has ended."
    fi
    rm -f -- "$opt/.lock"
  done
  rm -f -- "$opt/.lock.$$"
  trap 'rm -f -- "$opt/.lock"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
}

# --- User and settings ---

# Fails if the user of the services neither exists nor can be created.
require_user() {
  if id -- "$user" >/dev/null 2>&1; then return; fi
  [ "$(id -u)" -eq 0 ] || fail "The user $user does not exist. Choose an existing user with --user, or run as root."
  command -v useradd >/dev/null || fail "The program useradd is missing. Create the system user $user, and run the command again."
}

create_user() {
  if id -- "$user" >/dev/null 2>&1; then
    group=$(id -gn -- "$user")
    return
  fi
  created_user=yes
  own_group=--user-group
  if grep -q "^$user:" /etc/group; then own_group="--gid=$user"; fi
  useradd --system "$own_group" --home-dir /var/lib/millwright --no-create-home --shell /usr/sbin/nologin "$user" ||
    fail "The system user $user cannot be created. Create it, and run the command again."
  group=$(id -gn -- "$user")
}

# Exports the settings of a service as systemd does: the defaults of the unit, and then the lines of its file. The other
# variables of the caller can contain secrets, so the service does not get them.
export_settings() {
  for name in $(env | sed -n 's/^\([A-Z_][A-Z0-9_]*\)=.*/\1/p'); do
    case $name in
    PATH | TERM | LANG | LANGUAGE | LC_* | TZ | COLUMNS | LINES | NO_COLOR | FORCE_COLOR) ;;
    PWD | UID | EUID | PPID | SHELLOPTS | BASHOPTS | _) ;; # variables of the shell
    *) unset "$name" ;;
    esac
  done
  case $1 in
  platform) export MILLWRIGHT_HOME="$state/platform" ;;
  gateway) export MILLWRIGHT_GATEWAY_HOME="$state/gateway" ;;
  esac
  export TMPDIR="$state/$1/tmp" NODE_COMPILE_CACHE="$cache/$1" HOME="$state/$1"
  [ -f "$settings/$1.env" ] || return 0
  while IFS= read -r line || [ -n "$line" ]; do
    case $line in '' | '#'* | ';'*) continue ;; esac
    name=${line%%=*}
    value=${line#*=}
    case $name in
    '' | [0-9]* | *[!A-Za-z0-9_]*) fail "$settings/$1.env contains an invalid line: $name. Each line must have the form NAME=value." ;;
    esac
    case $value in
    \"*\") value=${value#\"} && value=${value%\"} ;;
    \'*\') value=${value#\'} && value=${value%\'} ;;
    esac
    export "$name=$value"
  done <"$settings/$1.env"
}

# Replaces this shell by a command that runs as the user of a service. Call it in a subshell.
exec_as_service() {
  service=$1
  shift
  export_settings "$service"
  umask 077
  [ "$action" = admin ] || cd "$state/$service"
  if [ "$(id -u)" -ne 0 ] || [ "$(id -un)" = "$user" ]; then exec "$@"; fi
  exec setpriv --reuid "$user" --regid "$group" --init-groups -- "$@"
}

# Runs a command as the user of the services. In folders of this user, root changes no file: the user can replace each file
# by a link to a file of another user.
as_user() {
  if [ "$(id -u)" -ne 0 ] || [ "$(id -un)" = "$user" ]; then
    "$@"
  else
    setpriv --reuid "$user" --regid "$group" --init-groups -- "$@"
  fi
}

# Prints the value of a setting of the platform.
platform_setting() { (export_settings platform && eval "printf '%s' \"\${$1-}\""); }

# Runs a command of the command line of a version, with the settings of the platform.
run_version() { # run_version VERSION COMMAND...
  version_folder=$opt/$1
  shift
  (exec_as_service platform "$version_folder/bin/millwright" "$@")
}

# --- Services ---

# Prints the process id of a service that this script has started, if it is running.
process_id() {
  pid=''
  started=''
  [ ! -f "$run/$1.pid" ] || read -r pid started <"$run/$1.pid"
  [ -n "$pid" ] || return 0
  case $(process_state "$pid") in
  Z* | '') ;;
  *" $started") echo "$pid" ;;
  esac
}

start_service() {
  if [ "$systemd" = yes ]; then
    # This also resets the number of restarts.
    systemctl reset-failed "millwright-$1.service" 2>/dev/null || true
    systemctl start "millwright-$1.service" && return
    reason='the service did not start'
    return 1
  fi
  [ -z "$(process_id "$1")" ] || return 0
  mkdir -p -- "$run" "$logs"
  chmod 0750 -- "$logs"
  (exec_as_service "$1" setsid "$opt/current/bin/millwright-$1") </dev/null >>"$logs/$1.log" 2>&1 &
  echo "$! $(process_state $! | cut -d ' ' -f 2)" | write_file "$run/$1.pid"
}

stop_service() {
  if [ "$systemd" = yes ]; then
    systemctl stop "millwright-$1.service" || fail "The service did not stop. See: systemctl status millwright-$1"
    return
  fi
  pid=$(process_id "$1")
  if [ -n "$pid" ]; then
    kill -TERM "$pid" 2>/dev/null || true
    waited=0
    while [ -n "$(process_id "$1")" ]; do
      [ "$waited" -lt 60 ] || fail "Process $pid of the $1 does not end. End it, and run the command again."
      sleep 1
      waited=$((waited + 1))
    done
  fi
  rm -f -- "$run/$1.pid"
}

has_ended() {
  if [ "$systemd" = yes ]; then
    systemctl is-failed --quiet "millwright-$1.service" ||
      [ "$(systemctl show --property NRestarts --value "millwright-$1.service")" != 0 ]
  else
    [ -z "$(process_id "$1")" ]
  fi
}

stop_services() { for each in $services; do stop_service "$each"; done; }

# Prints the units of links that an operator has started or enabled as separate services.
link_units() {
  [ "$systemd" = yes ] || return 0
  { systemctl list-units --all --plain --no-legend 'millwright-link@*.service' &&
    systemctl list-unit-files --plain --no-legend 'millwright-link@*.service'; } |
    cut -d ' ' -f 1 | grep -v '@\.service$' | sort -u
}

# Starts all services of the current version, and waits until they are ready. Otherwise sets "reason".
start_services() {
  current=$(linked_version current)
  for each in $services; do
    start_service "$each" || return 1
    deadline=$(($(date +%s) + timeout))
    while true; do
      code=0
      reason=$( (exec_as_service "$each" "$opt/current/node/bin/node" "$opt/current/readiness.mjs" "$each" "$current") 2>&1) || code=$?
      case $code in
      0) break ;;
      2) return 1 ;; # another version answers
      esac
      if has_ended "$each"; then
        reason='the process has ended'
        return 1
      fi
      [ "$(date +%s)" -lt "$deadline" ] || return 1
      sleep 1
    done
  done
  # Links that run as separate services continue with the current version.
  for unit in $(link_units); do systemctl try-restart "$unit"; done
}

log_hint() { if [ "$systemd" = yes ]; then say "journalctl -u millwright-$1"; else say "$logs/$1.log"; fi; }

# --- Steps ---

# Copies this archive to the folder of its version. An incomplete copy never has the name of a version.
copy_version() {
  target=$opt/$version
  if has_service platform && [ "$(product_of "$archive")" = gateway ] && [ "$(product_of "$target")" != millwright ]; then
    fail 'This archive contains only the gateway. Use the archive of the platform, or install the gateway with: install.sh --gateway --config gateway-config.json'
  fi
  [ "$archive" != "$target" ] || return 0
  # The archive of the platform also contains the gateway, so it replaces the gateway package of the same version.
  replaces_gateway=no
  if [ "$(product_of "$archive")" != gateway ] && [ "$(product_of "$target")" = gateway ]; then replaces_gateway=yes; fi
  if [ -d "$target" ] && [ "$replaces_gateway" = no ]; then return 0; fi
  rm -rf -- "$target.partial" "$target.gateway"
  # A full disk gives an error for each file. The first one is enough.
  if ! errors=$(cp -RP -- "$archive" "$target.partial" 2>&1); then
    rm -rf -- "$target.partial"
    printf '%s\n' "$errors" | head -n 1 >&2
    fail "The program cannot be copied to $opt. Check the free disk space, and run the command again."
  fi
  chmod -R u+rwX,go+rX,go-w -- "$target.partial"
  if ! "$target.partial/node/bin/node" --version >/dev/null 2>&1; then
    rm -rf -- "$target.partial"
    fail "The programs of this archive do not run in $opt. They need Linux on x64 with glibc 2.28 or newer, and a file system without the option noexec."
  fi
  if [ "$(id -u)" -eq 0 ]; then chown -R 0:0 -- "$target.partial"; fi
  if [ "$replaces_gateway" = yes ]; then mv -- "$target" "$target.gateway"; fi
  mv -- "$target.partial" "$target"
  rm -rf -- "$target.gateway"
}

create_folders() {
  mkdir -p -- "$settings" "$state" "$programs"
  if [ "$(id -u)" -eq 0 ]; then chown -- 0:0 "$state"; fi
  chmod 0711 -- "$state"
  for each in $services backups; do
    mkdir -p -- "$state/$each"
    chmod 0700 -- "$state/$each"
    if [ "$(id -u)" -eq 0 ]; then chown -- "$user:$group" "$state/$each"; fi
    [ "$each" != backups ] || continue
    mkdir -p -- "$cache/$each"
    if [ "$(id -u)" -eq 0 ]; then chown -- "$user:$group" "$cache/$each"; fi
    as_user mkdir -p -- "$state/$each/tmp" ||
      fail "The user $user cannot create $state/$each/tmp. The user needs access to all folders of this path."
  done
  for file in "$archive"/settings/*.env; do
    installed=$settings/${file##*/}
    [ -e "$installed" ] || cp -- "$file" "$installed"
    chmod 0640 -- "$installed"
    if [ "$(id -u)" -eq 0 ]; then chgrp -- "$group" "$installed"; fi
  done
  if [ -n "$config" ]; then
    [ -r "$config" ] || fail "$config cannot be read. Download gateway-config.json from the console, and pass its path with --config."
    # shellcheck disable=SC2016
    as_user sh -c 'umask 077 && rm -f -- "$1" && cat >"$1"' sh "$state/gateway/gateway-config.json" <"$config" ||
      fail "$state/gateway/gateway-config.json cannot be written. Check the free disk space, and run the command again."
  fi
}

# Writes the units of the current version with the paths of this installation.
write_units() {
  [ "$systemd" = yes ] || [ -n "$prefix" ] || return 0
  mkdir -p -- "$units"
  for unit in "$opt"/current/systemd/*.service; do
    sed -e "s|@opt@|$opt|g; s|@state@|$state|g; s|@config@|$settings|g; s|@cache@|$cache|g; s|@user@|$user|g; s|@group@|$group|g" \
      "$unit" | write_file "$units/${unit##*/}"
  done
  if [ "$systemd" = yes ]; then systemctl daemon-reload; fi
}

link_programs() {
  for name in millwright millwright-admin; do
    target=$opt/current/bin/millwright
    [ "$name" = millwright ] || target=$opt/current/install.sh
    if [ -e "$programs/$name" ] && [ ! -L "$programs/$name" ]; then
      say "$programs/$name belongs to another program and is not changed. Use $target."
    else
      ln -sfn -- "$target" "$programs/$name"
    fi
  done
}

write_journal() { # write_journal STEP
  printf 'from=%s\nto=%s\nbackup=%s\nstep=%s\n' "$from" "$to" "$backup" "$1" | write_file "$journal"
}

# Restores a backup with the current version. The replaced database remains in postgres.replaced.
restore_backup() {
  [ -n "$backup" ] || return 0
  home=$(platform_setting MILLWRIGHT_HOME)
  if [ -n "$(platform_setting DATABASE_URL)" ]; then
    say "The platform uses its own PostgreSQL server, so the backup is not restored automatically."
    say "If version $from does not start, restore $backup to an empty database: see docs/how-to/back-up-and-restore.md."
    return 0
  fi
  for name in postgres artefacts; do
    if [ -e "$home/$name.replaced" ]; then
      as_user rm -rf -- "${home:?}/$name" # the rest of an interrupted restore
    elif [ -e "$home/$name" ]; then
      as_user mv -T -- "$home/$name" "$home/$name.replaced"
    fi
  done
  run_version "$from" restore "$backup" ||
    fail "The backup $backup could not be restored. The database of version $to is in $home/postgres.replaced. Fix the cause above, and run: $opt/$from/install.sh rollback"
}

# Returns whether the platform has a database. A platform that was never started has none.
has_database() { [ -n "$(platform_setting DATABASE_URL)" ] || [ -d "$(platform_setting MILLWRIGHT_HOME)/postgres" ]; }

remove_replaced() {
  home=$(platform_setting MILLWRIGHT_HOME)
  as_user rm -rf -- "${home:?}/postgres.replaced" "${home:?}/artefacts.replaced"
}

# Undoes an upgrade that is not complete: returns to the old version, with the data of the backup.
undo_upgrade() {
  stop_services
  step=$(value_in "$journal" step)
  link_version current "$from"
  if [ "$step" = switched ] || [ "$step" = restoring ]; then
    write_journal restoring
    restore_backup
  fi
  write_units
  rm -f -- "$journal"
  start_services || fail "Version $from does not become ready: $reason. See: $(log_hint "$each")"
}

# --- Commands ---

install() {
  require_rights
  lock
  installed=$(linked_version current)
  if [ -n "$installed" ] && [ "$installed" != "$version" ]; then
    fail "Version $installed is already installed. To replace it by version $version, run: install.sh upgrade"
  fi
  if [ -f "$journal" ]; then fail "An upgrade is not complete. Run install.sh upgrade of the new version, or $own rollback."; fi
  if [ -f "$installation" ]; then
    added=$services
    load_installation
    for each in $added; do has_service "$each" || services="$services $each"; done
  fi
  services=$(echo "${services:-platform}" | xargs)
  require_systemd
  require_user
  copy_version
  create_user
  create_folders
  link_version current "$version"
  printf 'user=%s\ncreated_user=%s\nservices=%s\nsystemd=%s\n' "$user" "$created_user" "$services" "$systemd" | write_file "$installation"
  write_units
  link_programs
  say "Millwright $version is installed in $opt."
  if has_service gateway && [ ! -e "$state/gateway/gateway-config.json" ] && [ ! -e "$state/gateway/identity.json" ]; then
    fail "The gateway needs its configuration. Download gateway-config.json from the console, and run: install.sh --gateway --config gateway-config.json"
  fi
  if [ "$systemd" = yes ]; then
    for each in $services; do systemctl enable --quiet "millwright-$each.service"; done
  fi
  if [ "$start" = no ]; then
    say "To start it, run: $own start"
    return
  fi
  start_services || fail "The $each is not ready: $reason. See: $(log_hint "$each"). After a change, run: $own start"
  say 'All services are ready.'
  if has_service platform; then
    say "Sign in as admin. The password is in $(platform_setting MILLWRIGHT_HOME)/first-run.json."
  fi
}

upgrade() {
  require_rights
  lock
  load_installation
  require_systemd
  to=$version
  from=$(linked_version current)
  backup=
  step=
  if [ -f "$journal" ]; then
    interrupted=$(value_in "$journal" to)
    [ "$interrupted" = "$to" ] ||
      fail "The upgrade to version $interrupted is not complete. Run install.sh upgrade of that version, or $own rollback."
    from=$(value_in "$journal" from)
    backup=$(value_in "$journal" backup)
    step=$(value_in "$journal" step)
    say "Continuing the upgrade from version $from to version $to."
    if [ "$step" = restoring ]; then
      undo_upgrade
      fail "The interrupted upgrade was undone, and version $from is running. To try again, run: install.sh upgrade"
    fi
  elif [ "$from" = "$to" ]; then
    say "Version $to is already installed."
    return
  fi
  copy_version
  create_folders
  if [ "$step" != switched ]; then
    write_journal copied
    stop_services
    remove_replaced
    as_user rm -f -- "$state"/backups/*.partial
    if has_service platform && has_database; then
      backup=$state/backups/before-$to-$(date -u +%Y%m%dT%H%M%SZ).tar.gz
      if ! run_version "$from" backup "$backup"; then
        rm -f -- "$journal"
        start_services || say "Version $from is not ready: $reason. See: $(log_hint "$each")"
        fail "The backup failed, and nothing was changed. Check the free disk space of $state/backups, and run: install.sh upgrade"
      fi
    fi
    # The journal is written before the switch: from now on, the new version may have changed the database.
    write_journal switched
  fi
  link_version current "$to"
  write_units
  link_programs
  if ! start_services; then
    say "Version $to is not ready: $reason. See: $(log_hint "$each")"
    say "Returning to version $from with the data from before the upgrade."
    undo_upgrade
    fail "The upgrade to version $to failed and was undone. Version $from is running. The backup is $backup."
  fi
  printf 'from=%s\nto=%s\nbackup=%s\n' "$from" "$to" "$backup" | write_file "$last_upgrade"
  rm -f -- "$journal"
  link_version previous "$from"
  remove_old_versions
  say "Version $to is running. To return to version $from, run: $own rollback"
  [ -z "$backup" ] || say "The backup from before the upgrade is $backup."
}

remove_old_versions() {
  for folder in "$opt"/*; do
    if [ ! -d "$folder" ] || [ -L "$folder" ]; then continue; fi
    name=${folder##*/}
    [ "$name" = "$(linked_version current)" ] || [ "$name" = "$(linked_version previous)" ] || rm -rf -- "$folder"
  done
}

rollback() {
  require_rights
  lock
  load_installation
  require_systemd
  if [ -f "$journal" ]; then
    from=$(value_in "$journal" from)
    to=$(value_in "$journal" to)
    backup=$(value_in "$journal" backup)
    undo_upgrade
    say "The upgrade to version $to was undone. Version $from is running."
    return
  fi
  from=$(value_in "$last_upgrade" from)
  to=$(linked_version current)
  backup=$(value_in "$last_upgrade" backup)
  if [ -z "$from" ] || [ ! -d "$opt/$from" ]; then fail 'There is no previous version to return to.'; fi
  [ "$from" != "$to" ] || fail "Version $to is the version before the last upgrade. To upgrade again, run install.sh upgrade of the new version."
  if [ "$restore" = yes ]; then
    [ -f "$backup" ] || fail "The backup ${backup:-of the upgrade} is missing. Run the command without --restore."
    stop_services
    remove_replaced
    write_journal switched
    undo_upgrade
    say "Version $from is running with the data from before the upgrade. The replaced database is in $(platform_setting MILLWRIGHT_HOME)/postgres.replaced."
    return
  fi
  stop_services
  link_version current "$from"
  write_units
  if start_services; then
    say "Version $from is running. All data is kept."
    return
  fi
  say "Version $from cannot use the data of version $to: $reason. See: $(log_hint "$each")"
  stop_services
  link_version current "$to"
  write_units
  start_services || fail "Version $to does not become ready again: $reason. See: $(log_hint "$each")"
  fail "Version $to is running again. To return to version $from with the backup $backup, run: $own rollback --restore. Changes since the backup are lost then."
}

uninstall() {
  require_rights
  lock
  load_installation
  require_systemd
  stop_services
  if [ "$systemd" = yes ]; then
    for each in $services; do systemctl disable --quiet "millwright-$each.service"; done
    for unit in $(link_units); do systemctl disable --quiet --now "$unit"; done
  fi
  rm -f -- "$units/millwright-platform.service" "$units/millwright-gateway.service" "$units/millwright-link@.service"
  if [ "$systemd" = yes ]; then systemctl daemon-reload; fi
  for name in millwright millwright-admin; do
    case $(readlink -- "$programs/$name" 2>/dev/null || true) in "$opt"/*) rm -f -- "$programs/$name" ;; esac
  done
  rm -rf -- "$opt" "$cache" "$run"
  say "Millwright is removed. Data and backups remain in $state, and settings in $settings. To delete them too:"
  say "  rm -r '$state' '$settings'"
  if [ "$created_user" = yes ]; then say "  userdel $user"; fi
}

show_status() {
  load_installation
  say "Version $(linked_version current) in $opt, services: $services"
  if [ -f "$journal" ]; then say "An upgrade to version $(value_in "$journal" to) is not complete. Run install.sh upgrade of the new version, or $own rollback."; fi
  for each in $services; do
    reason=$( (exec_as_service "$each" "$opt/current/node/bin/node" "$opt/current/readiness.mjs" "$each") 2>&1) ||
      fail "The $each is not ready: $reason. See: $(log_hint "$each")"
  done
  say 'All services are ready.'
}

version=
if [ -f "$archive/app/release.json" ]; then version=$(version_of "$archive"); fi
if [ -z "$version" ]; then
  case $action in
  install | upgrade) fail "$archive is not an unpacked archive. Unpack the archive, and run its install.sh." ;;
  esac
fi

case $action in
install) install ;;
upgrade) upgrade ;;
rollback) rollback ;;
uninstall) uninstall ;;
start)
  require_rights
  lock
  load_installation
  require_systemd
  start_services || fail "The $each is not ready: $reason. See: $(log_hint "$each")"
  ;;
stop)
  require_rights
  lock
  load_installation
  require_systemd
  stop_services
  ;;
status) show_status ;;
admin)
  load_installation
  (exec_as_service platform "$opt/current/bin/millwright" "$@")
  ;;
esac
