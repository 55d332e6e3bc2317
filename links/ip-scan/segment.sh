#!/bin/bash
# Creates a network segment with simulated devices in a network namespace, scans it, and captures what the scanner sends.
# Arguments: the Node.js program, the number of devices, the file for the capture. Prints the result as JSON.
set -e
node=$1 live=$2 capture=$3
ip link set lo up
unshare -n sleep 60 &
devices=$!
trap 'kill $devices $tcpdump 2>/dev/null' EXIT
until [ "$(readlink /proc/$devices/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.01; done
ip link add scanner type veth peer name uplink
ip link set uplink netns $devices
ip addr add 10.77.0.1/24 dev scanner
ip link set scanner up
nsenter -t $devices -n bash -e <<SETUP
ip link set lo up
ip link set uplink up
echo 1 > /proc/sys/net/ipv4/conf/all/arp_ignore
echo 2 > /proc/sys/net/ipv4/conf/all/arp_announce
for index in \$(seq 16 $((15 + live))); do
  mac=\$(printf '02:00:5e:00:00:%02x' \$index)
  ip link add device\$index link uplink address \$mac type macvlan mode bridge
  ip addr add 10.77.0.\$((index * 2))/24 dev device\$index
  ip link set device\$index up
done
SETUP
tcpdump --immediate-mode -Z root -i scanner -Q out -U -w "$capture" ip 2> "$capture.log" &
tcpdump=$!
until grep -q 'listening on' "$capture.log"; do sleep 0.05; done
"$node" "$(dirname "$0")/segment-scan.ts"
kill -INT $tcpdump
wait $tcpdump || true
