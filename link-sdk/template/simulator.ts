import type { Credential } from '@millwright/link-sdk/credential.ts'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import type { Contact, Device, FirmwareMemory } from './device.ts'

/** Yields simulated devices for tests and demos. The second device is protected. */
export async function* simulatedDevices(): AsyncGenerator<Contact> {
  const shared = { vendor: 'Example', article: 'EX-100', firmware: '1.0.0' }
  yield open({ ...shared, address: '10.0.0.11', mac: '02:00:5E:00:00:11', name: 'Oven 1', serial: 'EX000011' })
  yield locked({ ...shared, address: '10.0.0.12', mac: '02:00:5E:00:00:12', name: 'Oven 2', serial: 'EX000012' })
}

export const user = { username: 'baker', password: 'baker_password' }

/** Returns firmware of the simulated devices: one line with the product and the version, and then any bytes. */
export function simulatedFirmware(version: string): Buffer {
  return Buffer.from(`EX-100 ${version}\n${'0'.repeat(100_000)}`)
}

/** The firmware of the simulated devices, by MAC address: the version that runs, and the firmware in the memory. */
const flash = new Map<string, { version: string; memory: Buffer }>()

function open(device: Device): Contact {
  return { ...device, read: () => current(device), firmware: () => memoryOf(device) }
}

function locked(device: Device): Contact {
  const requireUser = (credential: Credential | undefined) => {
    if (credential?.username === user.username && credential.password === user.password) return
    throw new LinkError('UNAUTHENTICATED', 'The oven is protected: it needs a user and a password.')
  }
  return {
    ...device,
    read(credential) {
      requireUser(credential)
      return current(device)
    },
    firmware(credential) {
      requireUser(credential)
      return memoryOf(device)
    },
  }
}

function flashOf({ mac, firmware }: Device) {
  return flash.get(mac) ?? { version: firmware, memory: Buffer.alloc(0) }
}

function current(device: Device): Device {
  return { ...device, firmware: flashOf(device).version }
}

function memoryOf(device: Device): FirmwareMemory {
  const change = (change: Partial<ReturnType<typeof flashOf>>) => {
    flash.set(device.mac, { ...flashOf(device), ...change })
  }
  const versionInMemory = () => /^EX-100 (\S{1,50})\n/.exec(flashOf(device).memory.toString('latin1', 0, 100))?.[1]
  return {
    erase: async () => change({ memory: Buffer.alloc(0) }),
    write: async (chunk) => change({ memory: Buffer.concat([flashOf(device).memory, chunk]) }),
    check: async () => versionInMemory(),
    start: async () => change({ version: versionInMemory() ?? device.firmware, memory: Buffer.alloc(0) }),
  }
}
