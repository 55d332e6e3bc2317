import { json } from 'node:stream/consumers'
import { type SimulatedDevice, startSimulator } from '@millwright/links/modbus/simulator.ts'

/*
 * A process with simulated devices, for tests and benchmarks in network namespaces. It reads the list of devices as JSON
 * from standard input, starts them at the usual port of their protocol, and prints "ready".
 */

/** `SimulatedHost` is a device at an address. An address can have several devices with different protocols. */
export type SimulatedHost = { address: string; modbus: SimulatedDevice }

async function start({ address, modbus }: SimulatedHost): Promise<void> {
  await startSimulator(modbus, { host: address, port: 502 })
}

if (import.meta.main) {
  const hosts = (await json(process.stdin)) as SimulatedHost[]
  for (const host of hosts) await start(host)
  process.stdout.write('ready\n')
}
