#!/bin/bash
# Creates a network segment in network namespaces: the scanner at 10.78.0.1, avahi-daemon at 10.78.0.2, the simulator of this
# link at 10.78.0.3. Scans the segment, and captures what the scanner sends. The mount namespace of this script hides the
# configuration of avahi-daemon of the machine. Arguments: the Node.js program, a folder for files, the file for the capture.
# Prints the result as JSON.
set -e
node=$1 folder=$2 capture=$3 here=$(dirname "$0")
ip link set lo up
ip link add segment type bridge
ip addr add 10.78.0.1/24 dev segment
ip link set segment up
for host in 2 3; do
  unshare -n sleep 120 &
  pid[host]=$!
  until [ "$(readlink /proc/${pid[host]}/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.01; done
  ip link add port$host type veth peer name eth0 netns ${pid[host]}
  ip link set port$host master segment up
  nsenter -t ${pid[host]} -n bash -ec "
    ip link set lo up
    ip link set eth0 address 00:1b:1b:78:00:0$host up
    ip addr add 10.78.0.$host/24 dev eth0
    ip route add 224.0.0.0/4 dev eth0"
done
trap 'kill ${pid[2]} ${pid[3]} $avahi $simulator $tcpdump 2>/dev/null' EXIT

mount -t tmpfs none /run
mkdir /run/avahi-daemon
mount -t tmpfs none /etc/avahi/services
cp "$folder/device.service" /etc/avahi/services/
nsenter -t ${pid[2]} -n avahi-daemon -f "$folder/avahi.conf" --no-drop-root --no-chroot --no-rlimits 2> "$folder/avahi.log" &
avahi=$!
nsenter -t ${pid[3]} -n "$node" "$here/simulator.ts" --host 10.78.0.3 --group 224.0.0.251 --file "$folder/device.json" > "$folder/simulator.log" &
simulator=$!
waitFor() {
  for _ in $(seq 600); do
    grep -q "$1" "$2" && return
    sleep 0.05
  done
  cat "$2" >&2
  exit 1
}
waitFor 'Service "Gateway" .* successfully established' "$folder/avahi.log"
waitFor 'listens on' "$folder/simulator.log"
tcpdump --immediate-mode -Z root -i segment -Q out -U -w "$capture" ip 2> "$capture.log" &
tcpdump=$!
waitFor 'listening on' "$capture.log"
"$node" "$here/segment-scan.ts"
kill -INT $tcpdump
wait $tcpdump || true
