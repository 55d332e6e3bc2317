/**
 * `SetupError` is a problem that the user has to fix before the gateway can start. It is shown without a stack trace.
 */
export class SetupError extends Error {
  override readonly name: string = 'SetupError'
}

/** `PortTakenError` means that another program listens on a port of the gateway. */
export class PortTakenError extends SetupError {
  override readonly name = 'PortTakenError'
  readonly setting: 'registryPort' | 'proxyPort'

  constructor(setting: PortTakenError['setting'], message: string) {
    super(message)
    this.setting = setting
  }
}
