/**
 * `StartError` is an error that the operator must fix before the program can start. The entry point prints the message
 * without a stack trace, and exits with the exit code. The message is one sentence.
 */
export class StartError extends Error {
  override readonly name = 'StartError'
  readonly exitCode: number

  constructor(message: string, options: ErrorOptions & { exitCode?: number } = {}) {
    super(message, options)
    this.exitCode = options.exitCode ?? 1
  }
}
