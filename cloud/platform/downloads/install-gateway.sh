#!/bin/sh
# Installs the gateway of Millwright @VERSION@ from the platform that created the configuration file, and starts it.
# It needs no internet and no Node. "sh install-gateway.sh --help" describes the options.
set -eu

version='@VERSION@'
sha256='@SHA256@'
archive="gateway-$version-linux-x64"

usage() {
  cat <<EOF
Usage: sh install-gateway.sh [--config FILE] [--service | --no-systemd] [--prefix FOLDER]

Installs the gateway of Millwright $version and connects it to its platform.

  --config FILE    configuration file of the gateway; - reads it from standard input (default: gateway-config.json)
  --service        installs a service, which is the default for root on a machine with systemd; without systemd, the
                   gateway runs in the background
  --no-systemd     runs the gateway in this terminal, which is the default in other cases
  --prefix FOLDER  folder for the program and the data (default in a terminal: ~/.local/share/millwright-gateway)

To update a gateway, run the command of the new platform version. The gateway keeps its identity and its data.
EOF
}

fail() {
  printf '%s\n' "$@" >&2
  exit 1
}

say() {
  printf '%s\n' "$*"
}

main() {
  config_file=gateway-config.json
  prefix=''
  mode=terminal
  if [ "$(id -u)" = 0 ] && has_systemd; then mode=service; fi
  while [ $# -gt 0 ]; do
    case "$1" in
      --config) [ $# -ge 2 ] || fail 'The option --config needs a file, or - for standard input.'; config_file=$2; shift ;;
      --prefix) [ $# -ge 2 ] || fail 'The option --prefix needs a folder.'; prefix=$2; shift ;;
      --service) mode=service ;;
      --no-systemd) mode=terminal ;;
      --help | -h) usage; exit 0 ;;
      *) fail "Unknown option $1. See --help." ;;
    esac
    shift
  done
  case "$prefix" in '' | /*) ;; *) prefix=$PWD/$prefix ;; esac
  require_machine
  read_config
  if [ "$mode" = service ]; then install_service; else run_in_terminal; fi
}

has_systemd() {
  [ -d /run/systemd/system ]
}

require_machine() {
  [ "$(uname -s)" = Linux ] || fail "This package is for Linux, but this machine runs $(uname -s)."
  [ "$(uname -m)" = x86_64 ] || fail "This package is for x86-64 processors, but this machine has $(uname -m)."
  for program in tar gzip sed sha256sum mktemp; do
    command -v "$program" >/dev/null || fail "The program $program is missing: install it and run the command again."
  done
}

# --- Configuration ---

# Reads the configuration into a variable. It contains a secret, so it is never an argument of a program.
read_config() {
  config=''
  if [ "$config_file" = - ]; then
    if [ -t 0 ]; then say 'Paste the content of gateway-config.json, then press Ctrl-D.' >&2; fi
    config=$(cat)
    [ "$config" != '' ] || fail 'Standard input contains no configuration. Pass the content of gateway-config.json.'
  elif [ -e "$config_file" ]; then
    config=$(cat "$config_file") || fail "The file $config_file cannot be read: run the command as a user that can read it."
  fi
  config=$(printf '%s' "$config" | sed 's/[[:space:]]*$//')
  [ "$config" != '' ] || return 0
  case "$config" in
    *'"millwright.gateway-config.v1"'*) ;;
    *) fail "$config_file is not a gateway-config.json: create a new one in the console and download it." ;;
  esac
  # A copy that stopped early has no last bracket. It could lack the authority of the platform.
  case "$config" in
    *'}') ;;
    *) fail "The configuration is incomplete: copy the complete content of gateway-config.json." ;;
  esac
  embed_authority
}

# Prints a text field of the configuration. An escaped quotation mark never precedes the name of a field.
field() {
  printf '%s\n' "$config" | tr -d '\n' | sed -n "s/.*[{,][[:space:]]*\"$1\"[[:space:]]*:[[:space:]]*\"\([^\"]*\)\".*/\1/p"
}

# Replaces the path of a PEM file by its text, because the configuration moves to another folder.
embed_authority() {
  authority=$(field authority)
  case "$authority" in
    *BEGIN* | '') return 0 ;;
    /*) file=$authority ;;
    *) file=$(dirname "$config_file")/$authority ;;
  esac
  [ -r "$file" ] || fail "$file cannot be read: tls.authority in $config_file must be the path of a PEM file, relative to this file, or the PEM text."
  # A PEM file contains only these characters. All others are removed, because the text becomes a part of an expression of sed.
  pem=$(sed -n '/-----BEGIN/,/-----END/p' "$file" | tr -cd 'A-Za-z0-9+/=\n -' | sed 's/$/\\\\n/' | tr -d '\n')
  config=$(printf '%s\n' "$config" | sed "s|\(\"authority\"[[:space:]]*:[[:space:]]*\"\)[^\"]*\"|\1$pem\"|")
}

# Requires a configuration, unless the gateway has enrolled before. Then the stored one has the address of the platform.
require_config() { # require_config HOME
  if [ "$config" = '' ] && [ -e "$1/identity.json" ] && [ -r "$1/gateway-config.json" ]; then
    config=$(as_owner "$1" cat "$1/gateway-config.json") || config=''
  fi
  [ "$config" != '' ] || [ -e "$1/identity.json" ] || fail "The file $config_file does not exist." \
    'Create the gateway in the console (Discovery, Add gateway), download gateway-config.json, and copy it to this folder.' \
    'To paste its content instead, replace "--config gateway-config.json" by "--config -", paste, and press Ctrl-D.'
}

# Runs a command as the owner of a folder. This user can replace each file of the folder by a link to a file of root.
as_owner() { # as_owner FOLDER COMMAND...
  folder=$1
  shift
  if [ "$(id -u)" != 0 ] || [ -O "$folder" ]; then
    "$@"
  else
    setpriv --reuid "$(stat -c %u "$folder")" --regid "$(stat -c %g "$folder")" --clear-groups -- "$@"
  fi
}

write_config() { # write_config FILE
  (umask 077; printf '%s\n' "$config" >"$1") || fail "The file $1 cannot be written."
}

# --- Archive ---

# Downloads and unpacks the archive in the folder "work". Nothing in it runs before its SHA-256 is checked.
unpack() { # unpack PARENT
  work=$(mktemp -d "$1/.install.XXXXXX") || fail "The folder $1 cannot be written: pass another folder with --prefix."
  trap 'rm -rf "$work"' EXIT
  trap 'exit 1' HUP INT TERM
  fetch_archive
  say "Checking the SHA-256 of $archive.tar.gz"
  echo "$sha256  $work/package.tar.gz" | sha256sum -c - >/dev/null 2>&1 ||
    fail "The archive of $base_url does not have the expected SHA-256 $sha256. Nothing was installed." \
      'Open the console again and copy the command that it shows now. If this happens again, inform the operator of the platform.'
  (umask 022; tar -xzf "$work/package.tar.gz" -C "$work" --no-same-owner) ||
    fail "The archive could not be unpacked in $1: check the free disk space."
  rm -f "$work/package.tar.gz"
  chmod 755 "$work/$archive"
}

# The request contains no secret.
fetch_archive() {
  base_url=$(field baseUrl)
  case "$base_url" in
    http://* | https://*) ;;
    *) fail "Version $version is not installed, and there is no configuration with the address of the platform. Pass gateway-config.json with --config." ;;
  esac
  trusted=''
  any=''
  case "$(field authority)" in
    '') any=$(field fingerprint) ;;
    *) trusted=$work/authority.pem; printf '%b\n' "$(field authority)" >"$trusted" ;;
  esac
  url=$base_url/downloads/$archive.tar.gz
  say "Downloading $url"
  if command -v curl >/dev/null; then
    progress=-sS
    if [ -t 2 ]; then progress='-#'; fi
    curl -f "$progress" --retry 3 ${trusted:+--cacert "$trusted"} ${any:+--insecure} -o "$work/package.tar.gz" "$url" ||
      download_failed
  elif command -v wget >/dev/null; then
    wget -nv ${trusted:+"--ca-certificate=$trusted"} ${any:+--no-check-certificate} -O "$work/package.tar.gz" "$url" ||
      download_failed
  else
    fail 'This machine has neither curl nor wget: install one of them and run the command again.'
  fi
}

download_failed() {
  fail "The download from $base_url failed. The line above contains the reason." \
    'Check that this machine reaches the platform, then run the command again.'
}

remove_work() {
  rm -rf "$work"
  trap - EXIT HUP INT TERM
}

# --- Service ---

# The script install.sh of the archive creates the user, the folders, the settings and the service.
install_service() {
  require_config "$prefix/var/lib/millwright/gateway"
  unpack "${TMPDIR:-/tmp}"
  installed=$(readlink "$prefix/opt/millwright/current" || :)
  action=install
  case "${installed##*/}" in '' | "$version") ;; *) action=upgrade ;; esac
  set -- "$action" --gateway
  if [ "$config" != '' ]; then
    write_config "$work/gateway-config.json"
    set -- "$@" --config "$work/gateway-config.json"
  fi
  if [ "$prefix" != '' ]; then set -- "$@" --prefix "$prefix"; fi
  if ! has_systemd; then set -- "$@" --no-systemd; fi
  sh "$work/$archive/install.sh" "$@"
  remove_work
  say "The gateway runs. Its settings are in $prefix/etc/millwright/gateway.env."
}

# --- Terminal ---

run_in_terminal() {
  parent=${prefix:-${XDG_DATA_HOME:-$HOME/.local/share}/millwright-gateway}
  data=$parent/data
  require_config "$data"
  (umask 022; mkdir -p "$parent") && (umask 077; mkdir -p "$data") ||
    fail "The folder $parent cannot be created: pass another folder with --prefix."
  # The name contains the SHA-256, so that a package that was built again is installed too.
  name=$version-$(printf '%.8s' "$sha256")
  if [ ! -e "$parent/$name" ]; then
    unpack "$parent"
    "$work/$archive/node/bin/node" --version >/dev/null ||
      fail 'Node does not run on this machine. It needs glibc 2.28 and libstdc++ 6 or newer, as in Debian 10 and Ubuntu 20.04.'
    mv "$work/$archive" "$parent/$name"
    remove_work
  fi
  ln -sfn "$name" "$parent/current"
  if [ "$config" != '' ]; then write_config "$data/gateway-config.json"; fi
  say 'The gateway runs in this terminal. To run it as a service, run the command as root on a machine with systemd.'
  say "Later starts: '$parent/current/bin/millwright' gateway --home '$data'"
  export NODE_COMPILE_CACHE="$data/cache"
  exec "$parent/current/bin/millwright" gateway --home "$data"
}

main "$@"
