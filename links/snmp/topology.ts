import type { LldpNeighbour, Neighbours, Reading } from './device.ts'

/** `Connection` is a cable to another device, which is known by one or more of its MAC addresses. */
export type Connection = { macAddresses: string[] }

/**
 * Returns the connections of a device. An LLDP neighbour is connected. An address of the bridge table is connected if it
 * is the only address at its port, and the port has no LLDP neighbour: otherwise there is another switch in between.
 */
export function connectionsOf(reading: Reading): Connection[] {
  const { neighbours } = reading
  if (neighbours === undefined) return []
  const own = ownMacs(reading)
  const connections = [
    ...neighbours.lldp.map((one) => [one.chassisMac, one.portMac].filter((mac) => mac !== undefined)),
    ...singleAddresses(reading, neighbours).map((mac) => [mac]),
  ].filter((macs) => macs.length > 0 && !macs.some((mac) => own.has(mac)))
  const byMac = new Map(connections.map((macs) => [macs[0], { macAddresses: [...new Set(macs)] }]))
  return [...byMac.values()]
}

/** Returns all MAC addresses of the device itself. */
function ownMacs({ interfaces, neighbours }: Reading): Set<string> {
  const macs = [...interfaces.map(({ macAddress }) => macAddress), neighbours?.chassisMac, neighbours?.bridgeMac]
  return new Set(macs.filter((mac) => mac !== undefined))
}

function singleAddresses(reading: Reading, neighbours: Neighbours): string[] {
  const switched = new Set(neighbours.lldp.flatMap((one) => bridgePortsOf(one, reading, neighbours)))
  const byPort = Map.groupBy(neighbours.learned, ({ port }) => port)
  return [...byPort].flatMap(([port, entries]) => {
    const macs = new Set(entries.map(({ macAddress }) => macAddress))
    return switched.has(port) || macs.size !== 1 ? [] : [...macs]
  })
}

/**
 * Returns the ports of the bridge that an LLDP neighbour is connected to. LLDP numbers its ports like the bridge, or like
 * the interfaces. If the id of the port names an interface, that interface decides; otherwise both numbers count.
 */
function bridgePortsOf({ localPort }: LldpNeighbour, { interfaces }: Reading, neighbours: Neighbours): number[] {
  const { lldpPorts, bridgePorts } = neighbours
  const port = lldpPorts.get(localPort)
  const named = interfaces.find(
    ({ name, macAddress }) =>
      (port?.name !== undefined && name === port.name) ||
      (port?.macAddress !== undefined && macAddress === port.macAddress),
  )
  const portsAt = (index: number) => [...bridgePorts].filter(([, at]) => at === index).map(([one]) => one)
  if (named !== undefined) {
    const ports = portsAt(named.index)
    if (ports.length > 0) return ports
  }
  return [localPort, ...portsAt(localPort)]
}
