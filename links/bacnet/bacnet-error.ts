import { type CodeName, LinkError } from '@millwright/link-sdk/link-error.ts'

/**
 * The reasons why a device could not be read.
 * - `silent`: no answer in time
 * - `refused`: the port is closed, or the network is not reachable
 * - `faulty`: the answers violate the protocol
 * - `rejected`: the device or a router answered with an error, a reject or an abort
 * - `segmented`: the answer needs several segments, which the link does not accept
 */
type Fault = 'silent' | 'refused' | 'faulty' | 'rejected' | 'segmented'

const codes: Readonly<Record<Fault, CodeName>> = {
  silent: 'UNAVAILABLE',
  refused: 'UNAVAILABLE',
  faulty: 'DATA_LOSS',
  rejected: 'FAILED_PRECONDITION',
  segmented: 'OUT_OF_RANGE',
}

/** `BacnetError` means that a device did not give a usable answer. */
export class BacnetError extends LinkError {
  readonly fault: Fault

  constructor(fault: Fault, description: string) {
    super(codes[fault], description)
    this.name = 'BacnetError'
    this.fault = fault
  }
}
