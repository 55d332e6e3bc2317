import { json } from 'node:stream/consumers'
import { type SimulatedDevice, startSimulator as startModbus } from '@millwright/links/modbus/simulator.ts'
import { type SimulatedServer, startSimulator as startOpcUa } from '@millwright/links/opcua/simulator.ts'
import { type SimulatorValues, startSnmpAgent } from '@millwright/links/snmp/simulator.ts'

/*
 * A process with simulated hosts, for tests and benchmarks in network namespaces. It reads the list of hosts as JSON from
 * standard input, starts their protocols at the usual ports, and prints "ready".
 */

/** `SimulatedHost` is a host with the protocols that it speaks. */
export type SimulatedHost = {
  address: string
  modbus?: SimulatedDevice
  opcua?: SimulatedServer
  /** The values of an SNMP agent with the community `public`. */
  snmp?: SimulatorValues
}

async function start({ address: host, modbus, opcua, snmp }: SimulatedHost): Promise<void> {
  if (modbus !== undefined) await startModbus(modbus, { host, port: 502 })
  if (opcua !== undefined) await startOpcUa(opcua, { host, port: 4840 })
  if (snmp !== undefined) await startSnmpAgent({ host, port: 161, community: 'public', values: snmp })
}

if (import.meta.main) {
  const hosts = (await json(process.stdin)) as SimulatedHost[]
  for (const host of hosts) await start(host)
  process.stdout.write('ready\n')
}
