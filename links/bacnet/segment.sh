#!/bin/bash
# Creates a network segment in network namespaces: the scanner at 10.79.0.1, and one host for each file with a simulated
# device. Scans the segment twice, and captures what the scanner sends.
# Arguments: the Node.js program, the file for the capture, and the files of the devices, which get the addresses from
# 10.79.0.2. Prints the results of the scans as JSON, one per line: with single requests, and with a broadcast.
set -e
node=$1 capture=$2
shift 2
here=$(dirname "$0")
ip link set lo up
ip link add segment type bridge
ip addr add 10.79.0.1/24 dev segment
ip link set segment up
started=()
trap 'kill "${started[@]}" 2>/dev/null' EXIT
host=1
for file in "$@"; do
  host=$((host + 1))
  unshare -n sleep 120 &
  namespace=$!
  started+=("$namespace")
  until [ "$(readlink /proc/$namespace/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.01; done
  ip link add port$host type veth peer name eth0 netns $namespace
  ip link set port$host master segment up
  nsenter -t $namespace -n ip link set eth0 address "$(printf '02:00:5e:00:01:%02x' $host)" up
  nsenter -t $namespace -n ip addr add 10.79.0.$host/24 brd + dev eth0
  nsenter -t $namespace -n "$node" "$here/simulator.ts" --host 10.79.0.$host --file "$file" > "$file.log" &
  started+=("$!")
done
for file in "$@"; do
  until grep -q 'listens on' "$file.log"; do sleep 0.05; done
done
tcpdump --immediate-mode -Z root -i segment -Q out -U -w "$capture" ip 2> "$capture.log" &
tcpdump=$!
started+=("$tcpdump")
until grep -q 'listening on' "$capture.log"; do sleep 0.05; done
"$node" "$here/segment-scan.ts"
kill -INT $tcpdump
wait $tcpdump || true
