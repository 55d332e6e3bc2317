import type { Credential } from '@millwright/link-sdk/credential.ts'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import type { Contact, Device } from './device.ts'

/** Yields simulated devices for tests and demos. The second device is protected. */
export async function* simulatedDevices(): AsyncGenerator<Contact> {
  const shared = { vendor: 'Example', article: 'EX-100', firmware: '1.0.0' }
  yield open({ ...shared, address: '10.0.0.11', mac: '02:00:5E:00:00:11', name: 'Oven 1', serial: 'EX000011' })
  yield locked({ ...shared, address: '10.0.0.12', mac: '02:00:5E:00:00:12', name: 'Oven 2', serial: 'EX000012' })
}

export const user = { username: 'baker', password: 'baker_password' }

function open(device: Device): Contact {
  return { ...device, read: () => device }
}

function locked(device: Device): Contact {
  const isKnown = (credential: Credential | undefined) =>
    credential?.username === user.username && credential.password === user.password
  return {
    ...device,
    read(credential) {
      if (isKnown(credential)) return device
      throw new LinkError('UNAUTHENTICATED', 'The oven is protected: it needs a user and a password.')
    },
  }
}
