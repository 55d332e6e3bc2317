/** Speaks the protocol of the devices, and knows nothing of assets. */

export type Device = {
  address: string
  mac: string
  name: string
  vendor: string
  article: string
  serial: string
  firmware: string
}

/** Where the devices really are asked: replace it. This one knows two, which `simulator.ts` has. */
export async function* findDevices(ask: () => AsyncIterable<Device>, signal: AbortSignal): AsyncGenerator<Device> {
  for await (const device of ask()) {
    signal.throwIfAborted()
    yield device
  }
}
