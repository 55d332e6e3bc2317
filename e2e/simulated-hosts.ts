import { json } from 'node:stream/consumers'
import {
  type SimulatedDevice as BacnetDevice,
  startSimulator as startBacnet,
} from '@millwright/links/bacnet/simulator.ts'
import {
  type SimulatedDevice as EthernetIpDevice,
  startSimulator as startEthernetIp,
} from '@millwright/links/ethernet-ip/simulator.ts'
import { type SimulatedDevice as MdnsDevice, startSimulator as startMdns } from '@millwright/links/mdns/simulator.ts'
import { type SimulatedDevice, startSimulator as startModbus } from '@millwright/links/modbus/simulator.ts'
import { type SimulatedServer, startSimulator as startOpcUa } from '@millwright/links/opcua/simulator.ts'
import {
  type SimulatedDevice as ProfinetDevice,
  startSimulator as startProfinet,
} from '@millwright/links/profinet/simulator.ts'
import { type SimulatedDevice as S7Device, startSimulator as startS7 } from '@millwright/links/s7/simulator.ts'
import { type SimulatorValues, startSnmpAgent } from '@millwright/links/snmp/simulator.ts'

/*
 * A process with simulated hosts, for tests and benchmarks in network namespaces. It reads the list of hosts as JSON from
 * standard input, starts their protocols at the usual ports, and prints "ready".
 */

/** `SimulatedHost` is a host with the protocols that it speaks. */
export type SimulatedHost = {
  address: string
  bacnet?: BacnetDevice
  'ethernet-ip'?: EthernetIpDevice
  mdns?: MdnsDevice
  modbus?: SimulatedDevice
  opcua?: SimulatedServer
  /** The values of an SNMP agent with the community `public`. */
  snmp?: SimulatorValues
  s7?: S7Device
  /** A device that answers PROFINET frames at the interface of the host. */
  profinet?: ProfinetDevice
}

async function start({ address: host, ...protocols }: SimulatedHost, interfaceName: string): Promise<void> {
  const { bacnet, mdns, modbus, opcua, profinet, s7, snmp, 'ethernet-ip': ethernetIp } = protocols
  if (modbus !== undefined) await startModbus(modbus, { host, port: 502 })
  if (opcua !== undefined) await startOpcUa(opcua, { host, port: 4840 })
  if (snmp !== undefined) await startSnmpAgent({ host, port: 161, community: 'public', values: snmp })
  if (bacnet !== undefined) await startBacnet(bacnet, { host, port: 47_808 })
  if (ethernetIp !== undefined) await startEthernetIp(ethernetIp, { host, port: 44_818 })
  if (mdns !== undefined) await startMdns(mdns, { host, port: 5_353 })
  if (s7 !== undefined) await startS7(s7, { host, port: 102 })
  if (profinet !== undefined) await startProfinet(profinet, { interfaceName })
}

if (import.meta.main) {
  const hosts = (await json(process.stdin)) as SimulatedHost[]
  for (const [index, host] of hosts.entries()) await start(host, `host${index}`)
  process.stdout.write('ready\n')
}
