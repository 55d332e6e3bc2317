/**
 * The reasons why a device could not be read.
 * - `refused`: the port is closed, or the network is not reachable
 * - `silent`: the device answered at first, and then no longer
 * - `faulty`: the device sends more datagrams than its queries explain
 */
type MdnsErrorKind = 'refused' | 'silent' | 'faulty'

/** `MdnsError` is a failed read of a device. Its message continues a sentence that starts with the device. */
export class MdnsError extends Error {
  readonly kind: MdnsErrorKind

  constructor(kind: MdnsErrorKind, message: string) {
    super(message)
    this.name = 'MdnsError'
    this.kind = kind
  }
}
