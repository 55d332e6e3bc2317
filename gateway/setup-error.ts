/** What a person has to put right before the gateway can start: one sentence, shown without a stack trace. */
export class SetupError extends Error {
  override readonly name = 'SetupError'
}
