/**
 * An error that the operator must fix before the program can start. The entry point prints the message, one sentence
 * without a stack trace, and exits with the exit code.
 */
export class StartError extends Error {
  override readonly name = 'StartError'
  readonly exitCode: number

  constructor(message: string, options: ErrorOptions & { exitCode?: number } = {}) {
    super(message, options)
    this.exitCode = options.exitCode ?? 1
  }
}
