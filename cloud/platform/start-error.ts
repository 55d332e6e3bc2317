/**
 * What a person has to put right before the program can start. The entry point prints the message, one sentence, without
 * a stack trace, and ends with the exit code.
 */
export class StartError extends Error {
  override readonly name = 'StartError'
  readonly exitCode: number

  constructor(message: string, options: ErrorOptions & { exitCode?: number } = {}) {
    super(message, options)
    this.exitCode = options.exitCode ?? 1
  }
}
